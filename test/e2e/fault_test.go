package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// echo is what the calls that must not notice do.
func echo(c *rig.Call) { c.Result(`{"echo":` + string(c.Msg.Field(c.Msg.Arguments)) + `}`) }

// unharmed checks that another client and another backend do not notice.
func unharmed(t *testing.T, c *rig.Client, tool string) {
	t.Helper()
	r := c.Tool(tool, `{"n":1}`).Final()
	equal(t, "a call beside the fault", string(r.Field(r.Result)), `{"echo":{"n":1}}`)
}

// TestClientKilledInMidAsk: a legacy client that vanishes has not cancelled:
// it comes back with the last event id, finds its question, answers, and gets
// the result of the same call.
func TestClientKilledInMidAsk(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "elicitation/create", formParams)
			c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
		},
		"tools/call echo": echo,
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		s.Drop()
		unharmed(t, other, d.Prefix+"echo")
		back := c.Listen(s.FirstID)
		again := back.Next()
		equal(t, "the question again", string(again.Raw), string(q.Raw))
		c.Answer(q, `{"action":"decline"}`)
		r := back.Final()
		equal(t, "the result on the resumed stream", string(r.Field(r.Result)), `{"got":{"action":"decline"}}`)
	})
}

// TestBackendKilledInMidAsk: the question is withdrawn at the client, the
// call fails and says that it is unknown whether it ran.
func TestBackendKilledInMidAsk(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"solo", "joined"} {
		t.Run(where, func(t *testing.T) {
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) { c.Ask(c.ID(), "elicitation/create", formParams) }})
			good := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
			g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n  two: { url: "+good.URL+" }\n")
			url, prefix := g.URL+"/one", ""
			if where == "joined" {
				url, prefix = g.URL, "one__"
			}
			c, other := rig.Dial(t, url, rig.AllCaps), rig.Dial(t, g.URL, rig.AllCaps)
			s := c.Tool(prefix+"ask", "{}")
			q := s.Next()
			b.Kill()
			w := s.Next()
			equal(t, "the withdrawal", string(w.Field(w.RequestID)), string(q.Field(q.ID)))
			wantError(t, "the call", s.Final(), "-32000", "outcome_unknown")
			unharmed(t, other, "two__echo")
		})
	}
}

// TestHostileBodies: a body without end, of 10 GB, of garbage or of the wrong
// kind fails its own call within the limits, and no other.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	block := []byte(strings.Repeat("x", 1<<20))
	flood := func(w io.Writer, head string, gigabytes int) {
		io.WriteString(w, head)
		for range gigabytes << 10 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call echo": echo,
		"tools/call json10g": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "application/json")
			flood(c.Raw(), `{"jsonrpc":"2.0","id":1,"result":{"x":"`, 10)
		},
		"tools/call event10g": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "text/event-stream")
			flood(c.Raw(), `data: {"jsonrpc":"2.0","id":1,"result":{"x":"`, 10)
		},
		"tools/call never": func(c *rig.Call) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
			<-c.Context.Done()
		},
		"tools/call garbage": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "application/json")
			io.WriteString(c.Raw(), "this is not JSON")
		},
		"tools/call html": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "text/html")
			io.WriteString(c.Raw(), "<html>")
		},
		"tools/call down": func(c *rig.Call) { http.Error(c.Raw(), "down for maintenance", http.StatusServiceUnavailable) },
		"tools/call twice": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "application/json")
			fmt.Fprintf(c.Raw(), `{"jsonrpc":"2.0","id":%s,"id":99,"result":{}}`, c.Msg.Field(c.Msg.ID))
		},
		"tools/call wrongid": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "application/json")
			io.WriteString(c.Raw(), `{"jsonrpc":"2.0","id":"somebody else's","result":{}}`)
		},
	})
	doors(t, b, "limits: { call_timeout: 3s, message_bytes: 8MiB }\n", func(t *testing.T, d door, g *rig.Gateway) {
		c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		before := memory(t, g)
		for tool, reason := range map[string]string{
			"json10g": "too_large", "event10g": "too_large", "never": "backend_timeout",
			"garbage": "backend_broken", "html": "backend_broken", "down": "backend_unreachable", "twice": "backend_broken", "wrongid": "",
		} {
			s := c.Tool(d.Prefix+tool, "{}")
			unharmed(t, other, d.Prefix+"echo")
			r := s.Final()
			_, got := errorOf(r)
			if r.Kind != wire.Failure || reason != "" && got != `"`+reason+`"` {
				t.Errorf("%s: got %.300s, want an error with reason %s", tool, r.Raw, reason)
			}
		}
		if after := memory(t, g); after > before+200<<20 {
			t.Errorf("memory grew from %d to %d MiB", before>>20, after>>20)
		}
	})
}

// TestAmbiguousIsRefused: what two parsers could read differently never
// reaches a backend.
func TestAmbiguousIsRefused(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call": echo})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		for _, raw := range []string{
			`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"` + d.Prefix + `echo"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"tools/list","params":{"name":"` + d.Prefix + `echo"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + d.Prefix + `echo","n\u0061me":"x"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + d.Prefix + `echo","NAME":"x"}}`,
		} {
			before := b.Count("tools/call")
			_, reason := errorOf(c.Start(raw).Next())
			equal(t, raw, reason, `"ambiguous_message"`)
			if b.Count("tools/call") != before {
				t.Errorf("%s reached the backend", raw)
			}
		}
		unharmed(t, c, d.Prefix+"echo")
	})
}
