package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// stdioDoors runs a test at both endpoints of a gateway whose backend one is
// a process; more is added to what is configured for it.
func stdioDoors(t *testing.T, config, more string, test func(t *testing.T, d door, g *rig.Gateway)) {
	t.Helper()
	other := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
	g := rig.Start(t, config+"asks: { burst: 10000, max_open_per_session: 200 }\nbackends:\n  one: { command: "+rig.StdioPeer(t)+more+" }\n  two: { url: "+other.URL+" }\n")
	t.Run("solo", func(t *testing.T) { test(t, door{URL: g.URL + "/one"}, g) })
	t.Run("joined", func(t *testing.T) { test(t, door{URL: g.URL, Prefix: "one__"}, g) })
}

// TestStdioQuestionsAreCarried: a process asks every kind of question, and
// gets the answer byte for byte.
func TestStdioQuestionsAreCarried(t *testing.T) {
	t.Parallel()
	stdioDoors(t, "", "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		r := c.Tool(d.Prefix+"echo", treacherousLine).Final()
		equal(t, "a plain call", string(r.Field(r.Result)), `{"echo":`+treacherousLine+`}`)
		for _, k := range kinds {
			s := c.Tool(d.Prefix+"ask", `{"method":"`+k.method+`","params":`+k.params+`}`)
			q := s.Next()
			equal(t, "the method at the client", q.Method(), k.method)
			equal(t, "the params at the client", string(q.Field(q.Params)), k.params)
			c.Answer(q, k.answer)
			r := s.Final()
			equal(t, "the answer at the backend", string(r.Field(r.Result)), k.answer)
		}
	})
}

var treacherousLine = strings.ReplaceAll(treacherous, "\n", " ")

// TestStdioParallelCalls: 64 calls at once on one session, each with a form,
// a sampling and progress. Nothing on the channel says whose a question is:
// it belongs to the session, is answered by what it says, wherever it is
// shown, and every call ends with its own answers (E9).
func TestStdioParallelCalls(t *testing.T) {
	t.Parallel()
	for _, listens := range []bool{true, false} {
		t.Run(fmt.Sprintf("own stream %t", listens), func(t *testing.T) {
			stdioDoors(t, "", "", func(t *testing.T, d door, _ *rig.Gateway) {
				c := rig.Dial(t, d.URL, rig.AllCaps)
				var calls, listening sync.WaitGroup
				if listens {
					own := c.Listen("")
					listening.Go(func() {
						if _, _, asked := answerAll(t, c, own); asked == 0 {
							t.Error("no question came on the session's own stream")
						}
					})
					defer listening.Wait()
					defer own.Drop()
				}
				for i := range 64 {
					calls.Go(func() {
						n := strconv.Itoa(i + 1)
						s := c.Start(`{"jsonrpc":"2.0","id":"c` + n + `","method":"tools/call","params":{"name":"` + d.Prefix + `busy","arguments":{"n":` + n + `},"_meta":{"progressToken":"t` + n + `"}}}`)
						r, progress, _ := answerAll(t, c, s)
						equal(t, "the progress of call "+n, strings.Join(progress, " "), `{"progressToken":"t`+n+`","progress":`+n+`}`)
						equal(t, "the result of call "+n, string(r.Field(r.Result)), `{"n":`+n+`,"form":{"action":"accept","content":{"n":`+n+`}},"sample":{"model":"m`+n+`"}}`)
					})
				}
				calls.Wait()
			})
		})
	}
}

// answerAll answers the questions of the tool busy on a stream by what they
// say, to the end of the stream or the response on it.
func answerAll(t *testing.T, c *rig.Client, s *rig.Stream) (final wire.Message, progress []string, asked int) {
	for {
		m, ok := s.Poll(rig.Patience)
		if m.Kind == wire.Request {
			asked++
		}
		switch {
		case !ok:
			return wire.Message{}, progress, asked
		case m.Method() == "elicitation/create":
			c.Answer(m, `{"action":"accept","content":{"n":`+strings.Trim(member(m, m.Params, "message"), `"`)+`}}`)
		case m.Method() == "sampling/createMessage":
			c.Answer(m, `{"model":"m`+member(m, m.Params, "maxTokens")+`"}`)
		case m.Method() == "notifications/progress":
			progress = append(progress, string(m.Field(m.Params)))
		case m.Kind == wire.Result || m.Kind == wire.Failure:
			return m, progress, asked
		default:
			t.Errorf("an unexpected message came: %s", m.Raw)
		}
	}
}

