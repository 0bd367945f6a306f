package wire

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
)

func mustScan(t *testing.T, raw string) Message {
	t.Helper()
	m, err := Scan([]byte(raw), Limits{})
	if err != nil {
		t.Fatalf("Scan(%s): %v", raw, err)
	}
	return m
}

// No text is longer than a span can say, whatever its limit.
func TestLimitsFitSpans(t *testing.T) {
	for _, given := range []int{maxBytes + 1, math.MaxInt} {
		if got := (Limits{Bytes: given}).orDefault().Bytes; got != math.MaxInt32 {
			t.Errorf("a limit of %d bytes became %d", given, got)
		}
	}
}

func TestScanFindsEveryRoutingField(t *testing.T) {
	m := mustScan(t, ` { "jsonrpc" : "2.0", "id" : "a-1", "method": "tools/call",
		"params": {"name":"n", "uri":"u", "arguments":{"name":"inner"}, "requestId":12345678901234567890, "progressToken":"pt",
		"requestState":"rs", "inputResponses":{"a":1}, "mode":"url", "cursor":"c", "level":"info", "ref":{"type":"ref/prompt","name":"x"},
		"other":[{"id":1,"id":2}],
		"_meta":{"progressToken":1.10,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},
		"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/subscriptionId":9,"x/y":0}},
		"extra":{"id":3,"ID":4}} `+"\r\n")
	for _, f := range []struct {
		name string
		span Span
		want string
	}{
		{"ID", m.ID, `"a-1"`},
		{"MethodTok", m.MethodTok, `"tools/call"`},
		{"Name", m.Name, `"n"`},
		{"URI", m.URI, `"u"`},
		{"Arguments", m.Arguments, `{"name":"inner"}`},
		{"RequestID", m.RequestID, `12345678901234567890`},
		{"Token", m.Token, `"pt"`},
		{"RequestState", m.RequestState, `"rs"`},
		{"InputResponses", m.InputResponses, `{"a":1}`},
		{"Mode", m.Mode, `"url"`},
		{"Cursor", m.Cursor, `"c"`},
		{"Level", m.Level, `"info"`},
		{"Ref", m.Ref, `{"type":"ref/prompt","name":"x"}`},
		{"MetaToken", m.MetaToken, `1.10`},
		{"MetaVersion", m.MetaVersion, `"2026-07-28"`},
		{"MetaClientInfo", m.MetaClientInfo, `{"name":"c"}`},
		{"MetaCapabilities", m.MetaCapabilities, `{}`},
		{"MetaLogLevel", m.MetaLogLevel, `"debug"`},
		{"MetaSubscription", m.MetaSubscription, `9`},
		{"Result", m.Result, ""},
		{"Error", m.Error, ""},
	} {
		if got := string(m.Field(f.span)); got != f.want {
			t.Errorf("%s = %s, want %s", f.name, got, f.want)
		}
	}
	if m.Kind != Request || m.Method() != "tools/call" || m.Text(m.Name) != "n" || m.Text(m.RequestID) != "" || m.Text(m.Result) != "" {
		t.Errorf("kind %v, method %q, name %q", m.Kind, m.Method(), m.Text(m.Name))
	}
	if got := m.Field(m.Params); got[0] != '{' || !bytes.HasSuffix(got, []byte(`"x/y":0}}`)) {
		t.Errorf("params = %s", got)
	}
	if got := m.Root().Of(m.Raw); got[0] != '{' || !bytes.HasSuffix(got, []byte(`"ID":4}}`)) {
		t.Errorf("root = %s", got)
	}
}

