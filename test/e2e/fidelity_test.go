package e2e

import (
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// treacherous holds what typed decoding loses or changes.
const treacherous = `{ "big" :12345678901234567890,"exact":1.10,  "exp":1E+2,"html":"<&>","esc":"\u00e9\/","nul":null,"neg":-0,
	"unknown":{"type":"hologram","deep":[[[{}]]]},"dup":{"a":1,"a":2} }`

// TestFidelityLegacy: arguments, results and errors pass byte for byte, both
// as one JSON body and as an event, with name prefixing and without (E5, S5).
func TestFidelityLegacy(t *testing.T) {
	t.Parallel()
	oneLine := strings.ReplaceAll(treacherous, "\n", " ")
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call json": func(c *rig.Call) { c.Result(treacherous) },
		"tools/call event": func(c *rig.Call) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":` + oneLine + `}`)
			c.Result(oneLine)
		},
		"tools/call error": func(c *rig.Call) { c.Error(`{"code":-32042,"message":"<&>","data":` + treacherous + `}`) },
		"tools/call large": func(c *rig.Call) {
			c.Result(`{"content":[{"type":"text","text":"` + strings.Repeat("x<&>é", 1<<20) + `"}]}`)
		},
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		last := func() rig.Received {
			calls := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "tools/call" })
			return calls[len(calls)-1]
		}

		request := `{"jsonrpc":"2.0" , "id":12345678901234567890,"method":"tools/call","params":{"_meta":{"vendor/x":1.10},"name":"` + d.Prefix + `json","arguments":` + treacherous + `,"more":1.10},"beyond":[1.10]}`
		s := c.Start(request)
		r := s.Next()
		equal(t, "the result", string(r.Field(r.Result)), treacherous)
		equal(t, "the id", string(r.Field(r.ID)), "12345678901234567890")
		up := last()
		want := strings.Replace(request, "12345678901234567890", string(up.Msg.Field(up.Msg.ID)), 1)
		equal(t, "the request at the backend", up.Raw, strings.Replace(want, d.Prefix+"json", "json", 1))

		s = c.Tool(d.Prefix+"event", "{}")
		n := s.Next()
		equal(t, "the notification", string(n.Field(n.Params)), oneLine)
		r = s.Next()
		equal(t, "the result in an event", string(r.Field(r.Result)), oneLine)

		r = c.Tool(d.Prefix+"error", "{}").Next()
		equal(t, "the error", string(r.Field(r.Error)), `{"code":-32042,"message":"<&>","data":`+treacherous+`}`)

		r = c.Tool(d.Prefix+"large", "{}").Next()
		if got, want := len(r.Field(r.Result)), len(`{"content":[{"type":"text","text":""}]}`)+6<<20; got != want {
			t.Errorf("the large result has %d bytes, want %d", got, want)
		}
	})
}

// TestFidelityModern: the same for the modern era.
func TestFidelityModern(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call json":  func(c *rig.Call) { c.Result(`{"resultType":"complete","x":` + treacherous + `}`) },
		"tools/call error": func(c *rig.Call) { c.Error(`{"code":-32603,"message":"<&>","data":` + treacherous + `}`) },
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.NewClient(t, d.URL)
		r := c.Modern(`"id\u00e9"`, "tools/call", `{"name":"`+d.Prefix+`json","arguments":`+treacherous+`}`, `{}`).Next()
		equal(t, "the result", string(r.Field(r.Result)), `{"resultType":"complete","x":`+treacherous+`}`)
		equal(t, "the id", string(r.Field(r.ID)), `"id\u00e9"`)
		calls := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "tools/call" })
		up := calls[len(calls)-1].Msg
		equal(t, "the arguments at the backend", string(up.Field(up.Arguments)), treacherous)
		equal(t, "the name at the backend", string(up.Field(up.Name)), `"json"`)
		equal(t, "the name header", calls[len(calls)-1].Header.Get("Mcp-Name"), "json")
		r = c.Modern("2", "tools/call", `{"name":"`+d.Prefix+`error","arguments":{}}`, `{}`).Next()
		equal(t, "the error", string(r.Field(r.Error)), `{"code":-32603,"message":"<&>","data":`+treacherous+`}`)
	})
}

// TestExceptionsOfFidelity: what the gateway does change is a closed list,
// each by its own check (E5).
func TestExceptionsOfFidelity(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call progress": func(c *rig.Call) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(c.Msg.Field(c.Msg.MetaToken)) + `,"progress":1.10}}`)
			c.Result("{}")
		},
		"tools/list": func(c *rig.Call) {
			c.Result(`{"tools":[{"x":1.10, "name":"a<&>","inputSchema":{"n":1.10}}],"extra":1.10}`)
		},
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Start(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"` + d.Prefix + `progress","arguments":{},"_meta":{"progressToken":"tok\u00e9"}}}`)
		n := s.Next()
		equal(t, "progress tokens come back as they were", string(n.Field(n.Params)), `{"progressToken":"tok\u00e9","progress":1.10}`)
		r := s.Final()
		equal(t, "ids come back as they were", string(r.Field(r.ID)), `"p"`)

		list := c.Request("tools/list", "{}")
		tools := wire.Get(list.Raw, list.Result, "tools")
		for item := range wire.Elements(list.Raw, tools) {
			equal(t, "only the name of an item changes", string(item.Of(list.Raw)), `{"x":1.10, "name":"`+d.Prefix+`a<&>","inputSchema":{"n":1.10}}`)
		}
	})
}
