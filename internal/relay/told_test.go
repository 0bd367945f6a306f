package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/parking/parkingtest"
	"github.com/answerback/answerback/internal/wire"
)

// muted is a relay before the server "old", whose calls ask once, with pages
// for alice and clients that can show nothing.
func muted(t *testing.T, runs *atomic.Int64, kept parking.Results) *Relay {
	r := newRelay(t, legacyServer(func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		runs.Add(1)
		own := 0
		return asksFor(1, &own)(ctx, msg, sink)
	}))
	r.pages = fakePages{}
	park(t, r, 100, kept)
	return r
}

// caller makes calls at that server, as a client of one of the two eras.
type caller struct {
	call  func(who contract.Caller, method, rest string, token string) contract.Response
	close func()
	kept  *parkingtest.Memory
}

// eras runs a test with a client of each era.
func eras(t *testing.T, test func(t *testing.T, r *Relay, runs *atomic.Int64, c caller)) {
	t.Run("modern", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			runs, kept := atomic.Int64{}, &parkingtest.Memory{}
			r := muted(t, &runs, kept)
			test(t, r, &runs, caller{func(who contract.Caller, method, rest, token string) contract.Response {
				m := scan(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{` + token + `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"dull","version":"1.2"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"t"` + rest + `}}`)
				return r.Call(context.Background(), "old", who, &m, nil, newPeer())
			}, func() {}, kept})
			r.Close()
		})
	})
	t.Run("legacy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var runs, ids atomic.Int64
			kept := &parkingtest.Memory{}
			r := muted(t, &runs, kept)
			sessions := map[contract.Caller]*Session{}
			end := func() {
				for _, s := range sessions {
					s.Close(context.Background(), ask.Errorf(ask.ClientGone, "It went."))
				}
				clear(sessions)
			}
			test(t, r, &runs, caller{func(who contract.Caller, method, rest, token string) contract.Response {
				s := sessions[who]
				if s == nil {
					hello := scan(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"dull","version":"1.2"}}}`)
					s, _ = r.Initialize(context.Background(), "old", "s-"+who.Subject, who, &hello, newPeer())
					sessions[who] = s
				}
				m := scan(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"_meta":{%s"x":1},"name":"t"%s}}`, ids.Add(1), method, token, rest))
				return s.Call(context.Background(), &m, newPeer())
			}, end, kept})
			end()
			r.Close()
		})
	})
}

func (c caller) tool(who contract.Caller, args string) wire.Message {
	return scan(string(c.call(who, "tools/call", `,"arguments":`+args, "").Body))
}

// toldIn reports whether a response tells its client to call again, and where
// the person is to go.
func toldIn(m wire.Message) (link string, ok bool) {
	var result struct {
		IsError bool
		Content []struct{ Type, Text string }
	}
	if json.Unmarshal(m.Field(m.Result), &result) != nil || !result.IsError || len(result.Content) != 1 {
		return "", false
	}
	text := result.Content[0].Text
	_, link, _ = strings.Cut(text, "opens ")
	link, _, _ = strings.Cut(link, "\n")
	for _, want := range []string{"The server old asks", "the tool t", "The question: m0", "Do not call again until the person says that it is done", fakePages{}.Link("")} {
		if !strings.Contains(text, want) {
			return "", false
		}
	}
	return link, true
}

func answerAsks(t *testing.T, r *Relay, who contract.Caller, content string) {
	t.Helper()
	v := desk.Viewer{Principal: who.Principal}
	shown := r.desk.Waiting(v, 100)
	if len(shown) == 0 {
		t.Fatal("nothing waits on a page")
	}
	for _, s := range shown {
		if _, err := r.desk.Submit(s.Ask.ID, v, "page", ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":` + content + `}`)}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
}

// A client that can show nothing is not made to wait: its call ends with the
// words and the link, a repeated one gets the same while nobody has answered,
// and then the result of the one run, once.
func TestClientThatCannotBeAskedCallsAgain(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		began := time.Now()
		link, ok := toldIn(c.tool(alice, `{"a":1,"b":[2]}`))
		if took := time.Since(began); !ok || took > time.Second {
			t.Fatalf("after %s the call ended with something else", took)
		}
		if again, ok := toldIn(c.tool(alice, `{"b":[2.0],"a":1}`)); !ok || again != link {
			t.Errorf("while the question is open: %q, want %q", again, link)
		}
		answerAsks(t, r, alice, `{"n":1.10}`)
		if m := c.tool(alice, `{"b":[2.0],"a":1}`); !strings.Contains(string(m.Field(m.Result)), `{"action":"accept","content":{"n":1.10}}`) {
			t.Errorf("the repeated call: %s", m.Raw)
		}
		if runs.Load() != 1 {
			t.Errorf("the tool ran %d times", runs.Load())
		}
		if next, ok := toldIn(c.tool(alice, `{"a":1,"b":[2]}`)); !ok || next == link || runs.Load() != 2 {
			t.Errorf("after %d runs, the next call: %q", runs.Load(), next)
		}
	})
}

// Only the same call of the same principal finds the one that waits.
func TestOnlyTheSameCallAttaches(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		c.tool(alice, `{"a":1}`)
		answerAsks(t, r, alice, `{"secret":"s"}`)
		if m := c.tool(person("mallory"), `{"a":1}`); strings.Contains(string(m.Raw), `"secret"`) {
			t.Errorf("somebody else: %s", m.Raw)
		}
		if _, ok := toldIn(c.tool(alice, `{"a":2}`)); !ok {
			t.Error("other arguments were taken for the same")
		}
		if m := c.tool(alice, `{"a":1}`); !strings.Contains(string(m.Raw), `"secret"`) || runs.Load() != 3 {
			t.Errorf("the same call after %d runs: %s", runs.Load(), m.Raw)
		}
	})
}