func TestScanResponses(t *testing.T) {
	m := mustScan(t, `{"result":{"resultType":"inputRequired","inputRequests":{"k":{}},"requestState":"s",
		"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"code":1},"jsonrpc":"2.0","id":7}`)
	got := []string{m.Text(m.ResultType), string(m.Field(m.InputRequests)), m.Text(m.ResultState), m.Text(m.ResultMetaSubscription), string(m.Field(m.ID)), m.Method()}
	if want := []string{"inputRequired", `{"k":{}}`, "s", "sub", "7", ""}; m.Kind != Result || !slices.Equal(got, want) {
		t.Errorf("%v %q, want %q", m.Kind, got, want)
	}
	for _, id := range []string{`"id":null,`, ``, `"id":"x",`, `"id":-1,`} {
		m := mustScan(t, `{"jsonrpc":"2.0",`+id+`"error":{"code":-32000,"message":"no","data":{"code":1}}}`)
		if m.Kind != Failure || string(m.Field(m.ErrorCode)) != "-32000" {
			t.Errorf("id %s: %v, code %s", id, m.Kind, m.Field(m.ErrorCode))
		}
	}
}

func TestScanKinds(t *testing.T) {
	for raw, want := range map[string]Kind{
		`{"jsonrpc":"2.0","method":"x"}`:                         Notification,
		`{"jsonrpc":"2.0","method":"x","params":{}}`:             Notification,
		`{"jsonrpc":"2.0","method":"x","id":0}`:                  Request,
		`{"jsonrpc":"2.0","method":"","id":""}`:                  Request,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                   Result,
		`{"jsonrpc":"2.0","id":1,"result":{"_meta":null}}`:       Result,
		`{"jsonrpc":"2.0","error":{"code":1}}`:                   Failure,
		`{"jsonrpc":"2.0","method":"x","params":{"_meta":null}}`: Notification,
	} {
		if m := mustScan(t, raw); m.Kind != want {
			t.Errorf("%s is a %v, want a %v", raw, m.Kind, want)
		}
	}
}

// wrap puts a value in an opaque place of a good message.
func wrap(value string) string {
	return `{"jsonrpc":"2.0","method":"x","params":{"opaque":` + value + `}}`
}

func TestScanAcceptsAllJSON(t *testing.T) {
	for _, v := range []string{
		`0`, `-0`, `1`, `10`, `1.10`, `0.1`, `-1e5`, `1E+05`, `1e-5`, `12345678901234567890`,
		`""`, `"\"\\\/\b\f\n\r\t\u00e9"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00 lone"`, `"é日本😀"`, `"` + "\u2028" + `"`,
		`"` + strings.Repeat("a", 100) + `"`, `"` + strings.Repeat("日", 50) + `"`, "\"\x7f\"",
		`[]`, `[ ]`, `{}`, `{ }`, `[1,2 , 3]`, `{"a":1,"a":2}`, `{"\u0061":1}`, `true`, `false`, `null`,
		"\t[\r\n1 ] ", `{"id":{"jsonrpc":"1.0"},"ID":0}`,
	} {
		mustScan(t, wrap(v))
	}
}

