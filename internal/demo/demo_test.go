package demo

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestServer speaks to the server as a client of its era does.
func TestServer(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	call := func(more string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"order_lunch",` + more + meta + `}}`
	}
	for _, c := range []struct{ name, send, want string }{
		{"discover", `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{` + meta + `}}`, `"supportedVersions":["2026-07-28"]`},
		{"list", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}`, `"name":"order_lunch"`},
		{"ask", call(""), `"resultType":"input_required"`},
		{"accept", call(`"inputResponses":{"lunch":{"action":"accept","content":{"dish":"Ramen","portions":2}}},`), `2 × Ramen."`},
		{"decline", call(`"inputResponses":{"lunch":{"action":"decline"}},`), `the person said no`},
		{"cancel", call(`"inputResponses":{"lunch":{"action":"cancel"}},`), `put the question away`},
		{"an answer that is none", call(`"inputResponses":{"lunch":{"action":"accept","content":[]}},`), `"isError":true`},
		{"another tool", strings.Replace(call(""), "order_lunch", "order_dinner", 1), `"code":-32602`},
		{"another method", `{"jsonrpc":"2.0","id":7,"method":"prompts/list","params":{` + meta + `}}`, `"code":-32601`},
		{"another version", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, `"code":-32022`},
		{"garbage", `{`, `"code":-32700`},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if err := Serve(strings.NewReader(c.send+"\n\n"), &out); err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if out.Len() > 0 {
					t.Errorf("it gets the answer %s", &out)
				}
				return
			}
			if !json.Valid([]byte(out.String())) || !strings.Contains(out.String(), c.want) {
				t.Errorf("%s gets %s, want %s in it", c.send, &out, c.want)
			}
		})
	}
}

// TestLongLine ends at a line that nobody would send.
func TestLongLine(t *testing.T) {
	if err := Serve(strings.NewReader(strings.Repeat("x", maxLine+1)), &strings.Builder{}); err == nil {
		t.Error("it is read")
	}
}
