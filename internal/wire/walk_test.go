package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
)

func TestMembersAndElements(t *testing.T) {
	raw := []byte(` { "a" : 1 , "b\"\\":[ "]" , {"x":"}"}, [ ] ,null ] ,"":{} } `)
	all, err := Value(raw)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for m := range Members(raw, all) {
		got = append(got, string(m.Key.Of(raw)), string(m.Value.Of(raw)))
	}
	if want := []string{`"a"`, `1`, `"b\"\\"`, `[ "]" , {"x":"}"}, [ ] ,null ]`, `""`, `{}`}; !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	got = nil
	for e := range Elements(raw, Get(raw, all, `b"\`)) {
		got = append(got, string(e.Of(raw)))
	}
	if want := []string{`"]"`, `{"x":"}"}`, `[ ]`, `null`}; !slices.Equal(got, want) {
		t.Errorf("elements %q, want %q", got, want)
	}
	for range Members(raw, Get(raw, all, "a")) {
		t.Error("a number has members")
	}
	for range Elements(raw, all) {
		t.Error("an object has elements")
	}
	for range Elements([]byte(`[ ]`), Span{0, 3}) {
		t.Error("an empty array has elements")
	}
	for range Members(raw, Span{}) {
		t.Error("what is absent has members")
	}
	for range Members(raw, all) {
		break
	}
	for range Elements([]byte(`[1,2]`), Span{0, 5}) {
		break
	}
}

func TestGet(t *testing.T) {
	raw := []byte(`{"k":1,"n\u0061me":"x","k":2,"K":3}`)
	all := Whole(raw)
	if got := Get(raw, all, "k").Of(raw); string(got) != "2" {
		t.Errorf("of two members the last counts: got %s", got)
	}
	if got := Get(raw, all, "name").Of(raw); string(got) != `"x"` {
		t.Errorf("escaped key: got %s", got)
	}
	if got := Get(raw, all, "none"); !got.IsZero() {
		t.Errorf("absent key: got %v", got)
	}
}

func TestWalkingDoesNotAllocate(t *testing.T) {
	raw := []byte(`{"a":[1,2,3],"b":{"c":"d"}}`)
	all := Whole(raw)
	n := testing.AllocsPerRun(100, func() {
		count := 0
		for m := range Members(raw, all) {
			for range Elements(raw, m.Value) {
				count++
			}
		}
		if count != 3 || Get(raw, Get(raw, all, "b"), "c").IsZero() {
			t.Fatal("not walked")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestValue(t *testing.T) {
	for raw, want := range map[string]string{` [1] `: `[1]`, `"x"`: `"x"`, `-1.5e3`: `-1.5e3`, "\n null": `null`} {
		got, err := Value([]byte(raw))
		if err != nil || string(got.Of([]byte(raw))) != want {
			t.Errorf("Value(%q) = %v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{``, ` `, `1 2`, `{"a":}`, `[1`, `tru`} {
		if _, err := Value([]byte(raw)); ask.CodeOf(err) != ask.BadMessage {
			t.Errorf("Value(%q): %v", raw, err)
		}
	}
	if _, err := Value([]byte(strings.Repeat("[", 1000))); ask.CodeOf(err) != ask.TooLarge {
		t.Errorf("a deep value: %v", err)
	}
	if _, err := Value(make([]byte, DefaultMaxBytes+1)); ask.CodeOf(err) != ask.TooLarge {
		t.Errorf("a large value: %v", err)
	}
}

func TestBatch(t *testing.T) {
	raw := []byte(` [ {"a":1} , 2,"x" ] `)
	if !IsBatch(raw) || IsBatch([]byte(` {"a":[]}`)) || IsBatch(nil) {
		t.Error("IsBatch")
	}
	list, err := Batch(raw, Limits{}, 3)
	if err != nil || len(list) != 3 || string(list[0]) != `{"a":1}` || string(list[1]) != `2` || string(list[2]) != `"x"` {
		t.Errorf("%q, %v", list, err)
	}
	for _, c := range []struct {
		raw  string
		lim  Limits
		n    int
		want ask.Code
	}{
		{`[1,2]`, Limits{}, 1, ask.TooLarge},
		{`[1,2]`, Limits{Bytes: 4}, 9, ask.TooLarge},
		{`[[1]]`, Limits{Depth: 1}, 9, ask.TooLarge},
		{`[]`, Limits{}, 9, ask.BadMessage},
		{`{}`, Limits{}, 9, ask.BadMessage},
		{`[1,]`, Limits{}, 9, ask.BadMessage},
		{`[1] 2`, Limits{}, 9, ask.BadMessage},
	} {
		if _, err := Batch([]byte(c.raw), c.lim, c.n); ask.CodeOf(err) != c.want {
			t.Errorf("Batch(%s): %v, want %s", c.raw, err, c.want)
		}
	}
}

func TestSalvage(t *testing.T) {
	for head, want := range map[string]string{
		`{"jsonrpc":"2.0","id":5,"result":{"content":[{"text":"abc`:    `5`,
		` { "id" : "a\"b" , "method":`:                                 `"a\"b"`,
		`{"params":{"id":1},"id":-2.5}`:                                `-2.5`,
		`{"i\u0064":7,`:                                                `7`,
		`{"jsonrpc":"2.0","id":5`:                                      ``, // more digits may follow
		`{"jsonrpc":"2.0","id":"ab`:                                    ``,
		`{"jsonrpc":"2.0","id":null,"error":{`:                         ``,
		`{"jsonrpc":"2.0","id":{"a":1},"x":`:                           ``,
		`{"jsonrpc":"2.0","id":1x,"x":`:                                ``,
		`{"jsonrpc":"2.0","result":{"id":1,"content":[{"id":3,"text":`: ``,
		`[{"id":1},`: ``,
		`{"id"`:      ``,
		`{"id":`:     ``,
		`{`:          ``,
		``:           ``,
	} {
		if got := Salvage([]byte(head)); string(got) != want {
			t.Errorf("Salvage(%s) = %s, want %s", head, got, want)
		}
	}
}