func TestScanRefuses(t *testing.T) {
	bad := map[ask.Code][]string{
		ask.BadMessage: {
			``, ` `, `null`, `1`, `"x"`, `[]`, `{`, `{}`, "\ufeff" + `{"jsonrpc":"2.0","method":"x"}`,
			`{"jsonrpc":"2.0","method":"x"} x`, `{"jsonrpc":"2.0","method":"x"}{}`, `{"jsonrpc":"2.0","method":"x"`, `{"jsonrpc":"2.0","method":"x",}`,
			`{"jsonrpc":"2.0" "method":"x"}`, `{"jsonrpc" "2.0"}`, `{jsonrpc:"2.0"}`, `{"jsonrpc":"2.0","method":"x`,
			`{"method":"x"}`, `{"jsonrpc":2.0,"method":"x"}`, `{"jsonrpc":"1.0","method":"x"}`, `{"jsonrpc":"2\u002e0","method":"x"}`,
			`{"jsonrpc":"2.0","method":1}`, `{"jsonrpc":"2.0","method":null}`,
			`{"jsonrpc":"2.0","method":"x","params":[]}`, `{"jsonrpc":"2.0","method":"x","params":null}`, `{"jsonrpc":"2.0","method":"x","params":"s"}`,
			`{"jsonrpc":"2.0","method":"x","id":null}`, `{"jsonrpc":"2.0","method":"x","id":true}`, `{"jsonrpc":"2.0","method":"x","id":{}}`, `{"jsonrpc":"2.0","method":"x","id":[]}`,
			`{"jsonrpc":"2.0","method":"x","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"x","error":{"code":1}}`,
			`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"params":{}}`,
			`{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`,
			`{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","id":null,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":null}`, `{"jsonrpc":"2.0","id":1,"result":[]}`,
			`{"jsonrpc":"2.0","id":1,"error":"no"}`, `{"jsonrpc":"2.0","id":1,"error":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":"1"}}`, `{"jsonrpc":"2.0","id":true,"error":{"code":1}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_meta":[]}}`, `{"jsonrpc":"2.0","id":1,"result":{"_meta":1}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":null}}}`, `{"jsonrpc":"2.0","method":"x","params":{"progressToken":{}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"requestId":true}}`,
			wrap(``), wrap(`01`), wrap(`+1`), wrap(`-`), wrap(`1.`), wrap(`.5`), wrap(`1e`), wrap(`1e+`), wrap(`0x1`), wrap(`NaN`), wrap(`tru`), wrap(`truee`), wrap(`nul`),
			wrap(`'a'`), wrap(`"a`), wrap(`"\x"`), wrap(`"\u12g4"`), wrap(`"\u12"`), wrap("\"\n\""), wrap("\"\x00\""), wrap("\"\x1f\""),
			wrap("\"\xff\""), wrap("\"\xc0\x80\""), wrap("\"\xed\xa0\x80\""), wrap("\"abcdefgh\xe6\x97\""), wrap("\"\xf4\x90\x80\x80\""),
			wrap(`[1,]`), wrap(`[,1]`), wrap(`[1 2]`), wrap(`[1`), wrap(`[}`), wrap(`{"a"}`), wrap(`{"a":}`), wrap(`{,}`), wrap(`{"a":1,}`), wrap(`{1:1}`), wrap("\u00a01"), wrap("\v1"), wrap(`1/**/`),
			`{"jsonrpc":"2.0","method":"x","params":{"name":"` + "\xff" + `"}}`, `{"jsonrpc":"2.0","method":"x","id":"`,
			"{\"a\xff\":1}", `{"jsonrpc":"2.0","method":"x","id":01}`,
		},
		ask.Ambiguous: {
			`{"jsonrpc":"2.0","jsonrpc":"2.0","method":"x"}`,
			`{"jsonrpc":"2.0","method":"x","method":"y"}`,
			`{"jsonrpc":"2.0","method":"x","id":1,"id":1}`,
			`{"jsonrpc":"2.0","method":"x","ID":1}`,
			`{"jsonrpc":"2.0","method":"x","i\u0064":1}`,
			`{"jsonrpc":"2.0","Method":"x"}`,
			`{"jsonrpc":"2.0","method":"x","params":{},"param` + "\u017f" + `":{}}`, // long s
			`{"j\u0073onrpc":"2.0","method":"x"}`,
			`{"jsonrpc":"2.0","method":"x","\u0049D":1}`,
			`{"jsonrpc":"2.0","method":"x","params":{"name":"a","name":"b"}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"Name":"a"}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"progressTo` + "\u212a" + `en":1}}`, // Kelvin sign
			`{"jsonrpc":"2.0","method":"x","params":{"progressTo\u212aen":1}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"argument` + "\u017f" + `":{}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_META":{}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_meta":{},"_meta":{}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"progressToken":1,"progresstoken":2}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"1"}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"IO.modelcontextprotocol/clientInfo":{}}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"ref":{"name":"a","name":"b"}}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"ref":{"URI":"a"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"resultType":"a","ResultType":"b"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"requestState":"a","requestState":"a"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionID":1}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"Code":2}}`,
			`{"jsonrpc":"2.0","method":"x","id":"\ud800"}`,
			`{"jsonrpc":"2.0","method":"x\udc00"}`,
			`{"jsonrpc":"2.0","method":"x","params":{"name":"\ud800\u0041"}}`,
			`{"jsonrpc":"2.0","method":"x","params":{"uri":"\ud800\ud800\udc00"}}`,
		},
		ask.TooLarge: {
			wrap(strings.Repeat("[", 200) + strings.Repeat("]", 200)),
			wrap(strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)),
			wrap(strings.Repeat("[", 1<<20)),
		},
	}
	for code, list := range bad {
		for _, raw := range list {
			m, err := Scan([]byte(raw), Limits{})
			if got := ask.CodeOf(err); got != code {
				t.Errorf("Scan(%.200q): %q (%v), want %q", raw, got, err, code)
			}
			if m.Raw != nil {
				t.Errorf("Scan(%.200q) gave a message with its error", raw)
			}
		}
	}
}

