package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// dull is a client that can show nothing, in one of the two eras: it calls a
// tool with arguments and gives the response.
type dull func(name, args string) wire.Message

// dulls runs a test with such a client of either era.
func dulls(t *testing.T, at string, test func(t *testing.T, c dull)) {
	t.Run("legacy client", func(t *testing.T) {
		c := rig.Dial(t, at, `{}`)
		test(t, func(name, args string) wire.Message { return c.Tool(name, args).Final() })
	})
	t.Run("modern client", func(t *testing.T) {
		c := rig.NewClient(t, at)
		test(t, func(name, args string) wire.Message {
			return c.Modern("1", "tools/call", `{"name":"`+name+`","arguments":`+args+`}`, `{}`).Final()
		})
	})
}

// told gives the page to which a response sends the person, "" for a response
// that is something else.
func told(m wire.Message) string {
	if member(m, m.Result, "isError") != "true" || !strings.Contains(string(m.Raw), "Do not call again until the person says that it is done") {
		return ""
	}
	return askPath.FindString(string(m.Raw))
}

// askingOnce answers tools/call x of a server of either era with what the person
// said, under the key got.
func askingOnce(runs *atomic.Int64) rig.Script {
	return func(c *rig.Call) {
		if c.Msg.MetaVersion.IsZero() {
			runs.Add(1)
			a := c.Ask(c.ID(), "elicitation/create", nameForm)
			c.Result(`{"content":[],"got":` + string(a.Field(a.Result)) + `}`)
			return
		}
		if answers := c.Msg.Field(c.Msg.InputResponses); answers != nil {
			c.Result(`{"resultType":"complete","content":[],"got":` + string(answers) + `}`)
			return
		}
		runs.Add(1)
		c.Result(`{"resultType":"input_required","requestState":"mine","inputRequests":{"k":{"method":"elicitation/create","params":` + nameForm + `}}}`)
	}
}

// A client that can show nothing, at servers of either era and at both kinds
// of door: its call ends within a second with the link, it gets the same words
// while nobody has answered, then the answer, once.
func TestClientThatCannotBeAskedIsToldWhereToGo(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"legacy", "modern"} {
		t.Run(server+" server", func(t *testing.T) {
			runs := &atomic.Int64{}
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call x": askingOnce(runs)})
			b.ModernOnly, b.LegacyOnly = server == "modern", server == "legacy"
			doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
				person := rig.SignIn(t, g)
				dulls(t, d.URL, func(t *testing.T, call dull) {
					before := runs.Load()
					// At both doors it is the same call: what one test leaves
					// waiting must not be another's.
					x := func() wire.Message { return call(d.Prefix+"x", `{"a":{"b":1,"c":[]},"of":"`+t.Name()+`"}`) }
					began := time.Now()
					m := x()
					page := told(m)
					if took := time.Since(began); page == "" || took > time.Second {
						t.Fatalf("after %s: %s", took, m.Raw)
					}
					for _, want := range []string{"The server one asks", "the tool x", "Who are you?"} {
						if !strings.Contains(string(m.Raw), want) {
							t.Errorf("the words lack %q: %s", want, m.Raw)
						}
					}
					if m := x(); told(m) != page {
						t.Errorf("while the question is open: %s", m.Raw)
					}
					if status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
						t.Fatalf("the answer: %d %s", status, body)
					}
					if m := x(); !strings.Contains(member(m, m.Result, "got"), `{"action":"accept","content":{"name":"Ann"}}`) {
						t.Errorf("the repeated call: %s", m.Raw)
					}
					if n := runs.Load() - before; n != 1 {
						t.Errorf("the tool ran %d times", n)
					}
					if m := x(); told(m) == "" || told(m) == page || runs.Load()-before != 2 {
						t.Errorf("the next call is not a new one: %s", m.Raw)
					}
				})
			})
		})
	}
}

// A server may want a page of its own opened: the person sees the address on
// the gateway's, and agrees there.
func TestLinkForAClientThatCannotShowOne(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call x": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", `{"mode":"url","message":"Connect","url":"https://bank.example/connect?a=1","elicitationId":"e"}`)
		c.Result(`{"content":[],"got":` + string(a.Field(a.Result)) + `}`)
	}})
	b.LegacyOnly = true
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		person := rig.SignIn(t, g)
		dulls(t, d.URL, func(t *testing.T, call dull) {
			page := told(call(d.Prefix+"x", `{}`))
			if _, body := person.Do("GET", page, nil); !strings.Contains(body, "https://bank.example/connect?a=1") {
				t.Errorf("the page does not show the address: %s", body)
			}
			person.Answer(page, url.Values{"action": {"accept"}})
			if m := call(d.Prefix+"x", `{}`); member(m, m.Result, "got") != `{"action":"accept"}` {
				t.Errorf("the repeated call: %s", m.Raw)
			}
		})
	})
}

