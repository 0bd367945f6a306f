package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestSpliceKeepsEveryOtherByte(t *testing.T) {
	const raw = "{ \"jsonrpc\":\"2.0\",\n\t\"x-trace\" : [ 1.10, 12345678901234567890, -0, 1E+2 ],\"id\": 5 ," +
		`"method":"tools/call","params":{"name":"be__t","weird":"<&>\u003c\/","arguments":{"a":1,"a":2,"é":"\ud800"},"_meta":{"progressToken":"p","v":1.0}} } `
	const want = "{ \"jsonrpc\":\"2.0\",\n\t\"x-trace\" : [ 1.10, 12345678901234567890, -0, 1E+2 ],\"id\": 77 ," +
		`"method":"tools/call","params":{"name":"t","weird":"<&>\u003c\/","arguments":{"a":1,"a":2,"é":"\ud800"},"_meta":{"progressToken":99,"v":1.0}} } `
	m := mustScan(t, raw)
	got := Splice([]byte("kept:"), m.Raw,
		Edit{m.ID, []byte("77")}, Edit{m.Name, AppendString(nil, "t")}, Edit{m.MetaToken, []byte("99")})
	if string(got) != "kept:"+want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if m.Name.Len() != len(`"be__t"`) {
		t.Errorf("the name has %d bytes", m.Name.Len())
	}
	if string(m.Raw) != raw {
		t.Error("the message was modified")
	}
}

func TestSpliceInsertsInOrder(t *testing.T) {
	got := Splice(nil, []byte("ad"), Edit{Span{0, 0}, []byte("<")}, Edit{Span{1, 1}, []byte("b")}, Edit{Span{1, 1}, []byte("c")}, Edit{Span{2, 2}, []byte(">")})
	if string(got) != "<abcd>" {
		t.Errorf("got %s", got)
	}
	if got := Splice(nil, []byte("ad")); string(got) != "ad" {
		t.Errorf("without edits: %s", got)
	}
}

func TestSplicePanicsOnFaultyEdits(t *testing.T) {
	for _, edits := range [][]Edit{
		{{Span: Span{2, 3}}, {Span: Span{1, 2}}},
		{{Span: Span{0, 2}}, {Span: Span{1, 3}}},
		{{Span: Span{3, 2}}},
		{{Span: Span{0, 9}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v did not panic", edits)
				}
			}()
			Splice(nil, []byte("abcd"), edits...)
		}()
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ obj, key, value, want string }{
		{`{}`, "k", `1`, `{"k":1}`},
		{` { } `, "k", `1`, ` {"k":1 } `},
		{`{"a":[1]}`, "k", `{}`, `{"k":{},"a":[1]}`},
		{`{ "k" : 1 }`, "k", `"x"`, `{ "k" : "x" }`},
		{`null`, "k", `1`, `{"k":1}`},
		{"{\n\t\"a\":{}\n}", "k", `1`, "{\"k\":1,\n\t\"a\":{}\n}"},
		{`{}`, `a"b`, `1`, `{"a\"b":1}`},
	} {
		raw := []byte(c.obj)
		all := Whole(raw)
		got := Splice(nil, raw, Set(raw, all, Get(raw, all, c.key), c.key, []byte(c.value)))
		if string(got) != c.want {
			t.Errorf("Set(%s, %s) = %s, want %s", c.obj, c.key, got, c.want)
		}
	}
}

func TestSetPanicsOutsideOfObjects(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Set([]byte(`[1]`), Span{0, 3}, Span{}, "k", []byte("1"))
}

func TestDrop(t *testing.T) {
	for _, c := range []struct{ obj, key, want string }{
		{`{"k":1}`, "k", `{}`},
		{`{ "k" : 1 }`, "k", `{  }`},
		{`{"k":1,"b":2}`, "k", `{"b":2}`},
		{`{"a":1,"k":[1,{}],"b":2}`, "k", `{"a":1,"b":2}`},
		{`{"a":1 , "k":"}"}`, "k", `{"a":1}`},
		{`{"a":1}`, "k", `{"a":1}`},
	} {
		raw := []byte(c.obj)
		all := Whole(raw)
		got := Splice(nil, raw, Drop(raw, all, Get(raw, all, c.key)))
		if string(got) != c.want {
			t.Errorf("Drop(%s) = %s, want %s", c.obj, got, c.want)
		}
	}
}

// TestAmendEveryCombination drops, replaces and keeps the members of objects of
// all small sizes in every combination, with and without new members.
func TestAmendEveryCombination(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for size := range len(names) + 1 {
		raw := []byte("{ ")
		for i, name := range names[:size] {
			if i > 0 {
				raw = append(raw, " , "...)
			}
			raw = append(raw, `"`+name+`" : [0]`...)
		}
		raw = append(raw, " }"...)
		all := Whole(raw)
		combinations := 1
		for range size {
			combinations *= 3
		}
		for n := range combinations * 3 {
			want := map[string]string{}
			var changes []Change
			rest := n / 3
			for _, name := range names[:size] {
				old := Get(raw, all, name)
				switch rest % 3 {
				case 0:
					want[name] = "[0]"
				case 1:
					want[name] = "1"
					changes = append(changes, Change{Old: old, Value: []byte("1")})
				case 2:
					changes = append(changes, Change{Old: old})
				}
				rest /= 3
			}
			for i := range n % 3 {
				name := []string{"x", "y"}[i]
				want[name] = "{}"
				changes = append(changes, Change{Key: name, Value: []byte("{}")})
			}
			got := Splice(nil, raw, Amend(raw, all, changes...)...)
			var members map[string]json.RawMessage
			if err := json.Unmarshal(got, &members); err != nil {
				t.Fatalf("%s with %v became %s: %v", raw, changes, got, err)
			}
			if len(members) != len(want) {
				t.Errorf("%s became %s, want %v", raw, got, want)
			}
			for name, value := range want {
				if !bytes.Equal(members[name], []byte(value)) {
					t.Errorf("%s became %s, want %v", raw, got, want)
				}
			}
		}
	}
}