// Calls that are made at the same time and deliberately alike run each, and
// of many that repeat one that is over, one gets it.
func TestOneOfManyRepeatsGetsTheResult(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		r.limits.CallsPerSession = 100
		c.tool(alice, `{}`)
		answerAsks(t, r, alice, `{"n":7}`)
		got := make(chan wire.Message)
		for range 50 {
			go func() { got <- c.tool(alice, `{}`) }()
		}
		results := 0
		for range 50 {
			m := <-got
			if strings.Contains(string(m.Field(m.Result)), `{"n":7}`) {
				results++
			} else if _, ok := toldIn(m); !ok {
				t.Errorf("one of the others: %s", m.Raw)
			}
		}
		if results != 1 {
			t.Errorf("%d of 50 got the result", results)
		}
	})
}

// A result that could not be sent is there for the next repeated call.
func TestUnsentResultIsGivenBack(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		c.tool(alice, `{}`)
		answerAsks(t, r, alice, `{"n":7}`)
		resp := c.call(alice, "tools/call", `,"arguments":{}`, "")
		if !strings.Contains(string(resp.Body), `{"n":7}`) || resp.Unsent == nil {
			t.Fatalf("the repeated call: %s", resp.Body)
		}
		resp.Unsent()
		if m := c.tool(alice, `{}`); !strings.Contains(string(m.Raw), `{"n":7}`) || runs.Load() != 1 {
			t.Errorf("after it was not sent, and %d runs: %s", runs.Load(), m.Raw)
		}
	})
}

// Nobody is kept for who does not come back: the result is forgotten, and the
// call is then a new one.
func TestUncollectedResultIsForgotten(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		c.tool(alice, `{}`)
		answerAsks(t, r, alice, `{"n":7}`)
		time.Sleep(r.limits.Away + time.Second)
		if _, ok := toldIn(c.tool(alice, `{}`)); !ok || runs.Load() != 2 {
			t.Errorf("the call ran %d times", runs.Load())
		}
	})
}

// The work goes on without the session in which it was begun.
func TestWorkOutlivesTheSession(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		c.tool(alice, `{}`)
		c.close()
		answerAsks(t, r, alice, `{"n":7}`)
		if m := c.tool(alice, `{}`); !strings.Contains(string(m.Raw), `{"n":7}`) || runs.Load() != 1 {
			t.Errorf("after %d runs: %s", runs.Load(), m.Raw)
		}
	})
}

// A prompt has no place for such words in its result: it ends with an error
// that has them, and the link.
func TestPromptThatWaitsEndsWithAnError(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		m := scan(string(c.call(alice, "prompts/get", "", "").Body))
		var fault struct {
			Message string
			Data    struct{ Reason, URL string }
		}
		if err := json.Unmarshal(m.Field(m.Error), &fault); err != nil {
			t.Fatalf("%v: %s", err, m.Raw)
		}
		if fault.Data.Reason != "waiting_for_person" || !strings.HasPrefix(fault.Data.URL, fakePages{}.Link("")) || !strings.Contains(fault.Message, "Do not call again") {
			t.Errorf("the error: %s", m.Raw)
		}
		answerAsks(t, r, alice, `{"n":7}`)
		if m := scan(string(c.call(alice, "prompts/get", "", "").Body)); !strings.Contains(string(m.Raw), `{"n":7}`) {
			t.Errorf("the repeated one: %s", m.Raw)
		}
	})
}

// After a restart, what was over is there, once; what was not is lost, and
// said to be, once.
func TestToldCallsAfterARestart(t *testing.T) {
	for name, finish := range map[string]bool{"over": true, "at work": false} {
		t.Run(name, func(t *testing.T) {
			eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
				c.tool(alice, `{}`)
				if finish {
					answerAsks(t, r, alice, `{"n":7}`)
				}
				c.close()
				r.lot.End(ask.Errorf(ask.ShuttingDown, "The gateway stops."))
				synctest.Wait()
				park(t, r, 100, c.kept)
				if err := r.Restore(t.Context()); err != nil {
					t.Fatal(err)
				}
				m := c.tool(alice, `{}`)
				switch {
				case finish && !strings.Contains(string(m.Raw), `{"n":7}`):
					t.Errorf("the repeated call: %s", m.Raw)
				case !finish && (!strings.Contains(string(m.Raw), `"backend_lost"`) || !strings.Contains(string(m.Raw), "A further call starts anew")):
					t.Errorf("the repeated call: %s", m.Raw)
				}
				if _, ok := toldIn(c.tool(alice, `{}`)); !ok || runs.Load() != 2 {
					t.Errorf("the call after that ran %d times", runs.Load())
				}
				if left := c.kept.Len(); left != 1 {
					t.Errorf("%d calls are kept where one is under way", left)
				}
			})
		})
	}
}

// TestCallsThatWaitOnPagesAreBounded: beyond its caller's limit a call is not
// kept waiting for a page, and its server hears that there are too many.
func TestCallsThatWaitOnPagesAreBounded(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, _ *atomic.Int64, c caller) {
		park(t, r, 2, c.kept)
		call := func(who contract.Caller, n int) string {
			return string(c.call(who, "tools/call", fmt.Sprintf(`,"arguments":{"n":%d}`, n), "").Body)
		}
		for n := range 2 {
			if got := call(alice, n); !strings.Contains(got, "Do not call again until") {
				t.Errorf("call %d: %s", n, got)
			}
		}
		if got := call(alice, 2); !strings.Contains(got, "too_many_open") {
			t.Errorf("one too many: %s", got)
		}
		c.close()
	})
}
