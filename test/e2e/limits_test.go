package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// twice is a call in which a second question comes while the first is open.
// The second must be refused, the first answered.
func twice(refused chan<- wire.Message) rig.Script {
	return func(c *rig.Call) {
		first := c.Expect(`"first"`)
		c.Send(`{"jsonrpc":"2.0","id":"first","method":"elicitation/create","params":` + formParams + `}`)
		refused <- c.Ask(`"second"`, "sampling/createMessage", `{"messages":[],"maxTokens":1}`)
		a := c.Take(first)
		c.Result(string(a.Field(a.Result)))
	}
}

// TestOpenQuestionsPerSession: one question too many in a session is refused
// with a code, and the one that is open goes on; another session has its own
// count (A7).
func TestOpenQuestionsPerSession(t *testing.T) {
	t.Parallel()
	refused := make(chan wire.Message, 1)
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call twice": twice(refused),
		"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "elicitation/create", formParams)
			c.Result(string(a.Field(a.Result)))
		},
	})
	doors(t, b, "asks: { max_open_per_session: 1 }\n", func(t *testing.T, d door, _ *rig.Gateway) {
		c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"twice", "{}")
		q := s.Next()
		wantError(t, "the second question", <-refused, "-32000", "too_many_open")
		theirs := other.Tool(d.Prefix+"ask", "{}")
		other.Answer(theirs.Next(), `{"action":"accept"}`)
		theirs.Final()
		c.Answer(q, `{"action":"decline"}`)
		r := s.Final()
		equal(t, "the first question", string(r.Field(r.Result)), `{"action":"decline"}`)

		// A question that ended makes room.
		s = c.Tool(d.Prefix+"ask", "{}")
		c.Answer(s.Next(), `{"action":"cancel"}`)
		r = s.Final()
		equal(t, "a question after the first ended", string(r.Field(r.Result)), `{"action":"cancel"}`)
	})
}

// TestOpenQuestionsJoined: the limit of a session holds for all backends
// behind it together.
func TestOpenQuestionsJoined(t *testing.T) {
	t.Parallel()
	script := map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", formParams)
		c.Result(`{"error":` + orNull(a.Field(a.Error)) + `}`)
	}}
	one, two := rig.NewBackend(t, script), rig.NewBackend(t, script)
	g := rig.Start(t, "asks: { max_open_per_session: 1 }\n"+backends("one", one.URL, "two", two.URL))
	c := rig.Dial(t, g.URL, rig.AllCaps)
	s := c.Tool("one__ask", "{}")
	q := s.Next()
	r := c.Tool("two__ask", "{}").Final()
	refusal := wire.Get(r.Raw, r.Result, "error")
	equal(t, "the other backend's question", member(r, wire.Get(r.Raw, refusal, "data"), "reason"), `"too_many_open"`)
	c.Answer(q, `{}`)
	s.Final()
}

func orNull(raw []byte) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

// TestOpenQuestionsPerPrincipal: the limit of a person holds over all their
// sessions, and so does that of the gateway (A7, F17).
func TestOpenQuestionsPerPrincipal(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"max_open_per_principal", "max_open"} {
		t.Run(key, func(t *testing.T) {
			refused := make(chan wire.Message, 1)
			b := rig.NewBackend(t, map[string]rig.Script{
				"tools/call hold": func(c *rig.Call) {
					c.Ask(c.ID(), "elicitation/create", formParams)
					c.Result("{}")
				},
				"tools/call more": func(c *rig.Call) {
					refused <- c.Ask(c.ID(), "elicitation/create", formParams)
					c.Result("{}")
				},
			})
			doors(t, b, "asks: { "+key+": 2, max_open_per_session: 2 }\n", func(t *testing.T, d door, _ *rig.Gateway) {
				var open []func()
				for range 2 {
					c := rig.Dial(t, d.URL, rig.AllCaps)
					s := c.Tool(d.Prefix+"hold", "{}")
					q := s.Next()
					open = append(open, func() { c.Answer(q, `{"action":"accept"}`); s.Final() })
				}
				rig.Dial(t, d.URL, rig.AllCaps).Tool(d.Prefix+"more", "{}").Final()
				wantError(t, "one question too many", <-refused, "-32000", "too_many_open")
				for _, end := range open {
					end()
				}
			})
		})
	}
}

