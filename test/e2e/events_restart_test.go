package e2e

import (
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// eventsPath is where calls of a path of /mcp are started.
func eventsPath(path string) string { return path + "/call" }

// follows gives the events of a call after a restart: those of before it are
// lost, the call is told again, and then what is open.
func follows(t *testing.T, g *rig.Gateway, call *rig.Feed) (*rig.Front, *rig.Feed) {
	t.Helper()
	f := newFront(t, g, canAsk, "true")
	s := f.Open("GET", "/calls/"+call.ID, "", "Last-Event-ID", call.LastID)
	if want := `{"type":"events-lost","after":` + call.LastID + `}`; s.Raw[0] != want {
		t.Errorf("after the restart comes first %s, want %s", s.Raw[0], want)
	}
	if e := s.Next(); e.Type() != "call-started" || e["callId"] != call.ID {
		t.Errorf("after the restart comes then: %v", e)
	}
	s.ID = call.ID
	return f, s
}

// TestEventsSurviveACrash: a gateway that dies while a person is asked is
// started again. The consumer that comes back has the question again; the
// answer completes the same call of the backend, once; the key of the call
// still finds it; and the conversation still has its session.
func TestEventsSurviveACrash(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"here", "on the page"} {
		t.Run(way, func(t *testing.T) {
			crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
				body := `{"name":"` + prefix + `ask","arguments":{},"conversation":"c"}`
				session := func(f *rig.Front) string {
					return resultText(t, f.Open("POST", eventsPath(path), `{"name":"`+prefix+`session","conversation":"c"}`).Until("tool-result"))
				}
				f := newFront(t, g, canAsk, "true")
				before := session(f)
				call := f.Open("POST", eventsPath(path), body, "Idempotency-Key", "k")
				id := call.Until("elicitation-request")["id"].(string)
				g.Kill(t)
				g = g.Again(t)

				f, s := follows(t, g, call)
				if q := s.Until("elicitation-request"); q["id"] != id {
					t.Errorf("the question is now %v", q)
				}
				if way == "here" {
					if status, text := f.Say("POST", "/calls/"+call.ID+"/respond", `{"id":"`+id+`","action":"accept","content":{"name":"Ann"}}`); status != 200 {
						t.Fatalf("the answer: %d %s", status, text)
					}
				} else if status, text := rig.SignIn(t, g).Answer("/asks/"+id, url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
					t.Fatalf("the answer: %d %s", status, text)
				}
				equal(t, "the result", resultText(t, s.Until("tool-result")), "accept Ann")
				if s.Seen[len(s.Seen)-2].Type() != "elicitation-settled" {
					t.Errorf("the end of the question was not told: %s", s.Raw)
				}
				again := f.Open("POST", eventsPath(path), body, "Idempotency-Key", "k")
				if again.ID != call.ID || resultText(t, again.Until("tool-result")) != "accept Ann" || runs.Load() != 1 {
					t.Errorf("the key gave %s, and the tool ran %d times", again.Raw, runs.Load())
				}
				equal(t, "the session of the conversation", session(f), before)
			})
		})
	}
}

// TestEventsSurviveARestart: the same in good order. The stream ends without a
// last event, because the call goes on.
func TestEventsSurviveARestart(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
		f := newFront(t, g, canAsk, "true")
		call := f.Open("POST", eventsPath(path), `{"name":"`+prefix+`ask"}`)
		id := call.Until("elicitation-request")["id"].(string)
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
		if e := call.Next(); e != nil {
			t.Errorf("the call was told to end: %v", e)
		}
		f, s := follows(t, g.Again(t), call)
		f.Say("POST", "/calls/"+call.ID+"/respond", `{"id":"`+id+`","action":"decline"}`)
		equal(t, "the result", resultText(t, s.Until("tool-result")), "decline ")
		if runs.Load() != 1 {
			t.Errorf("the tool ran %d times", runs.Load())
		}
	})
}