// Of fifty calls that repeat one at the same time, one gets what came of it.
func TestFiftyRepeatsAtOnce(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call x": askingOnce(runs)})
	doors(t, b, "asks: { burst: 1000 }\n", func(t *testing.T, d door, g *rig.Gateway) {
		person := rig.SignIn(t, g)
		dulls(t, d.URL, func(t *testing.T, call dull) {
			args := `{"of":"` + t.Name() + `"}`
			page := told(call(d.Prefix+"x", args))
			person.Answer(page, url.Values{"action": {"accept"}, "f0": {"Ann"}})
			results := make([]wire.Message, 50)
			var wg sync.WaitGroup
			for i := range results {
				wg.Go(func() { results[i] = call(d.Prefix+"x", args) })
			}
			wg.Wait()
			got := 0
			for _, m := range results {
				switch {
				case strings.Contains(string(m.Raw), "Ann"):
					got++
				case told(m) == "":
					t.Errorf("one of the others: %s", m.Raw)
				}
			}
			if got != 1 {
				t.Errorf("%d of 50 got the result", got)
			}
		})
	})
}

// What waits for one person is not another's, who makes the very same call;
// the person themselves gets it, in another session too.
func TestAttackRepeatedCallOfAnother(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call x": askingOnce(&atomic.Int64{})})
	g := guard(t, "", fmt.Sprintf("  one: { url: %q }\n", b.URL))
	call := func(who string) wire.Message {
		return rig.DialAs(t, g.Gateway.URL+"/one", `{}`, g.token(who)).Tool("x", `{"a":1}`).Final()
	}
	page := told(call("ann"))
	if page == "" {
		t.Fatal("ann was not told where to go")
	}
	if other := told(call("mallory")); other == "" || other == page {
		t.Errorf("mallory was told to go to %q, ann to %q", other, page)
	}
	ann := g.signIn("ann")
	form := ann.get(page)
	r := ann.do("POST", page, url.Values{"token": tokens(form.body)[len(tokens(form.body))-1:], "action": {"accept"}, "f0": {"the secret of ann"}})
	if r.status != 200 {
		t.Fatalf("the answer: %d %s", r.status, r.body)
	}
	if m := call("mallory"); strings.Contains(string(m.Raw), "the secret of ann") || told(m) == "" {
		t.Errorf("mallory got %s", m.Raw)
	}
	if m := call("ann"); !strings.Contains(string(m.Raw), "the secret of ann") {
		t.Errorf("ann got %s", m.Raw)
	}
}

// The work goes on across a restart of the gateway, in good order or not: the
// person answers afterwards, and the repeated call has the result of the one
// run. A result that was there before is there afterwards as well.
func TestToldCallSurvivesARestart(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(t *testing.T, g *rig.Gateway){
		"crash":   func(t *testing.T, g *rig.Gateway) { g.Kill(t) },
		"restart": func(t *testing.T, g *rig.Gateway) { _ = g.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
				call := func(caps string, modern bool) wire.Message {
					if !modern {
						return rig.Dial(t, g.URL+path, caps).Tool(prefix+"ask", `{}`).Final()
					}
					return rig.NewClient(t, g.URL+path).Modern("1", "tools/call", `{"name":"`+prefix+`ask","arguments":{}}`, caps).Final()
				}
				again := func() {
					stop(t, g)
					g = g.Again(t)
				}
				legacy, modern := told(call(`{}`, false)), told(call(`{}`, true))
				again()
				if page := told(call(`{}`, false)); page == "" || page != legacy {
					t.Fatalf("the page is %q, before the restart it was %q", page, legacy)
				}
				person := rig.SignIn(t, g)
				person.Answer(legacy, url.Values{"action": {"accept"}, "f0": {"Ann"}})
				if m := call(`{}`, false); !strings.Contains(string(m.Raw), "accept Ann") {
					t.Errorf("the legacy client: %s", m.Raw)
				}
				person.Answer(modern, url.Values{"action": {"accept"}, "f0": {"Moe"}})
				rig.Eventually(t, func() bool {
					return strings.Count(g.Log(), `msg="response kept for a client that is away"`) == 2
				}, "the results were not kept")
				again()
				if m := call(`{}`, true); !strings.Contains(string(m.Raw), "accept Moe") {
					t.Errorf("the modern client: %s", m.Raw)
				}
				if runs.Load() != 2 {
					t.Errorf("the tool ran %d times for two calls", runs.Load())
				}
			})
		})
	}
}

// A program that the gateway started dies with it: the repeated call says so,
// once, and the one after that starts anew.
func TestToldCallOverStdioIsLost(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { command: "+rig.StdioPeer(t)+" }\n")
	const args = `{"method":"elicitation/create","params":` + nameForm + `}`
	dulls(t, g.URL+"/one", func(t *testing.T, call dull) {
		if m := call("ask", args); told(m) == "" {
			t.Errorf("the call: %s", m.Raw)
		}
	})
	g.Kill(t)
	g = g.Again(t)
	dulls(t, g.URL+"/one", func(t *testing.T, call dull) {
		m := call("ask", args)
		if _, reason := errorOf(m); reason != `"backend_lost"` || !strings.Contains(string(m.Raw), "A further call starts anew") {
			t.Errorf("the repeated call: %s", m.Raw)
		}
		if m := call("ask", args); told(m) == "" {
			t.Errorf("the call after that: %s", m.Raw)
		}
	})
}