// TestRateOfQuestions: a backend that asks beyond its burst is refused with
// the time after which it may ask again; another backend has its own rate
// (A7, F17).
func TestRateOfQuestions(t *testing.T) {
	answers := make(chan wire.Message, 3)
	script := map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		for range 3 {
			answers <- c.Ask(c.ID(), "elicitation/create", formParams)
		}
		c.Result("{}")
	}}
	one, two := rig.NewBackend(t, script), rig.NewBackend(t, script)
	g := rig.Start(t, "asks: { rate_per_minute: 1, burst: 2 }\n"+backends("one", one.URL, "two", two.URL))
	for _, d := range []door{{URL: g.URL + "/one"}, {URL: g.URL, Prefix: "two__"}} {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		for range 2 {
			c.Answer(s.Next(), `{"action":"accept"}`)
			if a := <-answers; a.Kind != wire.Result {
				t.Errorf("a question within the burst was refused: %s", a.Raw)
			}
		}
		last := <-answers
		wantError(t, "the question beyond the burst", last, "-32000", "rate_limited")
		ms, err := strconv.Atoi(member(last, wire.Get(last.Raw, last.Error, "data"), "retryAfterMs"))
		if err != nil || ms < 1 || ms > 60_000 {
			t.Errorf("it may ask again after %d ms: %v", ms, err)
		}
		s.Final()
	}
}

// TestCallsPerSession: a call beyond the limit of a session is refused, and
// those in flight go on.
func TestCallsPerSession(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo, "tools/call slow": func(c *rig.Call) {
		c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		<-release
		c.Result(`{"done":true}`)
	}})
	doors(t, b, "limits: { calls_per_session: 2 }\n", func(t *testing.T, d door, _ *rig.Gateway) {
		c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		calls := []*rig.Stream{c.Tool(d.Prefix+"slow", "{}"), c.Tool(d.Prefix+"slow", "{}")}
		for _, s := range calls {
			s.Next()
		}
		wantError(t, "one call too many", c.Tool(d.Prefix+"echo", "{}").Final(), "-32000", "too_many_open")
		unharmed(t, other, d.Prefix+"echo")
		for range calls {
			release <- struct{}{}
		}
		for _, s := range calls {
			r := s.Final()
			equal(t, "a call in flight", string(r.Field(r.Result)), `{"done":true}`)
		}
		unharmed(t, c, d.Prefix+"echo")
	})
}

// TestBodyLimit: a body beyond limits.body_bytes gets 413 and reaches no
// backend, in both eras; one within it passes.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
	doors(t, b, "limits: { message_bytes: 100KiB, body_bytes: 100KiB }\n", func(t *testing.T, d door, _ *rig.Gateway) {
		c, m := rig.Dial(t, d.URL, rig.AllCaps), rig.NewClient(t, d.URL)
		before := b.Count("tools/call")
		large := `{"x":"` + strings.Repeat("x", 200<<10) + `"}`
		for name, s := range map[string]*rig.Stream{
			"legacy": c.Tool(d.Prefix+"echo", large),
			"modern": m.Modern("1", "tools/call", `{"name":"`+d.Prefix+`echo","arguments":`+large+`}`, "{}"),
		} {
			r := s.Final()
			_, reason := errorOf(r)
			equal(t, name, fmt.Sprint(s.Status)+reason, fmt.Sprint(http.StatusRequestEntityTooLarge)+`"too_large"`)
		}
		if b.Count("tools/call") != before {
			t.Error("a body that is too large reached the backend")
		}
		small := `{"x":"` + strings.Repeat("x", 90<<10) + `"}`
		r := c.Tool(d.Prefix+"echo", small).Final()
		equal(t, "a body within the limit", string(r.Field(r.Result)), `{"echo":`+small+`}`)
	})
}

// TestBadConfigurationStopsTheStart: a value that cannot be used stops the
// program with status 1 and a message that names file, line and key (A3).
func TestBadConfigurationStopsTheStart(t *testing.T) {
	t.Parallel()
	for text, key := range map[string]string{
		"asks: { timeout: soon }\n":                "asks.timeout",
		"asks:\n  max_open_per_session: 0\n":       "asks.max_open_per_session",
		"asks: { enabled: perhaps }\n":             "asks.enabled",
		"limits:\n\n  body_bytes: 1KiB\n":          "limits.body_bytes",
		"asks: { max_opne: 1 }\n":                  "asks.max_opne",
		"names: pretty\n":                          "names",
		"backends: { x: { url: ftp://host } }\n":   "backends.x.url",
		"backends: { x: {} }\nlisten: \"nowhere\"": "listen",
	} {
		file := filepath.Join(t.TempDir(), "answerback.yaml")
		if !strings.Contains(text, "backends") {
			text = "backends: { one: { url: http://127.0.0.1:9/mcp } }\n" + text
		}
		rig.Write(t, file, text)
		line := strings.Count(text[:strings.Index(text, key[strings.LastIndex(key, ".")+1:])], "\n") + 1
		for _, command := range []string{"serve", "stdio", "check"} {
			status, said := rig.Run(t, command, "--config", file)
			if status != 1 || !strings.Contains(said, fmt.Sprintf("%s:%d: %s: ", file, line, key)) {
				t.Errorf("%s with %q: status %d\n%s", command, text, status, said)
			}
		}
	}
}
