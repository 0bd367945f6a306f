package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

const toolCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`

// asking serves a call that asks once and waits for the answer.
func asking(t *testing.T) func(context.Context, *wire.Message, contract.Sink) (string, error) {
	return func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		q, replies, _ := newQuestion("elicitation/create", anyForm)
		sink.Question(q)
		select {
		case reply := <-replies:
			return okTo(msg, `{"reply":`+reply+`}`), nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func answer(t *testing.T, s *Session, a ask.Ask, result string) {
	t.Helper()
	msg := scan(`{"jsonrpc":"2.0","id":"` + a.ID + `","result":` + result + `}`)
	if err := s.Answer(&msg); err != nil {
		t.Errorf("the answer was not taken: %v", err)
	}
}

// The work clock stands still while somebody thinks: an answer after half an
// hour is fine for a call that may work for a minute.
func TestWorkClockStandsStillWhileSomebodyThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{name: "f", serve: asking(t)}
		peer := newPeer()
		s := openSession(t, newRelay(t, f), peer)
		go func() {
			a := <-peer.shown
			time.Sleep(30 * time.Minute)
			answer(t, s, a, `{"action":"accept","content":{}}`)
		}()
		r := send(s, peer, toolCall)
		if r.Kind != wire.Result {
			t.Errorf("the call failed: %s", r.Raw)
		}
	})
}

// Work itself is bounded, before a question and after it.
func TestWorkIsBounded(t *testing.T) {
	for name, after := range map[string]bool{"plain": false, "after a question": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ask1 := asking(t)
				f := &fakeServer{name: "f", serve: func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
					if after {
						if _, err := ask1(ctx, msg, sink); err != nil {
							return "", err
						}
					}
					<-ctx.Done()
					return "", context.Cause(ctx)
				}}
				peer := newPeer()
				s := openSession(t, newRelay(t, f), peer)
				if after {
					go func() { answer(t, s, <-peer.shown, `{"action":"decline"}`) }()
				}
				start := time.Now()
				r := send(s, peer, toolCall)
				if !strings.Contains(string(r.Raw), "backend_timeout") || time.Since(start) != time.Minute {
					t.Errorf("after %v: %s", time.Since(start), r.Raw)
				}
			})
		})
	}
}

// A backend whose question carries a progress token hears every twenty
// seconds that somebody is still thinking, and no more after the answer (E11).
func TestAskingBackendHearsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan int, 100)
		f := &fakeServer{name: "f", serve: func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			q, replies, _ := newQuestion("elicitation/create", anyForm)
			q.Token = []byte(`"tok"`)
			q.Progress = func(_ context.Context, n int) error { heard <- n; return nil }
			sink.Question(q)
			return okTo(msg, <-replies), nil
		}}
		peer := newPeer()
		s := openSession(t, newRelay(t, f), peer)
		go func() {
			a := <-peer.shown
			time.Sleep(70 * time.Second)
			answer(t, s, a, `{"action":"decline"}`)
		}()
		send(s, peer, toolCall)
		time.Sleep(time.Hour)
		close(heard)
		var got []int
		for n := range heard {
			got = append(got, n)
		}
		if len(got) != 3 || got[0] != 1 || got[2] != 3 {
			t.Errorf("progress %v, want 1 2 3", got)
		}
	})
}

// An id that is in flight is refused, and so is a call beyond the limit (A7).
func TestCallsInFlightAreBounded(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{}, 8)
	f := &fakeServer{name: "f", serve: func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		started <- struct{}{}
		<-release
		return okTo(msg, "{}"), nil
	}}
	peer := newPeer()
	s := openSession(t, newRelay(t, f), peer)
	done := make(chan wire.Message, 4)
	for _, id := range []string{"1", `"1"`, "2", "3"} {
		go func() { done <- send(s, peer, strings.Replace(toolCall, `"id":1`, `"id":`+id, 1)) }()
		<-started
	}
	for raw, reason := range map[string]string{
		toolCall: "bad_message",
		strings.Replace(toolCall, `"id":1`, `"id":9`, 1): "too_many_open",
	} {
		if r := send(s, peer, raw); !strings.Contains(string(r.Raw), reason) {
			t.Errorf("%s: got %s, want %s", raw, r.Raw, reason)
		}
	}
	close(release)
	for range 4 {
		if r := <-done; r.Kind != wire.Result {
			t.Errorf("a call failed: %s", r.Raw)
		}
	}
}

// A session that ends ends its questions with a reason, and the backend hears
// of the question before the call is cancelled.
func TestClosingEndsQuestionsFirst(t *testing.T) {
	order := make(chan string, 2)
	f := &fakeServer{name: "f", serve: func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		q, replies, _ := newQuestion("elicitation/create", anyForm)
		sink.Question(q)
		order <- <-replies
		<-ctx.Done()
		order <- "cancelled"
		return "", context.Cause(ctx)
	}}
	peer := newPeer()
	s := openSession(t, newRelay(t, f), peer)
	ended := make(chan wire.Message, 1)
	go func() { ended <- send(s, peer, toolCall) }()
	a := <-peer.shown
	s.Close(context.Background(), ask.Errorf(ask.ClientGone, "The client went away."))
	if first := <-order; !strings.Contains(first, "client_gone") || !strings.Contains(first, "-32000") {
		t.Errorf("the question ended with %s", first)
	}
	if second := <-order; second != "cancelled" {
		t.Errorf("then came %s", second)
	}
	if id := <-peer.withdrawn; id != a.ID {
		t.Errorf("%s was withdrawn, want %s", id, a.ID)
	}
	<-ended
}

// Answers are taken only from the session that was asked (A1).
func TestAnswersOfAnotherSessionAreRefused(t *testing.T) {
	f := &fakeServer{name: "f", serve: asking(t)}
	r := newRelay(t, f)
	peer := newPeer()
	s := openSession(t, r, peer)
	hello := scan(helloAll)
	other, _ := r.Initialize(context.Background(), "", "session-2", alice, &hello, newPeer())
	defer other.Close(context.Background(), ask.Errorf(ask.ClientGone, "over"))
	done := make(chan wire.Message, 1)
	go func() { done <- send(s, peer, toolCall) }()
	a := <-peer.shown
	forged := scan(`{"jsonrpc":"2.0","id":"` + a.ID + `","result":{"action":"accept"}}`)
	if err := other.Answer(&forged); ask.CodeOf(err) != ask.NotYours {
		t.Errorf("another session's answer: %v", err)
	}
	guessed := scan(`{"jsonrpc":"2.0","id":"` + a.ID[:len(a.ID)-1] + `_","result":{"action":"accept"}}`)
	if err := s.Answer(&guessed); ask.CodeOf(err) != ask.Unknown {
		t.Errorf("a guessed id: %v", err)
	}
	answer(t, s, a, `{"action":"decline"}`)
	<-done
}
