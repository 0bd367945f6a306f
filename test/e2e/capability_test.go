package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// robot is a caller without pages: its key names no person.
const (
	robot    = "identity: { keys: { robot: { key: " + robotKey + " } } }\n"
	robotKey = "a-key-of-no-person"
)

// TestCapabilitiesToldAreTheClients: a backend is told exactly what the
// connected client declared, in every mode, joined with what the pages deliver
// where a client can be handed the link and its person can open it: forms to
// one that offers links, and both to one that can show nothing; and nothing when questions are switched off (E1, S1, R1, A2, A15).
func TestCapabilitiesToldAreTheClients(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, config, caps, told string }{
		{"nothing", "", `{}`, `{"elicitation":{"form":{},"url":{}}}`},
		{"nothing, without pages", robot, `{}`, `{}`},
		{"elicitation", "", `{"elicitation":{}}`, `{"elicitation":{}}`},
		{"form", "", `{"elicitation":{"form":{}}}`, `{"elicitation":{"form":{}}}`},
		{"url", "", `{"elicitation":{"url":{}}, "roots":{"listChanged":true}}`, `{"elicitation":{"form":{},"url":{}}, "roots":{"listChanged":true}}`},
		{"url, without pages", robot, `{"elicitation":{"url":{}}, "roots":{}}`, `{"elicitation":{"url":{}}, "roots":{}}`},
		{"sampling", "", `{"sampling":{"tools":{}},"experimental":{"x":{"n":1.10}}}`, `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"experimental":{"x":{"n":1.10}}}`},
		{"sampling, without pages", robot, `{"sampling":{"tools":{}}}`, `{"sampling":{"tools":{}}}`},
		{"all", "", rig.AllCaps, rig.AllCaps},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) { c.Result("{}") }})
			doors(t, b, tt.config, func(t *testing.T, d door, _ *rig.Gateway) {
				before := b.Count("initialize")
				c := rig.DialAs(t, d.URL, tt.caps, robotKey)
				c.Tool(d.Prefix+"x", "{}").Final()
				hellos := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "initialize" })
				if len(hellos) != before+1 {
					t.Fatalf("%d handshakes, want one more than %d", len(hellos), before)
				}
				m := hellos[len(hellos)-1].Msg
				equal(t, "the capabilities", member(m, m.Params, "capabilities"), tt.told)
			})
		})
	}
	t.Run("switched off", func(t *testing.T) {
		b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) { c.Result("{}") }})
		doors(t, b, "asks: { enabled: false }\n", func(t *testing.T, d door, _ *rig.Gateway) {
			c := rig.Dial(t, d.URL, `{"elicitation":{"form":{}},"experimental":{"x":{"n":1.10}},"sampling":{},"roots":{}}`)
			c.Tool(d.Prefix+"x", "{}").Final()
			hellos := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "initialize" })
			m := hellos[len(hellos)-1].Msg
			equal(t, "the capabilities", member(m, m.Params, "capabilities"), `{"experimental":{"x":{"n":1.10}}}`)
		})
	})
}

// TestRefusals: what cannot be asked is refused at once with the code that
// the requirements give (A4, A16, E3's code for a backend that asks before
// anybody is there is in TestNobodyThere).
func TestRefusals(t *testing.T) {
	t.Parallel()
	url := `{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"e"}`
	sampling := `{"messages":[],"maxTokens":1}`
	cases := []struct{ name, config, caps, method, params, code, reason string }{
		{"no elicitation", robot, `{}`, "elicitation/create", formParams, "-32601", "client_lacks_capability"},
		{"no sampling", "", `{"elicitation":{}}`, "sampling/createMessage", sampling, "-32601", "client_lacks_capability"},
		{"no roots", "", `{"elicitation":{}}`, "roots/list", `{}`, "-32601", "client_lacks_capability"},
		{"sampling without tools", "", `{"sampling":{}}`, "sampling/createMessage", `{"messages":[],"maxTokens":1,"tools":[]}`, "-32601", "client_lacks_capability"},
		{"url not declared", "", `{"elicitation":{}}`, "elicitation/create", url, "-32602", "mode_not_declared"},
		{"form not declared", robot, `{"elicitation":{"url":{}}}`, "elicitation/create", formParams, "-32602", "mode_not_declared"},
		{"bad schema", "", rig.AllCaps, "elicitation/create", `{"message":"m","requestedSchema":{"type":"array"}}`, "-32602", "bad_schema"},
		{"switched off", "asks: { enabled: false }\n", rig.AllCaps, "elicitation/create", formParams, "-32601", "switched_off"},
		{"unknown method", "", rig.AllCaps, "vendor/ask", `{}`, "-32601", "unknown_method"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
				a := c.Ask(c.ID(), k.method, k.params)
				wantError(t, "the answer", a, k.code, k.reason)
				if said, _ := wire.Unquote([]byte(member(a, a.Error, "message"))); len(said) < 20 {
					t.Errorf("the message says too little: %q", said)
				}
				c.Result("{}")
			}})
			doors(t, b, k.config, func(t *testing.T, d door, _ *rig.Gateway) {
				c := rig.DialAs(t, d.URL, k.caps, robotKey)
				s := c.Tool(d.Prefix+"ask", "{}")
				if m := s.Next(); m.Kind != wire.Result {
					t.Errorf("something reached the client: %s", m.Raw)
				}
			})
		})
	}
}