// held starts a call that is over when the tool release is called.
func held(t *testing.T, c *rig.Client, tool string) *rig.Stream {
	t.Helper()
	s := c.Start(`{"jsonrpc":"2.0","id":"held","method":"tools/call","params":{"name":"` + tool + `","arguments":{},"_meta":{"progressToken":"held"}}}`)
	p := s.Next()
	equal(t, "the sign that the call waits", p.Method(), "notifications/progress")
	return s
}

// TestStdioNoise: what is no message on standard output, and anything on
// standard error, is logged and harms no call; half a line is waited for.
func TestStdioNoise(t *testing.T) {
	t.Parallel()
	stdioDoors(t, "", "", func(t *testing.T, d door, g *rig.Gateway) {
		c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		waiting := held(t, c, d.Prefix+"wait")
		r := c.Tool(d.Prefix+"noise", "{}").Final()
		equal(t, "the call that made noise", string(r.Field(r.Result)), `{"noise":true}`)
		g.WaitLog(t, "unreadable message from backend skipped")
		g.WaitLog(t, `stderr="a word on standard error"`)

		done := make(chan wire.Message, 1)
		go func() {
			defer close(done)
			done <- c.Tool(d.Prefix+"split", "{}").Final()
		}()
		g.WaitLog(t, "half a line is out")
		unharmed(t, other, d.Prefix+"echo")
		r = c.Tool(d.Prefix+"join", "{}").Final()
		equal(t, "the call after half a line", string(r.Field(r.Result)), `{"joined":true}`)
		r = <-done
		equal(t, "the call of half a line", string(r.Field(r.Result)), `{"split":true}`)

		c.Tool(d.Prefix+"release", "{}").Final()
		r = waiting.Final()
		equal(t, "a call beside the noise", string(r.Field(r.Result)), `{"waited":true}`)
	})
}

// TestStdioOverlongLine: a line beyond the limit fails the call it answers and no
// other.
func TestStdioOverlongLine(t *testing.T) {
	t.Parallel()
	stdioDoors(t, "limits: { message_bytes: 1MiB }\n", "", func(t *testing.T, d door, g *rig.Gateway) {
		c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		waiting := held(t, c, d.Prefix+"wait")
		huge := c.Tool(d.Prefix+"huge", `{"bytes":2000000}`).Final()
		wantError(t, "a result of 2 MB", huge, "-32600", "too_large")
		g.WaitLog(t, "over-long message from backend skipped")
		unharmed(t, other, d.Prefix+"echo")
		unharmed(t, c, d.Prefix+"echo")

		c.Tool(d.Prefix+"release", "{}").Final()
		r := waiting.Final()
		equal(t, "a call beside the long line", string(r.Field(r.Result)), `{"waited":true}`)
	})
}

// TestStdioOverlongLineOfNoCall: an over-long line that can be no response
// fails no call, and an over-long question is refused: its id is the
// server's, and none of ours.
func TestStdioOverlongLineOfNoCall(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{"flood": `{"flooded":true}`, "shout": `{"shouted":true}`, "bigask": ""} {
		t.Run(tool, func(t *testing.T) {
			stdioDoors(t, "limits: { message_bytes: 1MiB }\n", "", func(t *testing.T, d door, _ *rig.Gateway) {
				c := rig.Dial(t, d.URL, rig.AllCaps)
				waiting := held(t, c, d.Prefix+"wait")
				r := c.Tool(d.Prefix+tool, `{"bytes":2000000}`).Final()
				if want != "" {
					equal(t, "the call", string(r.Field(r.Result)), want)
				} else {
					equal(t, "the answer to the question", member(r, wire.Get(r.Raw, r.Result, "data"), "reason"), `"too_large"`)
				}
				c.Tool(d.Prefix+"release", "{}").Final()
				r = waiting.Final()
				equal(t, "a call beside it", string(r.Field(r.Result)), `{"waited":true}`)
			})
		})
	}
}

// TestStdioCrash: a process that dies in the middle of a call fails it with
// the words that it may have run; the question in it is withdrawn, other
// sessions have processes of their own, and the next one starts anew.
func TestStdioCrash(t *testing.T) {
	t.Parallel()
	stdioDoors(t, "", "", func(t *testing.T, d door, _ *rig.Gateway) {
		for _, how := range []string{"crash", "half"} {
			c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
			unharmed(t, other, d.Prefix+"echo")
			asking := c.Tool(d.Prefix+"ask", `{"method":"elicitation/create","params":`+formParams+`}`)
			q := asking.Next()
			wantError(t, how, c.Tool(d.Prefix+how, "{}").Final(), "-32000", "outcome_unknown")
			w := asking.Next()
			equal(t, "the withdrawal", w.Method()+string(w.Field(w.RequestID)), "notifications/cancelled"+string(q.Field(q.ID)))
			wantError(t, "the call beside "+how, asking.Final(), "-32000", "outcome_unknown")
			unharmed(t, other, d.Prefix+"echo")
			if d.Prefix == "" {
				if status := c.Start(`{"jsonrpc":"2.0","id":99,"method":"tools/list"}`).Status; status != 404 {
					t.Errorf("the session of a process that is gone: status %d, want 404", status)
				}
				c = rig.Dial(t, d.URL, rig.AllCaps)
			}
			unharmed(t, c, d.Prefix+"echo")
		}
	})
}