func TestScanAcceptsHarmlessNeighboursOfRoutingKeys(t *testing.T) {
	for _, raw := range []string{
		`{"jsonrpc":"2.0","method":"x","ids":1,"ids":2,"idé":3,"\u00e9":4}`,
		`{"jsonrpc":"2.0","method":"x","params":{"names":1,"id":1,"ID":2,"method":3,"nam\u00e9":1}}`,
		`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"name":1,"Name":1}}}`,
		`{"jsonrpc":"2.0","method":"x","params":{"arguments":{"name":1,"name":2,"Name":3,"n\u0061me":4,"v":"\ud800"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"name":1,"Name":2,"uri":1,"uri":1}}`,
		`{"jsonrpc":"2.0","id":"\ud83d\ude00\ufffd","method":"x"}`,
	} {
		mustScan(t, raw)
	}
}

func TestScanLimits(t *testing.T) {
	raw := []byte(wrap(`[[1]]`)) // depth 4
	if _, err := Scan(raw, Limits{Bytes: len(raw), Depth: 4}); err != nil {
		t.Errorf("a message just within its limits: %v", err)
	}
	for _, lim := range []Limits{{Bytes: len(raw) - 1}, {Depth: 3}} {
		if _, err := Scan(raw, lim); ask.CodeOf(err) != ask.TooLarge {
			t.Errorf("limits %+v: %v", lim, err)
		}
	}
}

func TestScanChecksEveryByteOfLongStrings(t *testing.T) {
	for n := range 40 {
		for _, c := range []byte{0, '\n', 0x1f, '"', '\\', 0x80, 0xff} {
			body := []byte(strings.Repeat("a", 40))
			body[n] = c
			if _, err := Scan([]byte(wrap(`"`+string(body)+`"`)), Limits{}); err == nil {
				t.Errorf("byte %#x at %d was accepted", c, n)
			}
		}
		body := strings.Repeat("a", n) + "é" + strings.Repeat(" ", n) + `\"` + strings.Repeat("\x7f", n)
		mustScan(t, wrap(`"`+body+`"`))
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	raw := callOf(4 << 10)
	n := testing.AllocsPerRun(100, func() {
		m, err := Scan(raw, Limits{})
		if err != nil || m.Method() != "tools/call" {
			t.Fatal("not scanned")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMethodUnescapesAndPassesUnknown(t *testing.T) {
	for token, want := range map[string]string{
		`"tools\/call"`: "tools/call",
		`"acme/do"`:     "acme/do",
		`""`:            "",
	} {
		if m := mustScan(t, `{"jsonrpc":"2.0","method":`+token+`}`); m.Method() != want {
			t.Errorf("%s is %q, want %q", token, m.Method(), want)
		}
	}
	for _, name := range methods {
		if m := mustScan(t, `{"jsonrpc":"2.0","method":"`+name+`"}`); m.Method() != name {
			t.Errorf("%s is %q", name, m.Method())
		}
	}
}

func TestKindNames(t *testing.T) {
	got := []string{Request.String(), Notification.String(), Result.String(), Failure.String(), Kind(0).String()}
	if want := []string{"request", "notification", "result", "error", "unknown"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