// TestUndeclaredNeverReachesModernClient: a modern client gets -32021 with
// what it would have to declare, and HTTP 400, in place of a question that it
// did not declare (A16).
func TestUndeclaredNeverReachesModernClient(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) {
		c.Result(`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":` + formParams + `}}}`)
	}})
	doors(t, b, robot, func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.NewClient(t, d.URL)
		c.Token = robotKey
		s := c.Modern("1", "tools/call", `{"name":"`+d.Prefix+`x","arguments":{}}`, `{"sampling":{}}`)
		m := s.Next()
		wantError(t, "the response", m, "-32021", "missing_capability")
		data := wire.Get(m.Raw, m.Error, "data")
		equal(t, "requiredCapabilities", member(m, data, "requiredCapabilities"), `{"elicitation":{"form":{}}}`)
		if s.Status != http.StatusBadRequest {
			t.Errorf("status %d, want 400", s.Status)
		}
		s = c.Modern("2", "tools/call", `{"name":"`+d.Prefix+`x","arguments":{}}`, `{"elicitation":{"form":{}}}`)
		if m := s.Next(); m.Text(m.ResultType) != "input_required" || s.Status != http.StatusOK {
			t.Errorf("a declared question did not pass: %d %s", s.Status, m.Raw)
		}
	})
}

// TestModernCapabilitiesSwitchedOff: with questions switched off a modern
// backend is told that the client can be asked nothing (A15, A16).
func TestModernCapabilitiesSwitchedOff(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) { c.Result(`{"resultType":"complete"}`) }})
	doors(t, b, "asks: { enabled: false }\n", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.NewClient(t, d.URL)
		c.Modern("1", "tools/call", `{"name":"`+d.Prefix+`x","arguments":{}}`, `{"elicitation":{"form":{}},"extensions":{"v/x":{"n":1.10}}}`).Next()
		calls := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "tools/call" })
		m := calls[len(calls)-1].Msg
		equal(t, "the capabilities", string(m.Field(m.MetaCapabilities)), `{"extensions":{"v/x":{"n":1.10}}}`)
	})
}

// TestNobodyThere: a question when no client can be reached gets -32000 and a
// message that says so, under the name ConnectionClosed (E3, S3).
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) { c.Result("{}") }})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		c.Tool(d.Prefix+"x", "{}").Final()
		for _, k := range kinds {
			b.Push(`{"jsonrpc":"2.0","id":"` + d.Prefix + k.name + `","method":"` + k.method + `","params":` + k.params + `}`)
			var answers []rig.Received
			rig.Eventually(t, func() bool {
				answers = b.Received(func(r rig.Received) bool { return string(r.Msg.Field(r.Msg.ID)) == `"`+d.Prefix+k.name+`"` })
				return len(answers) > 0
			}, "the backend was not answered")
			m := answers[0].Msg
			wantError(t, k.name, m, "-32000", "no_client")
			equal(t, k.name+": the name", member(m, wire.Get(m.Raw, m.Error, "data"), "name"), `"ConnectionClosed"`)
			if said := member(m, m.Error, "message"); !strings.HasPrefix(said, `"No client is available`) {
				t.Errorf("%s: the message is %s", k.name, said)
			}
		}
	})
}
