package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// reloads waits until the gateway has reloaded its configuration so often.
func reloads(t *testing.T, g *rig.Gateway, times int) {
	t.Helper()
	rig.Eventually(t, func() bool { return strings.Count(g.Log(), `msg="configuration reloaded"`) >= times }, fmt.Sprintf("the configuration was not reloaded %d times", times))
}

func backends(pairs ...string) string {
	var b strings.Builder
	b.WriteString("backends:\n")
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "  %s: { url: %s }\n", pairs[i], pairs[i+1])
	}
	return b.String()
}

// TestReloadAddsAndRemoves: a changed file adds and removes backends; a call
// in flight at a backend that stays, and its session, do not notice, and
// joined sessions are told that their lists changed.
func TestReloadAddsAndRemoves(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	script := map[string]rig.Script{
		"tools/list":      listing("tools", 0, tool("echo")),
		"tools/call echo": echo,
		"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "elicitation/create", formParams)
			<-release
			c.Result(string(a.Field(a.Result)))
		},
	}
	stays, goes, comes := rig.NewBackend(t, script), rig.NewBackend(t, script), rig.NewBackend(t, script)
	drain := "limits: { drain: 0s }\n"
	g := rig.Start(t, drain+backends("stays", stays.URL, "goes", goes.URL))
	joined, solo, leaving := rig.Dial(t, g.URL, rig.AllCaps), rig.Dial(t, g.URL+"/stays", rig.AllCaps), rig.Dial(t, g.URL+"/goes", rig.AllCaps)
	own := joined.Listen("")
	equal(t, "the names before", strings.Join(names(joined.Request("tools/list", "{}"), "tools"), " "), "goes__echo stays__echo")
	inJoined, inSolo := joined.Tool("stays__ask", "{}"), solo.Tool("ask", "{}")
	asked := map[*rig.Client]wire.Message{joined: inJoined.Next(), solo: inSolo.Next()}

	g.Rewrite(t, drain+backends("stays", stays.URL, "comes", comes.URL))
	reloads(t, g, 1)
	n := own.Next()
	if !strings.HasSuffix(n.Method(), "/list_changed") {
		t.Errorf("after the change the client was told %s", n.Raw)
	}
	equal(t, "the names after", strings.Join(names(joined.Request("tools/list", "{}"), "tools"), " "), "comes__echo stays__echo")
	unharmed(t, joined, "comes__echo")
	unharmed(t, rig.Dial(t, g.URL+"/comes", rig.AllCaps), "echo")
	wantError(t, "a backend that is gone", joined.Tool("goes__echo", "{}").Final(), "-32602", "unknown_name")
	if status := rig.NewClient(t, g.URL+"/goes").Start(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"rig","version":"1"}}}`).Status; status != http.StatusNotFound {
		t.Errorf("the endpoint of a backend that is gone: status %d, want 404", status)
	}
	rig.Eventually(t, func() bool {
		return leaving.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`) == http.StatusNotFound
	}, "the session of a backend that is gone lives on")

	for c, q := range asked {
		c.Answer(q, `{"action":"decline"}`)
	}
	close(release)
	for what, s := range map[string]*rig.Stream{"joined": inJoined, "solo": inSolo} {
		r := s.Final()
		equal(t, "the call in flight, "+what, string(r.Field(r.Result)), `{"action":"decline"}`)
	}
	unharmed(t, solo, "echo")
	if n := stays.Count("initialize"); n != 2 {
		t.Errorf("the backend that stays had %d handshakes, want one for each session", n)
	}
}

// TestReloadDrainsCalls: a call in flight at a backend that is taken out may
// end within limits.drain.
func TestReloadDrainsCalls(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	goes := rig.NewBackend(t, map[string]rig.Script{"tools/call slow": func(c *rig.Call) {
		c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		<-release
		c.Result(`{"done":true}`)
	}})
	stays := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
	g := rig.Start(t, backends("stays", stays.URL, "goes", goes.URL))
	joined, solo := rig.Dial(t, g.URL, rig.AllCaps), rig.Dial(t, g.URL+"/goes", rig.AllCaps)
	calls := []*rig.Stream{joined.Tool("goes__slow", "{}"), solo.Tool("slow", "{}")}
	for _, s := range calls {
		s.Next()
	}
	g.Rewrite(t, backends("stays", stays.URL))
	g.WaitLog(t, `msg="backend taken out" backend=goes`)
	reloads(t, g, 1)
	close(release)
	for _, s := range calls {
		r := s.Final()
		equal(t, "the call in flight", string(r.Field(r.Result)), `{"done":true}`)
	}
}