// TestEventsSurviveTwoCrashes: two calls of one conversation, two crashes, the
// second before anything was answered, and a third after the results came,
// which are still there.
func TestEventsSurviveTwoCrashes(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
		f := newFront(t, g, canAsk, "true")
		calls, asked := make([]*rig.Feed, 2), make([]string, 2)
		for i := range calls {
			calls[i] = f.Open("POST", eventsPath(path), `{"name":"`+prefix+`ask"}`)
			asked[i] = calls[i].Until("elicitation-request")["id"].(string)
		}
		for range 2 {
			g.Kill(t)
			g = g.Again(t)
			for i, call := range calls {
				_, s := follows(t, g, call)
				if q := s.Until("elicitation-request"); q["id"] != asked[i] {
					t.Errorf("the question is now %v", q)
				}
				calls[i] = s
			}
		}
		f = newFront(t, g, canAsk, "true")
		for i, name := range []string{"Ann", "Bea"} {
			f.Say("POST", "/calls/"+calls[i].ID+"/respond", `{"id":"`+asked[i]+`","action":"accept","content":{"name":"`+name+`"}}`)
			equal(t, "the result", resultText(t, calls[i].Until("tool-result")), "accept "+name)
		}
		g.Kill(t)
		f = newFront(t, g.Again(t), canAsk, "true")
		for i, name := range []string{"Ann", "Bea"} {
			s := f.Open("GET", "/calls/"+calls[i].ID, "")
			equal(t, "the result after the third crash", resultText(t, s.Until("tool-result")), "accept "+name)
		}
		if runs.Load() != 2 {
			t.Errorf("the tool ran %d times for two calls", runs.Load())
		}
	})
}

// TestEventsOverStdioAreLost: a program that the gateway started dies with it,
// and a server without sessions does not know the call again. The consumer of
// such a call is told, and so is the repeated start.
func TestEventsOverStdioAreLost(t *testing.T) {
	t.Parallel()
	modern := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		c.Result(`{"resultType":"input_required","requestState":"one","inputRequests":{"k":{"method":"elicitation/create","params":` + nameForm + `}}}`)
	}})
	modern.ModernOnly = true
	for name, backend := range map[string]string{"stdio": "command: " + rig.StdioPeer(t), "modern": "url: " + modern.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := rig.Start(t, durable+"backends:\n  one: { "+backend+" }\n")
			f := newFront(t, g, canAsk, "true")
			body := `{"name":"ask","arguments":{"method":"elicitation/create","params":` + nameForm + `}}`
			calls := []*rig.Feed{f.Call("one", body, "Idempotency-Key", "k"), f.Call("one", body)}
			for _, call := range calls {
				call.Until("elicitation-request")
			}
			for range 2 {
				g.Kill(t)
				g = g.Again(t)
				for _, call := range calls {
					f, s := follows(t, g, call)
					if e := s.Until("error"); e["code"] != "backend_lost" {
						t.Errorf("the call ended with %v", e)
					}
					if again := f.Call("one", body, "Idempotency-Key", "k"); again.ID != calls[0].ID || again.Until("error")["code"] != "backend_lost" {
						t.Errorf("the key gave %s", again.Raw)
					}
				}
			}
		})
	}
}

