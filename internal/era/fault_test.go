package era_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// declaredCodes reads every code from the source of package ask, so that a new
// one cannot be forgotten here.
func declaredCodes(t *testing.T) map[ask.Code]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../ask/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[ask.Code]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Code" {
			for _, v := range spec.Values {
				s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[ask.Code(s)] = true
			}
		}
		return true
	})
	if len(codes) < 30 {
		t.Fatalf("found only %d codes in package ask", len(codes))
	}
	return codes
}

// A16: every code has a number in both eras, once.
func TestEveryCodeHasANumberInBothEras(t *testing.T) {
	missing := declaredCodes(t)
	for _, row := range era.Codes() {
		if !missing[row.Code] {
			t.Errorf("%s is in the table twice, or no code of package ask", row.Code)
		}
		delete(missing, row.Code)
		if row.Legacy == 0 || row.Modern == 0 {
			t.Errorf("%s has no number in one of the eras", row.Code)
		}
		e := &ask.Error{Code: row.Code}
		if l, m := era.Number(e, era.Legacy), era.Number(e, era.Modern); l != row.Legacy || m != row.Modern {
			t.Errorf("%s: the table has %d and %d, Number %d and %d", row.Code, row.Legacy, row.Modern, l, m)
		}
	}
	for code := range missing {
		t.Errorf("%s is not in the table of errors", code)
	}
}

// A16: the table as the docs show it.
func TestErrorTable(t *testing.T) {
	const golden = "testdata/errors.golden"
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %7s %7s %7s\n", "reason", "legacy", "modern", "status")
	for _, row := range era.Codes() {
		fmt.Fprintf(&b, "%-24s %7d %7d %7d\n", row.Code, row.Legacy, row.Modern, era.StatusOf(&ask.Error{Code: row.Code}))
	}
	if *rewrite {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the table has changed (go test -rewrite accepts it):\n%s", &b)
	}
}

// The rules of the specification for numbers, basic/index.mdx, "Error Codes".
func TestNumbersKeepToTheirEra(t *testing.T) {
	standard := map[int]bool{-32700: true, -32600: true, -32601: true, -32602: true, -32603: true}
	for _, row := range era.Codes() {
		if m := row.Modern; !standard[m] && (m < -32022 || m > -32020) {
			t.Errorf("%s: the modern era has no %d", row.Code, m)
		}
		// -32007 is that of our own form API, and of nothing else.
		if l := row.Legacy; !standard[l] && l != -32000 && (l != -32007 || row.Code != ask.InvalidContent) {
			t.Errorf("%s: the legacy era has no %d", row.Code, l)
		}
	}
}

