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
	"github.com/answerback/answerback/internal/wire"
)

// patientPeer is a client that stays while it is asked.
type patientPeer struct {
	*fakePeer
	asked []string
	back  chan struct{}
}

func (p *patientPeer) Asked() []string       { return p.asked }
func (p *patientPeer) Back() <-chan struct{} { return p.back }

// TestPatientClientStays: a client that was told what it is asked stays in its
// round while nothing changes. It is told of a further question, gets its round
// back when it wants it, and the result when its question was answered
// elsewhere. The server runs once.
func TestPatientClientStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		server := func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			runs++
			var got []string
			for range 2 {
				q, reply, _ := newQuestion("elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`)
				sink.Question(q)
				select {
				case a := <-reply:
					got = append(got, a)
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
			return okTo(msg, `{"got":[`+strings.Join(got, ",")+`]}`), nil
		}
		r := newRelay(t, legacyServer(server))
		r.pages = fakePages{}
		caller := alice
		caller.Surface = "agent"
		peer := func(asked ...string) *patientPeer { return &patientPeer{newPeer(), asked, make(chan struct{}, 1)} }
		round := func(p *patientPeer, state string) <-chan wire.Message {
			done := make(chan wire.Message, 1)
			rest := ""
			if state != "" {
				rest = `,"requestState":` + state
			}
			go func() {
				m, resp := modernCall(r, caller, "1", rest, p)
				if want := m.Text(m.ResultType) == "input_required"; resp.Held != want {
					t.Errorf("held is %t: %s", resp.Held, m.Raw)
				}
				done <- m
			}()
			return done
		}
		stays := func(done <-chan wire.Message) {
			t.Helper()
			time.Sleep(time.Second)
			select {
			case m := <-done:
				t.Fatalf("the round ended: %s", m.Raw)
			default:
			}
		}
		answer := func() {
			t.Helper()
			open := r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 10)
			if len(open) != 1 {
				t.Fatalf("%d asks wait", len(open))
			}
			a := ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":{}}`)}
			if _, err := r.desk.Submit(open[0].Ask.ID, desk.Viewer{Principal: alice.Principal}, "page", a); err != nil {
				t.Fatal(err)
			}
		}

		m := <-round(peer(), "")
		if !strings.Contains(string(m.Field(m.InputRequests)), `"q1"`) {
			t.Fatalf("the first round: %s", m.Raw)
		}
		p := peer("q1")
		done := round(p, stateOf(m))
		stays(done)
		p.back <- struct{}{}
		m = <-done
		if !strings.Contains(string(m.Field(m.InputRequests)), `"q1"`) {
			t.Fatalf("the round that was wanted back: %s", m.Raw)
		}
		done = round(peer("q1"), stateOf(m))
		stays(done)
		answer()
		m = <-done
		if got := string(m.Field(m.InputRequests)); !strings.Contains(got, `"q2"`) || strings.Contains(got, `"q1"`) {
			t.Fatalf("the round in which something else was asked: %s", m.Raw)
		}
		done = round(peer("q2"), stateOf(m))
		stays(done)
		answer()
		if m = <-done; strings.Count(string(m.Field(m.Result)), `"accept"`) != 2 || runs != 1 {
			t.Errorf("after %d runs: %s", runs, m.Raw)
		}
		r.Close()
	})
}
