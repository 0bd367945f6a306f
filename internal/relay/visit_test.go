package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/wire"
)

const wantsPage = `[{"mode":"url","elicitationId":"e1","url":"https://x.example/1","message":"open it"}]`

// wantsPages is a legacy server that refuses calls with -32042 and these
// elicitations until it is content, and its relay.
func wantsPages(t *testing.T, elicitations string, content func(run int) bool) (*Relay, *fakeServer, *int) {
	runs := 0
	server := legacyServer(func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		if runs++; content(runs) {
			return okTo(msg, `{"done":true}`), nil
		}
		return `{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,"error":{"code":-32042,"message":"m","data":{"elicitations":` + elicitations + `}}}`, nil
	})
	return newRelay(t, server), server, &runs
}

func secondTime(run int) bool { return run > 1 }
func never(int) bool          { return false }

// answersLink brings the client's answer to the question of the round before.
func answersLink(r *Relay, m wire.Message, action string) wire.Message {
	return callWith(r, alice, linkCaps, "tools/call", `,"inputResponses":{"q1":{"action":"`+action+`"}},"requestState":`+stateOf(m))
}

// A server that wants a page opened first is called again when it says that
// the page is finished, and after a while if it says nothing.
func TestPageIsVisitedBeforeTheCall(t *testing.T) {
	for name, says := range map[string]bool{"it says so": true, "it says nothing": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, server, runs := wantsPages(t, wantsPage, secondTime)
				m := callWith(r, alice, linkCaps, "tools/call", "")
				wants(t, "the question", string(m.Field(m.InputRequests)), `"url":"https://x.example/1"`, `"mode":"url"`)
				start := time.Now()
				done := make(chan wire.Message)
				go func() { done <- answersLink(r, m, "accept") }()
				synctest.Wait()
				if says {
					finished := scan(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}`)
					server.opened[0].Events.Notify(&finished)
					server.opened[0].Events.Notify(&finished) // once more changes nothing
				}
				wants(t, "the result", string((<-done).Raw), `"done":true`)
				if waited := time.Since(start); (waited < visitWait) != says || *runs != 2 {
					t.Errorf("%d runs, after %v", *runs, waited)
				}
				r.Close()
			})
		})
	}
}

// A page that the person does not want to open ends the call, and so does a
// server that names no page, or wants one for ever: it is asked for once.
func TestPagesThatAreNotVisited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := wantsPages(t, wantsPage, never)
		m := callWith(r, alice, linkCaps, "tools/call", "")
		wants(t, "a declined page", string(answersLink(r, m, "decline").Raw), `"reason":"client_cancelled"`)
		r.limits.CallTimeout = time.Hour // else the work ends first
		m = callWith(r, alice, linkCaps, "tools/call", "")
		m = answersLink(r, m, "accept")
		for strings.Contains(string(m.Raw), "input_required") { // its round is over now and then
			if inputs := m.Field(m.InputRequests); inputs != nil {
				t.Fatalf("it was asked for again: %s", inputs)
			}
			m = callWith(r, alice, linkCaps, "tools/call", `,"requestState":`+stateOf(m))
		}
		wants(t, "a page without end", string(m.Raw), `"reason":"backend_broken"`, "over and over")
		r.Close()

		r, _, _ = wantsPages(t, `[]`, never)
		wants(t, "no page", string(callWith(r, alice, linkCaps, "tools/call", "").Raw), `"reason":"backend_broken"`, "names none")
		r.Close()
	})
}

// A client that cannot be asked gets the address in words.
func TestPageInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, runs := wantsPages(t, wantsPage, secondTime)
		m := callWith(r, alice, `{}`, "tools/call", "")
		if wants(t, "the result", string(m.Raw), "https://x.example/1"); m.Kind != wire.Result || *runs != 1 {
			t.Errorf("after %d runs: %s", *runs, m.Raw)
		}
		r.Close()
	})
}

// A call that ends while its page is asked for, or visited, ends at once.
func TestCallEndsWhileAPageIsVisited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, runs := wantsPages(t, wantsPage, never)
		m := callWith(r, alice, linkCaps, "tools/call", "")
		time.Sleep(r.limits.Away + time.Second) // nobody came back
		wants(t, "a late answer", string(answersLink(r, m, "accept").Raw), `"reason":"bad_request_state"`)

		m = callWith(r, alice, linkCaps, "tools/call", "")
		ctx, leave := context.WithCancelCause(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			again := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + linkCaps + `},"name":"t","inputResponses":{"q1":{"action":"accept"}},"requestState":` + stateOf(m) + `}}`)
			r.Call(ctx, "old", alice, &again, nil, newPeer())
		}()
		synctest.Wait()
		leave(ask.Errorf(ask.ClientCancelled, "It closed its stream."))
		<-done
		synctest.Wait()
		before := *runs
		time.Sleep(time.Minute)
		if *runs != before {
			t.Error("a cancelled call was made again")
		}
		r.Close()
	})
}

// A page that is asked for when the gateway stops is asked for on: the call is
// not made again, and does not end, before the next gateway has it.
func TestGatewayStopsWhileAPageIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, runs := wantsPages(t, wantsPage, never)
		callWith(r, alice, linkCaps, "tools/call", "")
		r.desk.Close(context.Background())
		r.lot.End(ask.Errorf(ask.ShuttingDown, "The gateway stops."))
		r.Close() // waits for the call
		if *runs != 1 {
			t.Errorf("the call was made %d times", *runs)
		}
	})
}

// A question that ended in the moment in which its client answers is passed
// over: the call goes on.
func TestAnswerToAQuestionThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		callWith(r, alice, `{"elicitation":{"form":{}}}`, "tools/call", "")
		waiting := r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 1)
		pk, err := r.lot.Attach(t.Context(), alice.Principal, waiting[0].Ask.Session+".0")
		if err != nil {
			t.Fatal(err)
		}
		pk.Offer(func(o *parking.Offer) { _ = o.Show(&ask.Ask{ID: "ended", Method: "elicitation/create"}) })
		request := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","inputResponses":{"q1":{"action":"decline"},"q2":{"action":"accept"},"q9":{}}}}`)
		reply, err := pk.Serve(t.Context(), &request, silent{})
		if err != nil {
			t.Fatal(err)
		}
		wants(t, "the result", string(reply.Msg.Raw), `"decline"`)
		r.Close()
	})
}

// A client that waits for its person when the gateway stops is sent away, and
// its state brings it to the next gateway.
func TestWaitingClientIsSentToTheNextGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		r.pages = fakePages{}
		m := callWith(r, alice, linkCaps, "tools/call", "")
		done := make(chan wire.Message)
		go func() { done <- answersLink(r, m, "accept") }()
		synctest.Wait()
		r.desk.Close(context.Background())
		r.lot.End(ask.Errorf(ask.ShuttingDown, "The gateway stops."))
		if m := <-done; m.Text(m.ResultType) != "input_required" || stateOf(m) == "" {
			t.Errorf("the client got %s", m.Raw)
		}
		r.Close()
	})
}
