package era_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

func salient(t testing.TB, params string) [32]byte {
	t.Helper()
	sum, err := era.Salient(scan(t, request("tools/call", params)))
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return sum
}

func TestSalientIsTheSameForTheSameCall(t *testing.T) {
	for _, same := range [][]string{
		{
			`{"name":"t","arguments":{"a":1,"b":[true,null,"x"]}}`,
			` { "arguments" : { "b" : [ true , null , "\u0078" ] , "\u0061" : 1 } , "name" : "\u0074" } `,
			`{"name":"t","arguments":{"a":1,"b":[true,null,"x"]},"inputResponses":{"q":{}},"requestState":"s","_meta":{"progressToken":2}}`,
		},
		{`{"name":"t","arguments":[1,100,0.5,-2,0]}`, `{"name":"t","arguments":[1.0,1E+2,5e-1,-2.00,-0.0]}`, `{"name":"t","arguments":[10e-1,1000e-1,0.50,-0.2e1,0e5]}`},
		{`{"name":"t","arguments":"a/\"é😀\n"}`, `{"name":"t","arguments":"\u0061\/\u0022\u00e9\ud83d\uDE00\u000A"}`},
		{`{"name":"t","arguments":["�😀\\ud800"]}`, `{"name":"t","arguments":["\uFFFD\ud83d\uDE00\u005cud800"]}`},
	} {
		for _, params := range same[1:] {
			if salient(t, same[0]) != salient(t, params) {
				t.Errorf("%s and %s are the same call", same[0], params)
			}
		}
	}
}

func TestSalientDiffersForOtherCalls(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, params := range []string{
		`{}`, `{"name":"t"}`, `{"name":"u"}`, `{"uri":"t"}`, `{"name":"t","uri":"t"}`,
		`{"name":"t","arguments":null}`, `{"name":"t","arguments":{}}`, `{"name":"t","arguments":[]}`,
		`{"name":"t","arguments":""}`, `{"name":"t","arguments":"{}"}`, `{"name":"t","arguments":[[]]}`, `{"name":"t","arguments":[[],[]]}`, `{"name":"t","arguments":[[[]]]}`,
		`{"name":"t","arguments":12345678901234567890}`, `{"name":"t","arguments":12345678901234567891}`,
		`{"name":"t","arguments":"12345678901234567890"}`, `{"name":"t","arguments":0.1}`, `{"name":"t","arguments":0.10000000000000000001}`,
		`{"name":"t","arguments":1e400}`, `{"name":"t","arguments":1e401}`, `{"name":"t","arguments":1e99999999999999999999}`, `{"name":"t","arguments":1e99999999999999999998}`,
		`{"name":"t","arguments":1}`, `{"name":"t","arguments":-1}`, `{"name":"t","arguments":10}`, `{"name":"t","arguments":"1"}`, `{"name":"t","arguments":true}`, `{"name":"t","arguments":"true"}`, `{"name":"t","arguments":"n1"}`,
		`{"name":"t","arguments":{"a":1,"b":2}}`, `{"name":"t","arguments":{"a":2,"b":1}}`, `{"name":"t","arguments":{"a":{"b":2}}}`, `{"name":"t","arguments":{"a":{},"b":2}}`,
		`{"name":"t","arguments":[1,2]}`, `{"name":"t","arguments":[2,1]}`, `{"name":"t","arguments":[12]}`, `{"name":"t","arguments":[1,[2]]}`,
		`{"name":"t","arguments":["\ud800"]}`, `{"name":"t","arguments":["\ud801"]}`, `{"name":"t","arguments":["\ufffd"]}`, `{"name":"t","arguments":["\\ud800"]}`, `{"name":"t","arguments":["\\\ud800"]}`,
		`{"name":"t","arguments":["\ud800\u0061"]}`, `{"name":"t","arguments":["\udc00\ud800"]}`, `{"name":"t","arguments":["\ud800\udc00\udc00"]}`,
		`{"name":"t","arguments":{"\ud800":1,"\ud801":1}}`,
		`{"name":"t","arguments":{"_meta":{}}}`, `{"name":"t","arguments":{"requestState":"s"}}`,
	} {
		sum := salient(t, params)
		if other, there := seen[sum]; there {
			t.Errorf("%s and %s have the same digest", params, other)
		}
		seen[sum] = params
	}
}

func TestSalientDependsOnTheMethod(t *testing.T) {
	a, _ := era.Salient(scan(t, request("tools/call", `{"name":"x"}`)))
	b, _ := era.Salient(scan(t, request("prompts/get", `{"name":"x"}`)))
	c, _ := era.Salient(scan(t, `{"jsonrpc":"2.0","id":"another","method":"tools/call","params":{"name":"x"}}`))
	if a == b || a != c {
		t.Error("the method must count, and the id must not")
	}
}