// TestReloadChangesABackend: a backend whose settings changed is a new one: a
// joined session goes on with it, a session of its own endpoint ends. What
// cannot change without a restart is said to.
func TestReloadChangesABackend(t *testing.T) {
	t.Parallel()
	before, after := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo}), rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
	drain := "limits: { drain: 0s }\n"
	g := rig.Start(t, drain+backends("one", before.URL, "two", before.URL))
	joined, solo := rig.Dial(t, g.URL, rig.AllCaps), rig.Dial(t, g.URL+"/one", rig.AllCaps)
	unharmed(t, joined, "one__echo")
	unharmed(t, solo, "echo")
	g.Rewrite(t, "asks: { timeout: 2m }\n"+drain+backends("one", after.URL, "two", before.URL))
	reloads(t, g, 1)
	g.WaitLog(t, `msg="a changed setting takes effect at the next start" key=asks`)
	unharmed(t, joined, "one__echo")
	if n := after.Count("tools/call"); n != 1 {
		t.Errorf("the new backend got %d calls, want 1", n)
	}
	rig.Eventually(t, func() bool {
		return solo.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`) == http.StatusNotFound
	}, "the session of the old backend lives on")
}

// TestBrokenFileChangesNothing: a file with a mistake is logged with its file
// and line, whether it is noticed by itself or on SIGHUP, and the old
// configuration stays in force.
func TestBrokenFileChangesNothing(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo, "tools/list": listing("tools", 0, tool("echo"))})
	g := rig.Start(t, backends("one", b.URL, "two", b.URL))
	c := rig.Dial(t, g.URL, rig.AllCaps)
	unharmed(t, c, "one__echo")
	for mistake, says := range map[string]string{
		backends("one", b.URL) + "  two: { url: [ }\n":                  ":5: ",
		backends("one", b.URL) + "limits: { call_timeout: for ever }\n": ":5: limits.call_timeout: ",
		backends("one", b.URL) + "limts: {}\n":                          ":5: limts: ",
	} {
		before := strings.Count(g.Log(), "the old one stays in force")
		g.Rewrite(t, mistake)
		rig.Eventually(t, func() bool { return strings.Count(g.Log(), "the old one stays in force") > before }, "the mistake was not logged: "+mistake)
		g.WaitLog(t, g.File+says)
		equal(t, "the names", strings.Join(names(c.Request("tools/list", "{}"), "tools"), " "), "one__echo two__echo")
		unharmed(t, c, "two__echo")
	}
	before := strings.Count(g.Log(), "the old one stays in force")
	g.Signal(t, syscall.SIGHUP)
	rig.Eventually(t, func() bool { return strings.Count(g.Log(), "the old one stays in force") > before }, "SIGHUP did not look at the file")
	if strings.Contains(g.Log(), "configuration reloaded") {
		t.Error("a file with a mistake was taken")
	}
	g.Rewrite(t, backends("one", b.URL, "three", b.URL))
	reloads(t, g, 1)
	unharmed(t, c, "three__echo")
}

// TestReloadsLoseNoCall: twenty reloads under a stream of calls, each of
// which changes another backend, lose no call of the one that stays.
func TestReloadsLoseNoCall(t *testing.T) {
	t.Parallel()
	b, other := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo}), rig.NewBackend(t, nil)
	drain := "limits: { drain: 0s }\n"
	g := rig.Start(t, drain+backends("one", b.URL, "zero", other.URL))
	m := rig.NewClient(t, g.URL)
	var made atomic.Int64
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for _, call := range []func() wire.Message{
		func(c *rig.Client) func() wire.Message {
			return func() wire.Message { return c.Tool("one__echo", `{"n":1}`).Final() }
		}(rig.Dial(t, g.URL, rig.AllCaps)),
		func(c *rig.Client) func() wire.Message {
			return func() wire.Message { return c.Tool("echo", `{"n":1}`).Final() }
		}(rig.Dial(t, g.URL+"/one", rig.AllCaps)),
		func() wire.Message {
			return m.Modern(m.ID(), "tools/call", `{"name":"one__echo","arguments":{"n":1}}`, "{}").Final()
		},
	} {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r := call()
				if string(r.Field(r.Result)) != `{"echo":{"n":1}}` {
					t.Errorf("a call was lost: %s", r.Raw)
					return
				}
				made.Add(1)
			}
		})
	}
	for n := range 20 {
		before := made.Load()
		g.Rewrite(t, drain+backends("one", b.URL, fmt.Sprintf("zero-%d", n), other.URL))
		g.Signal(t, syscall.SIGHUP)
		g.WaitLog(t, fmt.Sprintf("zero-%d]", n))
		rig.Eventually(t, func() bool { return made.Load() > before+3 || t.Failed() }, "calls stand still")
	}
	close(stop)
	callers.Wait()
	if n := int64(b.Count("tools/call")); n != made.Load() {
		t.Errorf("%d calls were made, and %d reached the backend", made.Load(), n)
	}
}

// TestDrain: a gateway that is told to stop lets a call that waits for a
// person end: the answer is still taken, and the result delivered, while
// nothing new begins. It ends with success.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "elicitation/create", formParams)
			c.Result(string(a.Field(a.Result)))
		},
		"tools/call echo": echo,
	})
	doorsOf := map[string]func(g *rig.Gateway) door{
		"solo":   func(g *rig.Gateway) door { return door{URL: g.URL + "/one"} },
		"joined": func(g *rig.Gateway) door { return door{URL: g.URL, Prefix: "one__"} },
	}
	for name, at := range doorsOf {
		t.Run(name, func(t *testing.T) {
			g := rig.Start(t, backends("one", b.URL, "two", b.URL))
			d := at(g)
			c := rig.Dial(t, d.URL, rig.AllCaps)
			s := c.Tool(d.Prefix+"ask", "{}")
			q := s.Next()
			g.Signal(t, syscall.SIGTERM)
			g.WaitLog(t, "msg=stopping")

			m := rig.NewClient(t, d.URL)
			var refused []*rig.Stream
			rig.Eventually(t, func() bool {
				refused = []*rig.Stream{c.Tool(d.Prefix+"echo", `{"n":1}`)}
				return refused[0].Status == http.StatusServiceUnavailable
			}, "a gateway that stops takes new calls")
			refused = append(refused,
				m.Modern("1", "tools/call", `{"name":"`+d.Prefix+`echo","arguments":{}}`, "{}"),
				m.Start(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"rig","version":"1"}}}`))
			for i, s := range refused {
				_, reason := errorOf(s.Final())
				equal(t, fmt.Sprintf("refusal %d", i), fmt.Sprint(s.Status)+reason, `503"shutting_down"`)
			}

			c.Answer(q, `{"action":"accept","content":{"n":1.10}}`)
			r := s.Final()
			equal(t, "the call that waited", string(r.Field(r.Result)), `{"action":"accept","content":{"n":1.10}}`)
			if err := g.Wait(t); err != nil {
				t.Errorf("the gateway ended with %v", err)
			}
		})
	}
}