// A4: the numbers that the requirement names.
func TestNumbersTowardsLegacyBackends(t *testing.T) {
	for code, want := range map[ask.Code]int{
		ask.ClientLacksCapability: -32601, ask.NoClient: -32000, ask.Timeout: -32000,
		ask.BadSchema: -32602, ask.SwitchedOff: -32601, ask.ModeNotDeclared: -32602, ask.RateLimited: -32000,
	} {
		if got := era.Number(&ask.Error{Code: code}, era.Legacy); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

func TestNumbersThatDependOnTheData(t *testing.T) {
	for _, tc := range []struct {
		err                    *ask.Error
		legacy, modern, status int
	}{
		{&ask.Error{Code: ask.BadMessage}, -32600, -32600, 400},
		{&ask.Error{Code: ask.BadMessage, Data: map[string]any{era.DataParse: true}}, -32700, -32700, 400},
		{&ask.Error{Code: ask.BadMessage, Data: map[string]any{era.DataParse: false}}, -32600, -32600, 400},
		{&ask.Error{Code: ask.BadMessage, Data: map[string]any{era.DataMissing: "x"}}, -32602, -32602, 400},
		{&ask.Error{Code: ask.UnknownName, Data: map[string]any{era.DataMissing: "x"}}, -32602, -32602, 200},
		{&ask.Error{Code: "no such code"}, -32603, -32603, 200},
		{&ask.Error{}, -32603, -32603, 200},
	} {
		l, m, s := era.Number(tc.err, era.Legacy), era.Number(tc.err, era.Modern), era.StatusOf(tc.err)
		if l != tc.legacy || m != tc.modern || s != tc.status {
			t.Errorf("%+v: %d, %d, status %d", tc.err, l, m, s)
		}
	}
}

func TestErrorResponses(t *testing.T) {
	plain := ask.Errorf(ask.Timeout, `Nobody answered "in time" <5m>.`)
	data := &ask.Error{Code: ask.BadVersion, Message: "No.", Data: map[string]any{
		"requested": "<x>", "supported": []string{"a"}, "reason": "a lie", "bad": func() {},
	}, Cause: errors.New("secret cause")}
	for _, tc := range []struct {
		id   string
		err  *ask.Error
		era  era.Era
		want string
	}{
		{`"a"`, plain, era.Legacy, `{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"message":"Nobody answered \"in time\" <5m>.","data":{"reason":"timeout"}}}`},
		{`1.0`, plain, era.Modern, `{"jsonrpc":"2.0","id":1.0,"error":{"code":-32603,"message":"Nobody answered \"in time\" <5m>.","data":{"reason":"timeout"}}}`},
		{``, plain, era.Legacy, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Nobody answered \"in time\" <5m>.","data":{"reason":"timeout"}}}`},
		{``, plain, era.Modern, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Nobody answered \"in time\" <5m>.","data":{"reason":"timeout"}}}`},
		{`7`, ask.Errorf(ask.NoClient, "m"), era.Legacy, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"m","data":{"reason":"no_client","name":"ConnectionClosed"}}}`},
		{`7`, ask.Errorf(ask.NoClient, "m"), era.Modern, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"m","data":{"reason":"no_client","name":"ConnectionClosed"}}}`},
		{`7`, ask.Errorf(ask.SessionExpired, "m"), era.Modern, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"m","data":{"reason":"session_expired","name":"ConnectionClosed"}}}`},
		{`7`, &ask.Error{Code: ask.ClientGone, Message: "m", Data: map[string]any{"name": "other"}}, era.Legacy, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"m","data":{"reason":"client_gone","name":"ConnectionClosed"}}}`},
		{`7`, &ask.Error{Code: ask.Timeout, Message: "m", Data: map[string]any{"name": "other"}}, era.Legacy, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"m","data":{"reason":"timeout","name":"other"}}}`},
		{`7`, data, era.Modern, `{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"No.","data":{"reason":"unsupported_version","requested":"<x>","supported":["a"]}}}`},
		{`7`, ask.Errorf(ask.MissingCapability, "m"), era.Modern, `{"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"m","data":{"reason":"missing_capability","requiredCapabilities":{}}}}`},
		{`7`, era.CheckCaps(ask.URL, nil, era.Caps{}), era.Modern, `{"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"The client cannot be asked: it did not declare elicitation.","data":{"reason":"client_lacks_capability","requiredCapabilities":{"elicitation":{"url":{}}}}}}`},
	} {
		var id []byte
		if tc.id != "" {
			id = []byte(tc.id)
		}
		got := era.AppendError([]byte("x"), id, tc.err, tc.era)
		if string(got) != "x"+tc.want {
			t.Errorf("got  %s\nwant x%s", got, tc.want)
		}
		if !json.Valid(got[1:]) {
			t.Errorf("not JSON: %s", got)
		}
		var whole struct{ Error json.RawMessage }
		if err := json.Unmarshal(got[1:], &whole); err != nil || string(whole.Error) != string(era.ErrorObject(tc.err, tc.era)) {
			t.Errorf("the error object differs: %s", era.ErrorObject(tc.err, tc.era))
		}
	}
}

func TestErrorResponsesAreReadByOurOwnScanner(t *testing.T) {
	for _, row := range era.Codes() {
		for _, e := range []era.Era{era.Legacy, era.Modern} {
			raw := era.AppendError(nil, []byte("1"), &ask.Error{Code: row.Code, Message: "bad \xff\x00 text"}, e)
			m := scan(t, string(raw))
			if m.Kind != wire.Failure {
				t.Errorf("%s: %v", raw, m.Kind)
			}
			if e == era.Legacy && era.IsModernError(m) {
				t.Errorf("a legacy answer would be taken for a modern server's: %s", raw)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	for _, tc := range []struct{ code, legacy, modern int }{
		{-32700, 400, 400}, {-32600, 400, 400}, {-32601, 200, 404}, {-32602, 200, 200}, {-32603, 200, 200},
		{-32020, 200, 400}, {-32021, 200, 400}, {-32022, 200, 400}, {-32000, 200, 200}, {1, 200, 200},
	} {
		if l, m := era.Status(era.Legacy, tc.code), era.Status(era.Modern, tc.code); l != tc.legacy || m != tc.modern {
			t.Errorf("%d: %d, %d", tc.code, l, m)
		}
	}
}

func TestIsModernError(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m"}}`: true,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}`: true,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m"}}`: true,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32023,"message":"m"}}`: false,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`: false,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m"}}`: false,
		`{"jsonrpc":"2.0","id":1,"result":{"code":-32022}}`:              false,
	} {
		if got := era.IsModernError(scan(t, raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}
