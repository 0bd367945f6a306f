package era_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
)

const (
	version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	client  = `"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}`
	caps    = `"io.modelcontextprotocol/clientCapabilities":{}`
	meta    = `"_meta":{` + version + `,` + client + `,` + caps + `}`
)

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// What the conformance scenarios server-stateless and http-header-validation
// send, and the number and status that they expect; 0 stands for no error.
func TestCheckRequestAsTheConformanceSuiteExpects(t *testing.T) {
	std := []string{"MCP-Protocol-Version", "2026-07-28"}
	with := func(pairs ...string) http.Header { return headers(append(std, pairs...)...) }
	discover, list, call := "server/discover", request("tools/list", "{"+meta+"}"), request("tools/call", `{"name":"add","arguments":{},`+meta+`}`)
	unknown := strings.ReplaceAll(version, "2026-07-28", "v999.0.0")
	for _, tc := range []struct {
		name, body   string
		h            http.Header
		code, status int
	}{
		{"missing-meta", request(discover, `{}`), with("Mcp-Method", discover), -32602, 400},
		{"missing-protocol-version", request(discover, `{"_meta":{`+client+`,`+caps+`}}`), with("Mcp-Method", discover), -32602, 400},
		{"missing-client-capabilities", request(discover, `{"_meta":{`+version+`,`+client+`}}`), with("Mcp-Method", discover), -32602, 400},
		{"client info is optional", request(discover, `{"_meta":{`+version+`,`+caps+`}}`), with("Mcp-Method", discover), 0, 0},
		{"unsupported version", request(discover, `{"_meta":{`+unknown+`,`+client+`,`+caps+`}}`), headers("MCP-Protocol-Version", "v999.0.0", "Mcp-Method", discover), -32022, 400},
		{"header mismatch", request(discover, `{"_meta":{`+unknown+`,`+client+`,`+caps+`}}`), with("Mcp-Method", discover), -32020, 400},
		{"ServerRejectsMismatchedMethodHeader", list, with("Mcp-Method", "prompts/list"), -32020, 400},
		{"ServerRejectsMissingMethodHeader", list, with(), -32020, 400},
		{"ServerRejectsMismatchedNameHeader", call, with("Mcp-Method", "tools/call", "Mcp-Name", "wrong_tool_name"), -32020, 400},
		{"ServerAcceptsWhitespaceHeaderValue", call, with("Mcp-Method", "tools/call", "Mcp-Name", "  add  "), 0, 0},
		{"ServerRejectsMissingNameHeader", call, with("Mcp-Method", "tools/call"), -32020, 400},
		{"ServerAcceptsLowercaseHeaderName", list, with("mcp-method", "tools/list"), 0, 0},
		{"ServerAcceptsUppercaseHeaderName", list, with("MCP-METHOD", "tools/list"), 0, 0},
		{"ServerRejectsCaseMismatchValue", list, with("Mcp-Method", "TOOLS/LIST"), -32020, 400},
		{"removed method", request("initialize", "{"+meta+"}"), with("Mcp-Method", "initialize"), 0, 0},
	} {
		err := era.CheckRequest(scan(t, tc.body), tc.h)
		if err == nil {
			if tc.code != 0 {
				t.Errorf("%s: accepted", tc.name)
			}
			continue
		}
		if code, status := era.Number(err, era.Modern), era.StatusOf(err); code != tc.code || status != tc.status {
			t.Errorf("%s: %d with status %d, want %d with %d: %v", tc.name, code, status, tc.code, tc.status, err)
		}
	}
}

func TestCheckRequest(t *testing.T) {
	read := request("resources/read", `{"uri":"file:///é",`+meta+`}`)
	call := request("tools/call", `{"name":"add",`+meta+`}`)
	list := request("tools/list", `{`+meta+`}`)
	note := func(params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/x","params":` + params + `}`
	}
	v, legacy := []string{"MCP-Protocol-Version", "2026-07-28"}, strings.ReplaceAll(meta, "2026-07-28", "2025-11-25")
	with := func(pairs ...string) http.Header { return headers(append(v, pairs...)...) }
	for _, tc := range []struct {
		name, body string
		h          http.Header
		want       ask.Code
	}{
		{"no version header", list, headers("Mcp-Method", "tools/list"), ask.BadHeader},
		{"no header, no _meta", request("tools/list", "{}"), headers("Mcp-Method", "tools/list"), ask.BadHeader},
		{"version header twice", list, with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"), ask.BadHeader},
		{"method header twice", list, with("Mcp-Method", "tools/list", "Mcp-Method", "tools/list"), ask.BadHeader},
		{"name header twice", call, with("Mcp-Method", "tools/call", "Mcp-Name", "add", "Mcp-Name", "sub"), ask.BadHeader},
		{"a legacy version in _meta", request("tools/list", "{"+legacy+"}"), headers("MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/list"), ask.BadVersion},
		{"version before method", request("tools/list", "{"+legacy+"}"), headers("MCP-Protocol-Version", "2025-11-25"), ask.BadVersion},
		{"encoded name", read, with("Mcp-Method", "resources/read", "Mcp-Name", "=?base64?ZmlsZTovLy/DqQ==?="), ""},
		{"name not encoded", read, with("Mcp-Method", "resources/read", "Mcp-Name", "file:///é"), ask.BadHeader},
		{"name in bad base64", read, with("Mcp-Method", "resources/read", "Mcp-Name", "=?base64?ZmlsZTovLy/DqQ?="), ask.BadHeader},
		{"name for a body without", request("tools/call", "{"+meta+"}"), with("Mcp-Method", "tools/call", "Mcp-Name", "add"), ask.BadHeader},
		{"no name anywhere", request("tools/call", "{"+meta+"}"), with("Mcp-Method", "tools/call"), ""},
		{"a name that nothing mirrors", list, with("Mcp-Method", "tools/list", "Mcp-Name", "x"), ""},
		{"task id", request("tasks/get", `{"taskId":"t",`+meta+`}`), with("Mcp-Method", "tasks/get", "Mcp-Name", "t"), ""},
		{"another task id", request("tasks/get", `{"taskId":"t",`+meta+`}`), with("Mcp-Method", "tasks/get", "Mcp-Name", "u"), ask.BadHeader},
		{"notification without anything", note("{}"), nil, ""},
		{"notification with its headers", note("{" + meta + "}"), with("Mcp-Method", "notifications/x"), ""},
		{"notification of another version", note("{" + legacy + "}"), v2h("2025-11-25"), ask.BadVersion},
		{"notification, version mismatch", note("{" + meta + "}"), v2h("2025-11-25"), ask.BadHeader},
		{"notification, method mismatch", note("{}"), with("Mcp-Method", "notifications/y"), ask.BadHeader},
	} {
		err := era.CheckRequest(scan(t, tc.body), tc.h)
		if err == nil {
			if tc.want != "" {
				t.Errorf("%s: accepted", tc.name)
			}
		} else if err.Code != tc.want {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func v2h(version string) http.Header { return headers("MCP-Protocol-Version", version) }

func TestBadVersionNamesWhatIsSupportedAndWhatWasAsked(t *testing.T) {
	body := request("tools/list", "{"+strings.ReplaceAll(meta, "2026-07-28", "1900-01-01")+"}")
	err := era.CheckRequest(scan(t, body), headers("MCP-Protocol-Version", "1900-01-01", "Mcp-Method", "tools/list"))
	want := map[string]any{"supported": era.Supported(), "requested": "1900-01-01"}
	if err == nil || !reflect.DeepEqual(err.Data, want) {
		t.Errorf("%+v", err)
	}
}
