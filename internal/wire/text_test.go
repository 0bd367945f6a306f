package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestUnquote(t *testing.T) {
	for token, want := range map[string]string{
		`""`:                                  "",
		`"plain é"`:                           "plain é",
		`"\"\\\/\b\f\n\r\t"`:                  "\"\\/\b\f\n\r\t",
		`"\u0041\u00e9\u65e5"`:                "Aé日",
		`"\ud83d\uDE00!"`:                     "😀!",
		`"\ud800"`:                            "\ufffd",
		`"\ud800\ud83d\ude00"`:                "\ufffd😀",
		`"\udc00\ud800\u0041"`:                "\ufffd\ufffdA",
		`"\ufffd"`:                            "\ufffd",
		`"` + strings.Repeat("x", 99) + `\n"`: strings.Repeat("x", 99) + "\n",
	} {
		got, ok := Unquote([]byte(token))
		if !ok || got != want {
			t.Errorf("Unquote(%s) = %q, %v, want %q", token, got, ok, want)
		}
		var std string
		if err := json.Unmarshal([]byte(token), &std); err != nil || std != got {
			t.Errorf("encoding/json reads %s as %q, %v", token, std, err)
		}
	}
	for _, token := range []string{``, `"`, `x`, `1`, `null`, `"a`, `"a"b`, `"a" `, ` "a"`, `"\q"`, "\"\n\""} {
		if got, ok := Unquote([]byte(token)); ok || got != "" {
			t.Errorf("Unquote(%q) = %q, %v", token, got, ok)
		}
	}
}

func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"":                     `""`,
		"<a href='x'>&</a>":    `"<a href='x'>&</a>"`,
		"a\"b\\c/":             `"a\"b\\c/"`,
		"\n\r\t\x00\x1f\b\x7f": `"\n\r\t\u0000\u001f\u0008` + "\x7f" + `"`,
		"é日😀\u2028":            "\"é日😀\u2028\"",
		"bad\xffbyte":          "\"bad\ufffdbyte\"",
	} {
		got := AppendString([]byte("x"), s)
		if string(got) != "x"+want {
			t.Errorf("AppendString(%q) = %s, want %s", s, got[1:], want)
		}
		if back, ok := Unquote(got[1:]); !ok || back != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%s reads back as %q", got[1:], back)
		}
	}
}

func TestIDKey(t *testing.T) {
	seen := map[string]string{}
	for _, same := range [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E+1`},
		{`0`, `-0`, `0.0`, `0e9`},
		{`10`, `1e1`, `10.0`},
		{`100`, `1e2`},
		{`-5`, `-5.00`},
		{`1.10`, `1.1`, `11e-1`},
		{`12345678901234567890`},
		{`12345678901234567891`},
		{`1e99999999999`},
		{`1e99999999998`},
		{`"1"`, `"\u0031"`},
		{`"n1"`},
		{`"a/b"`, `"a\/b"`},
		{`""`},
		{`null`},
		{``},
	} {
		key := IDKey([]byte(same[0]))
		for _, token := range same[1:] {
			if got := IDKey([]byte(token)); got != key {
				t.Errorf("IDKey(%s) = %q, and of %s %q", token, got, same[0], key)
			}
		}
		if other, found := seen[key]; found {
			t.Errorf("%s and %s have the same key %q", same[0], other, key)
		}
		seen[key] = same[0]
	}
}

func TestCompact(t *testing.T) {
	raw := []byte(" {\r\n\t\"a b\" : [ 1.10 , \"x \\\" y\" ] , \"é\":null } \n")
	if got := Compact([]byte("-"), raw); string(got) != `-{"a b":[1.10,"x \" y"],"é":null}` {
		t.Errorf("got %s", got)
	}
}
