package era_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/internal/era"
)

// The examples of the specification, "Value Encoding".
func TestEncodeHeaderAsTheSpecificationShows(t *testing.T) {
	for plain, want := range map[string]string{
		"us-west1":           "us-west1",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"":                   "",
		"a\tb":               "=?base64?YQli?=",
		"=?base64?=":         "=?base64?PT9iYXNlNjQ/PQ==?=",
		"two words":          "two words",
	} {
		if got := era.EncodeHeader(plain); got != want {
			t.Errorf("EncodeHeader(%q) = %q, want %q", plain, got, want)
		}
		if got, ok := era.DecodeHeader(want); got != plain || !ok {
			t.Errorf("DecodeHeader(%q) = %q, %v", want, got, ok)
		}
	}
}

func TestDecodeHeader(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		ok       bool
	}{
		{"  tool \t", "tool", true},
		{"a\tb", "a\tb", true},
		{"=?base64?SGVsbG8=?=", "Hello", true},
		{"=?base64??=", "", true},
		{"SGVsbG8=", "SGVsbG8=", true},                   // no prefix: literal
		{"=?base64?SGVsbG8=", "=?base64?SGVsbG8=", true}, // no suffix: literal
		{"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?=", true},
		{"=?base64?SGVsbG8?=", "", false}, // no padding
		{"=?base64?SGVs!!!bG8=?=", "", false},
		{"=?base64?SGVsbG9=?=", "", false}, // bits behind the value
		{"=?base64?SGVs\nbG8=?=", "", false},
		{"=?base64?_-8=?=", "", false}, // the other alphabet
		{"=?base64?/w==?=", "", false}, // not UTF-8
		{"=?base64?=", "", false},      // the markers share a character
		{"caf\u00e9", "", false},
		{"a\x00b", "", false},
		{"a\x7fb", "", false},
	} {
		if got, ok := era.DecodeHeader(tc.in); got != tc.want || ok != tc.ok {
			t.Errorf("DecodeHeader(%q) = %q, %v, want %q, %v", tc.in, got, ok, tc.want, tc.ok)
		}
	}
}

func TestHeaderValuesRoundTrip(t *testing.T) {
	value := rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.RuneFrom([]rune("=?base64 \t\nAa+/é\x7f"))),
		rapid.Map(rapid.String(), func(s string) string { return "=?base64?" + s + "?=" }),
	)
	rapid.Check(t, func(t *rapid.T) {
		v := strings.ToValidUTF8(value.Draw(t, "value"), "?")
		enc := era.EncodeHeader(v)
		for i := range len(enc) {
			if enc[i] < ' ' || enc[i] > '~' {
				t.Fatalf("%q is encoded with byte %#x", v, enc[i])
			}
		}
		for _, pad := range []string{"", " ", "\t "} {
			if got, ok := era.DecodeHeader(pad + enc + pad); got != v || !ok {
				t.Fatalf("%q became %q and then %q, %v", v, enc, got, ok)
			}
		}
	})
}

// No two headers in the encoded form stand for one value.
func TestDecodeHeaderTakesOneSpellingOfEachValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := "=?base64?" + rapid.StringMatching(`[A-Za-z0-9+/=]{0,12}`).Draw(t, "inner") + "?="
		plain, ok := era.DecodeHeader(v)
		if !ok {
			return
		}
		if again, ok := era.DecodeHeader(era.EncodeHeader(plain)); again != plain || !ok {
			t.Fatalf("%q decodes to %q, which does not come back", v, plain)
		}
		if enc := era.EncodeHeader(plain); enc != plain && enc != v {
			t.Fatalf("%q and %q are both %q", v, enc, plain)
		}
	})
}

func TestNameOf(t *testing.T) {
	for _, tc := range []struct {
		method, params, want string
		ok                   bool
	}{
		{"tools/call", `{"name":"get\u005fweather"}`, "get_weather", true},
		{"prompts/get", `{"name":"p","uri":"x"}`, "p", true},
		{"resources/read", `{"uri":"file:///a","name":"x"}`, "file:///a", true},
		{"tasks/get", `{"taskId":"t1"}`, "t1", true},
		{"tasks/cancel", `{"taskId":"t2"}`, "t2", true},
		{"tasks/list", `{}`, "", false},
		{"tasks/get", `{"taskId":7}`, "", false},
		{"tools/list", `{"name":"x"}`, "", false},
		{"resources/subscribe", `{"uri":"x"}`, "", false},
		{"tools/call", `{}`, "", false},
	} {
		m := scan(t, `{"jsonrpc":"2.0","id":1,"method":"`+tc.method+`","params":`+tc.params+`}`)
		if got, ok := era.NameOf(m); got != tc.want || ok != tc.ok {
			t.Errorf("%s %s: %q, %v", tc.method, tc.params, got, ok)
		}
	}
}

func TestSetHeaders(t *testing.T) {
	m := scan(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__x"}}`)
	h := headers("Mcp-Name", "stale", "Mcp-Method", "stale")
	era.SetHeaders(h, m, era.Latest, "wetter ü")
	want := headers("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "=?base64?d2V0dGVyIMO8?=")
	if !maps.EqualFunc(h, want, slices.Equal[[]string]) {
		t.Errorf("%v", h)
	}
	era.SetHeaders(h, m, era.Latest, "")
	if _, there := h["Mcp-Name"]; there {
		t.Error("a name that is not there was left in the header")
	}
}

func TestParamHeaders(t *testing.T) {
	if got := era.ParamHeaders(headers("Mcp-Name", "x", "Mcp-Param-", "y", "X-Mcp-Param-A", "z")); got != nil {
		t.Errorf("headers out of nothing: %v", got)
	}
	in := headers("Mcp-Param-Region", "us", "mcp-param-region", "eu", "Mcp-Param-Q", "1", "Authorization", "secret")
	got := era.ParamHeaders(in)
	want := http.Header{"Mcp-Param-Region": {"us", "eu"}, "Mcp-Param-Q": {"1"}}
	if !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%v", got)
	}
	got["Mcp-Param-Region"][0] = "spoilt"
	if in.Get("Mcp-Param-Region") != "us" {
		t.Error("the values are the request's own")
	}
}