// TestStdioProcessPerSession: a session has its own process, and keeps it.
func TestStdioProcessPerSession(t *testing.T) {
	t.Parallel()
	stdioDoors(t, "", "", func(t *testing.T, d door, _ *rig.Gateway) {
		one, two := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		first := pid(t, one, d.Prefix+"pid")
		if again := pid(t, one, d.Prefix+"pid"); again != first {
			t.Errorf("one session has the processes %d and %d", first, again)
		}
		if second := pid(t, two, d.Prefix+"pid"); second == first {
			t.Errorf("two sessions share the process %d", first)
		}
		two.Close()
		one.Close()
		rig.Eventually(t, func() bool { return !alive(first) }, "the process outlived its session")
	})
}

// TestStdioEnvironment: a process gets what is configured for it and nothing
// else that the gateway happens to have.
func TestStdioEnvironment(t *testing.T) {
	t.Setenv("RIG_UNCONFIGURED", "leaked")
	t.Setenv("RIG_EXPANDED", "from outside")
	stdioDoors(t, "", `, env: { RIG_GIVEN: "1.10 <&>", RIG_PASSED: "${RIG_EXPANDED}" }`, func(t *testing.T, d door, g *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		for name, want := range map[string]string{
			"RIG_GIVEN":        `{"set":true,"value":"1.10 <&>"}`,
			"RIG_PASSED":       `{"set":true,"value":"from outside"}`,
			"RIG_UNCONFIGURED": `{"set":false,"value":""}`,
			"RIG_EXPANDED":     `{"set":false,"value":""}`,
			"GORACE":           `{"set":false,"value":""}`,
		} {
			r := c.Tool(d.Prefix+"env", `{"name":"`+name+`"}`).Final()
			equal(t, name, string(r.Field(r.Result)), want)
		}
		if strings.Contains(g.Log(), "from outside") || strings.Contains(g.Log(), "1.10 <&>") {
			t.Error("a value of env is in the log")
		}
	})
}

// TestNoProcessIsLeftBehind: a gateway that is told to stop ends the
// processes that it started, and what those started, also where they do not
// want to.
func TestNoProcessIsLeftBehind(t *testing.T) {
	t.Parallel()
	peer := rig.StdioPeer(t)
	g := rig.Start(t, "backends:\n  good: { command: "+peer+" }\n  hard: { command: "+peer+", args: [-stubborn] }\n")
	c, solo := rig.Dial(t, g.URL, rig.AllCaps), rig.Dial(t, g.URL+"/hard", rig.AllCaps)
	pids := []int{
		pid(t, c, "good__pid"), pid(t, c, "good__fork"), pid(t, c, "hard__pid"), pid(t, c, "hard__fork"),
		pid(t, solo, "pid"), pid(t, solo, "fork"),
	}
	m := rig.NewClient(t, g.URL).Modern("1", "tools/call", `{"name":"good__modern","arguments":{}}`, `{}`).Final()
	equal(t, "a modern call to a process", string(m.Field(m.Result)), `{"resultType":"complete","echo":{}}`)
	for _, p := range pids {
		if !alive(p) {
			t.Fatalf("process %d does not run", p)
		}
	}
	g.Signal(t, syscall.SIGTERM)
	if err := g.Wait(t); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
	for i, p := range pids {
		if alive(p) {
			t.Errorf("process %d of %v is left behind", i, pids)
			syscall.Kill(p, syscall.SIGKILL)
		}
	}
	if n := strings.Count(g.Log(), "backend process started"); n != strings.Count(g.Log(), "backend process ended") || n < 4 {
		t.Errorf("%d processes were started, and not as many ended\n%s", n, g.Log())
	}
}

// pid calls a tool that gives a process id.
func pid(t *testing.T, c *rig.Client, tool string) int {
	t.Helper()
	r := c.Tool(tool, "{}").Final()
	n, err := strconv.Atoi(member(r, r.Result, "pid"))
	if err != nil {
		t.Fatalf("no process id in %s", r.Raw)
	}
	return n
}

// alive reports whether a process runs; one that nobody has waited for yet
// does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
