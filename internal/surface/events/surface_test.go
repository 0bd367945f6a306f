package events

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// TestLinger: a call that nobody follows is stopped after the time that it may
// go on, and not before; one that somebody came back to goes on.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t, &fakeGateway{serve: waiting}, func(c *Config) { c.Linger = time.Minute })
		first := open(t, s, "POST", "/one/call", tool)
		id := first.next()["callId"].(string)
		first.cancel()
		time.Sleep(59 * time.Second)
		second := open(t, s, "GET", "/calls/"+id, "")
		second.next()
		time.Sleep(time.Hour)
		if w := say(s, "POST", "/calls/"+id+"/respond", `{"id":"x"}`); w.Code != http.StatusConflict {
			t.Errorf("the call that is followed is not there: %d %s", w.Code, w.Body)
		}
		second.cancel()
		synctest.Wait()
		began := time.Now()
		<-s.calls.find(contract.Caller{Principal: ask.Principal{Issuer: "test"}}, id).done
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it was stopped after %v", took)
		}
		last := open(t, s, "GET", "/calls/"+id, "", "Last-Event-ID", "1").next()
		if last["type"] != typeError || last["code"] != string(ask.ClientGone) {
			t.Errorf("it ended with %v", last)
		}
	})
}

// TestKeepAlive: a stream on which nothing happens says that it is alive.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t, &fakeGateway{serve: waiting}, nil)
		c := open(t, s, "POST", "/one/call", tool)
		c.next()
		began := time.Now()
		for line := ""; line != ": keep-alive\n"; {
			var err error
			if line, err = c.body.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it came after %v", took)
		}
	})
}

// TestForgotten: a finished call and its key are found for the time that they
// are kept. Then the same key starts another.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := newSurface(t, &fakeGateway{serve: func(context.Context, *wire.Message, contract.Peer) string { calls++; return done }}, func(c *Config) { c.Keep = time.Minute })
		start := func() string {
			c := open(t, s, "POST", "/one/call", tool, "Idempotency-Key", "k")
			id := c.next()["callId"].(string)
			c.types()
			return id
		}
		id := start()
		time.Sleep(59 * time.Second)
		if again := start(); again != id || calls != 1 {
			t.Errorf("the call ran %d times", calls)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w := say(s, "GET", "/calls/"+id, ""); w.Code != http.StatusNotFound {
			t.Errorf("the call is still found: %d", w.Code)
		}
		if again := start(); again == id || calls != 2 {
			t.Errorf("the call ran %d times", calls)
		}
	})
}

// TestPastIsBounded: the events of finished calls are kept up to a size; a
// call whose events went is known to have run, and its key does not run it
// again.
func TestPastIsBounded(t *testing.T) {
	calls := 0
	big := `{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("x", 1000) + `"}}`
	s := newSurface(t, &fakeGateway{serve: func(context.Context, *wire.Message, contract.Peer) string { calls++; return big }}, func(c *Config) { c.MaxPastBytes = 3000 })
	var ids []string
	for i := range 4 {
		c := open(t, s, "POST", "/one/call", tool, "Idempotency-Key", fmt.Sprint(i))
		ids = append(ids, c.next()["callId"].(string))
		c.types()
		<-s.calls.find(contract.Caller{Principal: ask.Principal{Issuer: "test"}}, ids[i]).done // so that they end in order
	}
	for i, want := range []int{http.StatusGone, http.StatusGone, http.StatusOK, http.StatusOK} {
		if w := say(s, "GET", "/calls/"+ids[i], ""); w.Code != want {
			t.Errorf("call %d: %d, want %d", i, w.Code, want)
		}
		if w := say(s, "POST", "/one/call", tool, "Idempotency-Key", fmt.Sprint(i)); w.Code != want {
			t.Errorf("call %d by its key: %d, want %d", i, w.Code, want)
		}
	}
	if calls != 4 {
		t.Errorf("%d calls ran", calls)
	}
}