// TestEventsCrashAfterTheAnswer: a call that was at work on its answer when the
// gateway died has an end that says so, and is not run again.
func TestEventsCrashAfterTheAnswer(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call work": func(c *rig.Call) {
		c.Ask(c.ID(), "elicitation/create", nameForm)
		c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"at work"}}`)
		<-c.Context.Done()
	}})
	g := rig.Start(t, durable+"backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	call := f.Call("one", toolCall("work"))
	id := call.Until("elicitation-request")["id"].(string)
	f.Say("POST", "/calls/"+call.ID+"/respond", `{"id":"`+id+`","action":"accept","content":{"name":"Ann"}}`)
	call.Until("log")
	g.Kill(t)
	_, s := follows(t, g.Again(t), call)
	// It depends on whether the gateway could still note that the answer arrived.
	if code := s.Until("error")["code"]; code != "outcome_unknown" && code != "backend_lost" {
		t.Errorf("the call ended with %v", code)
	}
	if n := b.Count("tools/call"); n != 1 {
		t.Errorf("the server ran %d calls", n)
	}
}

// TestEventsKeysSurviveACrash: a key finds its call after a crash: one that has
// ended with its result, one that was under way with an end that says that
// nothing is known. Neither runs again, however many ask at once; another
// request under the key is refused.
func TestEventsKeysSurviveACrash(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, durable+"backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g)
	ended := f.Call("one", toolCall("echo"), "Idempotency-Key", "ended")
	result := ended.Until("tool-result")
	under := f.Call("one", toolCall("wait"), "Idempotency-Key", "under way")
	under.Until("log")
	for range 2 {
		g.Kill(t)
		g = g.Again(t)
		f = newFront(t, g)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, text := f.Say("POST", "/one/call", toolCall("echo"), "Idempotency-Key", "ended"); !strings.Contains(text, ended.ID) || !strings.Contains(text, ended.Raw[len(ended.Raw)-1]) {
					t.Errorf("the key of a call that ended with %v gave %s", result, text)
				}
				if _, text := f.Say("POST", "/one/call", toolCall("wait"), "Idempotency-Key", "under way"); !strings.Contains(text, under.ID) || !strings.Contains(text, `"code":"outcome_unknown"`) {
					t.Errorf("the key of a call that was under way gave %s", text)
				}
			})
		}
		wg.Wait()
		if status, text := f.Say("POST", "/one/call", toolCall("form"), "Idempotency-Key", "ended"); status != 422 {
			t.Errorf("the key with another request got %d %s", status, text)
		}
		if s := f.Open("GET", "/calls/"+under.ID, "", "Last-Event-ID", under.LastID); s.Until("error")["code"] != "outcome_unknown" {
			t.Errorf("the consumer heard %s", s.Raw)
		}
	}
	if n := b.Count("tools/call"); n != 2 {
		t.Errorf("the server ran %d calls, want 2", n)
	}
}

// TestEventsKeysExpire: a key is kept for as long as its call is, also across a
// crash. Then it starts another call.
func TestEventsKeysExpire(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, durable+"events: { keep: 2s }\nbackends:\n  one: { url: "+b.URL+" }\n")
	first := newFront(t, g).Call("one", toolCall("echo"), "Idempotency-Key", "k")
	first.Until("tool-result")
	g.Kill(t)
	f := newFront(t, g.Again(t))
	rig.Eventually(t, func() bool {
		again := f.Call("one", toolCall("echo"), "Idempotency-Key", "k")
		again.Until("tool-result")
		return again.ID != first.ID
	}, "the key is kept for ever")
	if n := b.Count("tools/call"); n != 2 {
		t.Errorf("the server ran %d calls, want 2", n)
	}
}

// TestEventsKeysNeedTheStore: a start with a key that cannot be written down is
// refused, because it could run twice. Without a key it runs.
func TestEventsKeysNeedTheStore(t *testing.T) {
	t.Parallel()
	nats := rig.StartNATS(t)
	b := newFrontBackend(t)
	g := rig.Start(t, "journal: { url: "+nats.URL+" }\nbackends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g)
	f.Call("one", toolCall("echo"), "Idempotency-Key", "before").Until("tool-result")
	nats.Stop()
	g.WaitLog(t, "connection lost")
	if status, text := f.Say("POST", "/one/call", toolCall("echo"), "Idempotency-Key", "k"); status != 503 || !strings.Contains(text, "journal_unavailable") {
		t.Errorf("a start with a key got %d %s", status, text)
	}
	f.Call("one", toolCall("echo"), "Idempotency-Key", "before").Until("tool-result") // is known
	f.Call("one", toolCall("echo")).Until("tool-result")
	if n := b.Count("tools/call"); n != 2 {
		t.Errorf("the server ran %d calls, want 2", n)
	}
	nats.Start()
	rig.Eventually(t, func() bool {
		status, _ := f.Say("POST", "/one/call", toolCall("echo"), "Idempotency-Key", "k")
		return status == 200
	}, "a start with a key is refused although the store is back")
}