// TestDrainDeliversResults: the last response before the end arrives whole,
// however it is sent.
func TestDrainDeliversResults(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	large := `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
	hold := func(c *rig.Call) { started <- struct{}{}; <-release }
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call json":  func(c *rig.Call) { hold(c); c.Result("{}") },
		"tools/call large": func(c *rig.Call) { hold(c); c.Result(large) },
		"tools/call event": func(c *rig.Call) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
			hold(c)
			c.Result("{}")
		},
	})
	for tool, want := range map[string]string{"json": "{}", "large": large, "event": "{}"} {
		for range 4 {
			g := rig.Start(t, backends("one", b.URL))
			c := rig.Dial(t, g.URL, rig.AllCaps)
			done := make(chan string, 1)
			go func() {
				defer close(done)
				r := c.Tool(tool, "{}").Final()
				done <- string(r.Field(r.Result))
			}()
			<-started
			g.Signal(t, syscall.SIGTERM)
			g.WaitLog(t, "msg=stopping")
			release <- struct{}{}
			if got := <-done; got != want {
				t.Errorf("%s: got %.100s", tool, got)
			}
			if err := g.Wait(t); err != nil {
				t.Errorf("the gateway ended with %v", err)
			}
		}
	}
}

// TestDrainEnds: what is still open when the time to drain is over is told
// so: the backend's question and the client's call end with the reason.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	answered := make(chan wire.Message, 1)
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		answered <- c.Ask(c.ID(), "elicitation/create", formParams)
		<-c.Context.Done()
	}})
	g := rig.Start(t, "limits: { drain: 0s }\n"+backends("one", b.URL, "two", b.URL))
	s := rig.Dial(t, g.URL, rig.AllCaps).Tool("one__ask", "{}")
	s.Next()
	g.Signal(t, syscall.SIGTERM)
	wantError(t, "the backend's question", <-answered, "-32000", "shutting_down")
	wantError(t, "the client's call", s.Final(), "-32000", "shutting_down")
	if err := g.Wait(t); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
}