// TestCallsAreBounded: nobody can have more calls than they may; finished ones
// make room, and one principal's do not take another's.
func TestCallsAreBounded(t *testing.T) {
	end := make(chan struct{})
	s := newSurface(t, &fakeGateway{serve: func(ctx context.Context, msg *wire.Message, p contract.Peer) string {
		select {
		case <-end:
			return done
		case <-ctx.Done():
			return waiting(ctx, msg, p)
		}
	}}, func(c *Config) { c.MaxCallsPerPrincipal, c.MaxCalls = 2, 3 })
	ann := []string{"Authorization", "ann"}
	first := open(t, s, "POST", "/one/call", tool, ann...)
	first.next()
	open(t, s, "POST", "/one/call", tool, ann...).next()
	if w := say(s, "POST", "/one/call", tool, ann...); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("a third call got %d %v", w.Code, w.Header())
	}
	open(t, s, "POST", "/one/call", tool, "Authorization", "bob").next() // the control
	if w := say(s, "POST", "/one/call", tool, "Authorization", "cid"); w.Code != http.StatusTooManyRequests {
		t.Errorf("a fourth call of all got %d", w.Code)
	}
	end <- struct{}{}
	first.types()
	open(t, s, "POST", "/one/call", tool, ann...).next()
	close(end)
}

// TestFollowersAreBounded: of too many connections to one call the oldest
// ends, without its last event.
func TestFollowersAreBounded(t *testing.T) {
	s := newSurface(t, &fakeGateway{serve: waiting}, nil)
	first := open(t, s, "POST", "/one/call", tool)
	id := first.next()["callId"].(string)
	var others []*consumer
	for range maxFollowers {
		c := open(t, s, "GET", "/calls/"+id, "")
		c.next()
		others = append(others, c)
	}
	if more := first.types(); more != nil {
		t.Errorf("the oldest got %v", more)
	}
	say(s, "DELETE", "/calls/"+id, "")
	for _, c := range others {
		if more := c.types(); !slices.Equal(more, []string{typeError}) {
			t.Errorf("another got %v", more)
		}
	}
}

// TestSlowConsumer: a consumer that reads nothing holds nothing up. What is
// said on the way is lost first, and it is told so; questions and the result
// are kept.
func TestSlowConsumer(t *testing.T) {
	s := newSurface(t, &fakeGateway{serve: func(_ context.Context, _ *wire.Message, peer contract.Peer) string {
		if err := peer.Show(&ask.Ask{ID: "q", Kind: ask.URL, Params: []byte(`{"message":"m","url":"https://x.example"}`), Backend: "one"}); err != nil {
			t.Error(err)
		}
		for range 10_000 {
			peer.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`))
		}
		return done
	}}, func(c *Config) { c.MaxEvents = 10 })
	stuck := open(t, s, "POST", "/one/call", tool)
	id := ""
	for id == "" {
		s.calls.mu.Lock()
		for _, p := range s.calls.people {
			for _, c := range p.calls {
				id = c.id
			}
		}
		s.calls.mu.Unlock()
	}
	<-s.calls.find(contract.Caller{Principal: ask.Principal{Issuer: "test"}}, id).done
	want := []string{typeLost, typeStarted, typeAsked, typeLog, typeLog, typeLog, typeLog, typeLog, typeLog, typeLog, typeResult}
	if got := open(t, s, "GET", "/calls/"+id, "").types(); !slices.Equal(got, want) {
		t.Errorf("what is kept is %v", got)
	}
	if got := stuck.types(); got[len(got)-1] != typeResult {
		t.Errorf("the slow consumer got %v", got)
	}
}

// TestClose: the end of the surface ends the calls, which is told to whoever
// follows them; what comes after is refused. Drain lets them end first.
func TestClose(t *testing.T) {
	g := &fakeGateway{serve: waiting}
	s := newSurface(t, g, nil)
	c := open(t, s, "POST", "/one/call", tool)
	c.next()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Drain(ctx); err == nil {
		t.Error("the surface drained with a call under way")
	}
	if w := say(s, "POST", "/one/call", tool); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a call while draining got %d", w.Code)
	}
	end := make(chan map[string]any, 1)
	go func() { end <- c.next() }()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if last := <-end; last["type"] != typeError || last["code"] != string(ask.ShuttingDown) {
		t.Errorf("the call ended with %v", last)
	}
	if w := say(s, "GET", "/calls/x", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a request to a closed surface got %d", w.Code)
	}
	if len(g.closed) != 1 || g.closed[0] != ask.ShuttingDown {
		t.Errorf("the session was closed with %v", g.closed)
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}