func TestSalientRefusesRepeatedKeys(t *testing.T) {
	for _, args := range []string{`{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `[{"x":{"k":1,"j":2,"k":3}}]`, `{"x":[{"k":1,"k":1}]}`} {
		_, err := era.Salient(scan(t, request("tools/call", `{"name":"t","arguments":`+args+`}`)))
		if ask.CodeOf(err) != ask.Ambiguous {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// Any value, written in two ways at random, has one digest.
func TestSalientIsTheSameHoweverTheArgumentsAreWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := drawValue(rt, 3)
		one, two := writeValue(rt, v), writeValue(rt, v)
		if salient(t, `{"name":"t","arguments":`+one+`}`) != salient(t, `{"name":"t","arguments":`+two+`}`) {
			rt.Fatalf("%s and %s are the same", one, two)
		}
	})
}

// Two integers or decimals have one digest exactly when they are equal.
func TestSalientComparesNumbersExactly(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) string {
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?(e[+-]?[0-3])?`).Draw(t, "n")
	})
	rapid.Check(t, func(rt *rapid.T) {
		a, b := number.Draw(rt, "a"), number.Draw(rt, "b")
		ra, ok1 := new(big.Rat).SetString(a)
		rb, ok2 := new(big.Rat).SetString(b)
		if !ok1 || !ok2 {
			rt.Fatalf("not numbers: %s, %s", a, b)
		}
		same := salient(t, `{"name":"t","arguments":`+a+`}`) == salient(t, `{"name":"t","arguments":`+b+`}`)
		if same != (ra.Cmp(rb) == 0) {
			rt.Fatalf("%s and %s: same digest is %v", a, b, same)
		}
	})
}

type pair struct {
	key   string
	value any
}

// drawValue draws a JSON value: nil, bool, string, int64, []any or []pair.
func drawValue(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?")
	case 3:
		return rapid.Int64().Draw(t, "number")
	case 4:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	var object []pair
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		key := strings.ToValidUTF8(rapid.String().Draw(t, "key"), "?")
		object = append(object, pair{fmt.Sprint(key, i), drawValue(t, depth-1)})
	}
	return object
}

// writeValue writes a value with random white space, escapes, forms of
// numbers, and order of keys.
func writeValue(t *rapid.T, v any) string {
	pad := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "pad")
	var parts []string
	switch v := v.(type) {
	case nil:
		return pad + "null"
	case bool:
		return pad + fmt.Sprint(v) + pad
	case string:
		return pad + writeText(t, v)
	case int64:
		form := rapid.SampledFrom([]string{"%d", "%d.0", "%de0", "%d.00E+0", "%d0e-1"}).Draw(t, "form")
		if v == 0 {
			form = strings.TrimSuffix(form, "0e-1") // JSON has no leading zeros
		}
		return pad + fmt.Sprintf(form, v)
	case []any:
		for _, e := range v {
			parts = append(parts, writeValue(t, e))
		}
		return pad + "[" + strings.Join(parts, ",") + pad + "]"
	case []pair:
		for _, p := range rapid.Permutation(v).Draw(t, "order") {
			parts = append(parts, writeText(t, p.key)+pad+":"+writeValue(t, p.value))
		}
		return pad + "{" + pad + strings.Join(parts, ","+pad) + pad + "}"
	}
	panic("unknown value")
}

func writeText(t *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	all := rapid.Bool().Draw(t, "escape all")
	for _, r := range s {
		switch {
		case r > 0xffff && all:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04X`, hi, lo)
		case r < ' ' || r == '"' || r == '\\' || (all && r <= 0xffff):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Two requests are the same call however they are written, and whatever name
// the joined endpoint has for it.
func TestSameCall(t *testing.T) {
	digest := func(raw, name string) [32]byte {
		m, err := wire.Scan([]byte(raw), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := era.SameCall(&m, name)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const one = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__t","arguments":{"a":1,"b":[]}}}`
	if digest(one, "t") != digest(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"arguments":{"b":[ ],"a":1.0},"name":"t","_meta":{}}}`, "t") {
		t.Error("the same call was not known again")
	}
	for _, other := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__t","arguments":{"a":2,"b":[]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__t"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"b__t","arguments":{"a":1,"b":[]}}}`,
	} {
		if digest(one, "t") == digest(other, "t") {
			t.Errorf("%s is taken for the same call", other)
		}
	}
	if digest(one, "t") == digest(one, "u") {
		t.Error("another name is taken for the same")
	}
}
