package era_test

import (
	"testing"

	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// A request loses what only the modern era has, and nothing else.
func TestLegacise(t *testing.T) {
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":"00-1","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{},"vendor/x":1.10,"io.modelcontextprotocol/logLevel":"info","progressToken":1},"name":"t","inputResponses":{},"requestState":"s"}}`: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"traceparent":"00-1","vendor/x":1.10,"progressToken":1},"name":"t"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	} {
		m := scan(t, in)
		if got := string(wire.Splice(nil, m.Raw, era.Legacise(m)...)); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// A request made modern says what the client said at its handshake, whatever
// it carries in the same place itself.
func TestModernise(t *testing.T) {
	c := era.Client{Info: []byte(`{"name":"c"}`), Caps: []byte(`{"roots":{}}`), Level: "info"}
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"vendor/x":1.10},"name":"t"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"debug"},"name":"t"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	} {
		m := scan(t, in)
		got := scan(t, string(wire.Splice(nil, m.Raw, era.Modernise(m, c)...)))
		if got.Text(got.MetaVersion) != era.Latest || string(got.Field(got.MetaClientInfo)) != `{"name":"c"}` ||
			string(got.Field(got.MetaCapabilities)) != `{"roots":{}}` || got.Text(got.MetaLogLevel) != "info" {
			t.Errorf("%s became %s", in, got.Raw)
		}
		if string(got.Field(got.Name)) != string(m.Field(m.Name)) {
			t.Errorf("%s became %s", in, got.Raw)
		}
	}
	m := scan(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	got := scan(t, string(wire.Splice(nil, m.Raw, era.Modernise(m, era.Client{})...)))
	if string(got.Field(got.MetaCapabilities)) != "{}" || !got.MetaLogLevel.IsZero() || !got.MetaClientInfo.IsZero() {
		t.Errorf("a client that said nothing is described by %s", got.Raw)
	}
}

// The answer to initialize is what server/discover says, without extensions,
// which the legacy era does not have.
func TestWelcome(t *testing.T) {
	for in, want := range map[string]string{
		`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"x":{}}},"instructions":"be kind","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}`: `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"be kind"}`,
		`{}`: `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"backend","version":"unknown"}}`,
	} {
		m := scan(t, `{"jsonrpc":"2.0","id":1,"result":`+in+`}`)
		if got := string(era.Welcome(m, "2025-06-18", "backend")); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// Only what may be cached says how long.
func TestCompleted(t *testing.T) {
	for method, want := range map[string]string{
		"tools/call":     `{"resultType":"complete","x":1.10}`,
		"prompts/get":    `{"resultType":"complete","x":1.10}`,
		"tools/list":     `{"resultType":"complete","ttlMs":0,"cacheScope":"private","x":1.10}`,
		"resources/read": `{"resultType":"complete","ttlMs":0,"cacheScope":"private","x":1.10}`,
	} {
		m := scan(t, `{"jsonrpc":"2.0","id":1,"result":{"x":1.10}}`)
		got := scan(t, string(wire.Splice(nil, m.Raw, era.Completed(m, method)...)))
		if string(got.Field(got.Result)) != want {
			t.Errorf("%s: got %s, want %s", method, got.Field(got.Result), want)
		}
	}
	if m := scan(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no"}}`); era.Completed(m, "tools/list") != nil {
		t.Error("an error was made a result")
	}
}

func TestCodesAndMethodsThatAreGone(t *testing.T) {
	if era.ModernCode("-32002") != "-32602" || era.ModernCode("-32601") != "-32601" {
		t.Error("-32002 alone has another number in the modern era")
	}
	for method, gone := range map[string]bool{"ping": true, "initialize": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true, "tools/call": false, "server/discover": false} {
		if era.Removed(method) != gone {
			t.Errorf("%s: gone is %v", method, !gone)
		}
	}
}
