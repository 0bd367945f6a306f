package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/answerback/answerback/ask"
	"github.com/go-json-experiment/json/jsontext"
)

func addSeeds(f *testing.F) {
	for _, raw := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","uri":"u","arguments":{"a":[1,2.5e3]},"_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"v"}}}`,
		` { "jsonrpc" : "2.0" , "method" : "x\/y" , "params" : { "_meta" : { "progressToken" : 1.0 } , "progressToken":2 } } `,
		`{"jsonrpc":"2.0","id":"\ud83d\ude00","result":{"resultType":"x","requestState":"s","_meta":{"io.modelcontextprotocol/subscriptionId":3}}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"<&>é"}}`,
		`{"jsonrpc":"2.0","method":"x","params":{"name":"a","name":"b"}}`,
		`{"jsonrpc":"2.0","method":"x","param` + "\u017f" + `":{}}`,
		`{"jsonrpc":"2.0","method":"x","id":12345678901234567890,"params":{"_meta":null,"ref":{"name":"\ud800"}},"a":1,"a":2}`,
		`[{"jsonrpc":"2.0"}]`, "{\"a\":\"\xff\"}", `{"id":1`, `{"":{"":[{"":""}]}}`,
	} {
		f.Add([]byte(raw))
	}
}

// paths are the routing fields as other parsers find them.
var paths = []struct {
	path []string
	span func(*Message) Span
}{
	{[]string{"id"}, func(m *Message) Span { return m.ID }},
	{[]string{"method"}, func(m *Message) Span { return m.MethodTok }},
	{[]string{"params"}, func(m *Message) Span { return m.Params }},
	{[]string{"result"}, func(m *Message) Span { return m.Result }},
	{[]string{"error"}, func(m *Message) Span { return m.Error }},
	{[]string{"params", "name"}, func(m *Message) Span { return m.Name }},
	{[]string{"params", "uri"}, func(m *Message) Span { return m.URI }},
	{[]string{"params", "arguments"}, func(m *Message) Span { return m.Arguments }},
	{[]string{"params", "requestId"}, func(m *Message) Span { return m.RequestID }},
	{[]string{"params", "progressToken"}, func(m *Message) Span { return m.Token }},
	{[]string{"params", "requestState"}, func(m *Message) Span { return m.RequestState }},
	{[]string{"params", "inputResponses"}, func(m *Message) Span { return m.InputResponses }},
	{[]string{"params", "mode"}, func(m *Message) Span { return m.Mode }},
	{[]string{"params", "cursor"}, func(m *Message) Span { return m.Cursor }},
	{[]string{"params", "level"}, func(m *Message) Span { return m.Level }},
	{[]string{"params", "ref"}, func(m *Message) Span { return m.Ref }},
	{[]string{"params", "_meta"}, func(m *Message) Span { return m.Meta }},
	{[]string{"params", "_meta", "progressToken"}, func(m *Message) Span { return m.MetaToken }},
	{[]string{"params", "_meta", prefix + "protocolVersion"}, func(m *Message) Span { return m.MetaVersion }},
	{[]string{"params", "_meta", prefix + "clientInfo"}, func(m *Message) Span { return m.MetaClientInfo }},
	{[]string{"params", "_meta", prefix + "clientCapabilities"}, func(m *Message) Span { return m.MetaCapabilities }},
	{[]string{"params", "_meta", prefix + "logLevel"}, func(m *Message) Span { return m.MetaLogLevel }},
	{[]string{"params", "_meta", prefix + "subscriptionId"}, func(m *Message) Span { return m.MetaSubscription }},
	{[]string{"result", "resultType"}, func(m *Message) Span { return m.ResultType }},
	{[]string{"result", "inputRequests"}, func(m *Message) Span { return m.InputRequests }},
	{[]string{"result", "requestState"}, func(m *Message) Span { return m.ResultState }},
	{[]string{"result", "_meta"}, func(m *Message) Span { return m.ResultMeta }},
	{[]string{"result", "_meta", prefix + "subscriptionId"}, func(m *Message) Span { return m.ResultMetaSubscription }},
	{[]string{"error", "code"}, func(m *Message) Span { return m.ErrorCode }},
}

// byMap reads the members of an object with encoding/json.
func byMap(t *testing.T, raw []byte) map[string][]byte {
	if raw[0] != '{' {
		return nil
	}
	var list map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatalf("encoding/json refuses %q: %v", raw, err)
	}
	out := map[string][]byte{}
	for k, v := range list {
		out[k] = v
	}
	return out
}

// byToken reads the members of an object with jsontext, the last of a key.
func byToken(t *testing.T, raw []byte) map[string][]byte {
	if raw[0] != '{' {
		return nil
	}
	out := map[string][]byte{}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		t.Fatalf("jsontext refuses %q: %v", raw, err)
	}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			t.Fatalf("jsontext refuses %q: %v", raw, err)
		}
		name := key.String()
		value, err := dec.ReadValue()
		if err != nil {
			t.Fatalf("jsontext refuses %q: %v", raw, err)
		}
		out[name] = bytes.Clone(value)
	}
	if _, err := dec.ReadToken(); err != nil {
		t.Fatalf("jsontext refuses %q: %v", raw, err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		t.Fatalf("jsontext finds more after %q: %v", raw, err)
	}
	return out
}

func lookUp(t *testing.T, raw []byte, path []string, read func(*testing.T, []byte) map[string][]byte) []byte {
	for _, key := range path {
		if raw = read(t, raw)[key]; raw == nil {
			return nil
		}
	}
	return raw
}

// valid reports whether raw is JSON in UTF-8. Escapes of half a surrogate pair
// are left alone, which jsontext does only where it allows all bad UTF-8.
func valid(raw []byte) bool {
	return utf8.Valid(raw) && jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// FuzzScan holds that what Scan accepts is read by two other parsers as Scan
// reads it, also by one that ignores the case of keys.
func FuzzScan(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		Salvage(raw)
		_, _ = Batch(raw, Limits{}, 10)
		for m := range Members(raw, Whole(raw)) {
			for range Elements(raw, m.Value) {
			}
		}
		_, err := Value(raw)
		if ask.CodeOf(err) != ask.TooLarge && (err == nil) != valid(raw) {
			t.Fatalf("Value(%q): %v, but jsontext thinks otherwise", raw, err)
		}
		m, err := Scan(raw, Limits{})
		if !bytes.Equal(raw, before) {
			t.Fatalf("%q became %q", before, raw)
		}
		if err != nil {
			return
		}
		root := m.Root().Of(raw)
		for _, p := range paths {
			got := m.Field(p.span(&m))
			if want := lookUp(t, root, p.path, byMap); !bytes.Equal(got, want) {
				t.Errorf("%q: %v is %q, for encoding/json %q", raw, p.path, got, want)
			}
			if want := lookUp(t, root, p.path, byToken); !bytes.Equal(got, want) {
				t.Errorf("%q: %v is %q, for jsontext %q", raw, p.path, got, want)
			}
		}
		var loose struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name, URI json.RawMessage }
		}
		if err := json.Unmarshal(raw, &loose); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", raw, err)
		}
		if loose.Method != m.Method() || !bytes.Equal(loose.ID, m.Field(m.ID)) ||
			!bytes.Equal(loose.Params.Name, m.Field(m.Name)) || !bytes.Equal(loose.Params.URI, m.Field(m.URI)) {
			t.Errorf("%q: read without regard to case it is %+v", raw, loose)
		}
		if again, err := Scan(Compact(nil, raw), Limits{}); err != nil || again.Kind != m.Kind || again.Method() != m.Method() {
			t.Errorf("%q compacted: %v", raw, err)
		}
	})
}

// FuzzSplice holds that rewriting the id, the name and the progress token
// changes these and nothing else.
func FuzzSplice(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Scan(raw, Limits{})
		if err != nil {
			return
		}
		edited := map[Span]string{}
		for s, with := range map[Span]string{m.ID: `"new \" id"`, m.Name: `"renamed"`, m.MetaToken: `1234567890`} {
			if !s.IsZero() {
				edited[s] = with
			}
		}
		// The expected bytes, made by going over raw byte by byte.
		var want []byte
		var edits []Edit
		for i := 0; i < len(raw); {
			j := i
			for s, with := range edited {
				if int(s.Start) == i {
					edits = append(edits, Edit{s, []byte(with)})
					want = append(want, with...)
					j = int(s.End)
				}
			}
			if j == i {
				want = append(want, raw[i])
				j++
			}
			i = j
		}
		got := Splice(nil, raw, edits...)
		if !bytes.Equal(got, want) {
			t.Fatalf("%q became %q, want %q", raw, got, want)
		}
		n, err := Scan(got, Limits{})
		if err != nil || n.Kind != m.Kind {
			t.Fatalf("%q became %q: %v", raw, got, err)
		}
		for _, p := range paths {
			old, now := p.span(&m), p.span(&n)
			want := string(m.Field(old))
			if with, ok := edited[old]; ok {
				want = with
			} else if holdsEdit(old, edited) {
				continue
			}
			if string(n.Field(now)) != want {
				t.Errorf("%q became %q: %v is %q, want %q", raw, got, p.path, n.Field(now), want)
			}
		}

		root := m.Root()
		tagged := Splice(nil, raw, Set(raw, root, Span{}, "x-added", []byte(`[1]`)))
		if _, err := Scan(tagged, Limits{}); err != nil || string(Get(tagged, Whole(tagged), "x-added").Of(tagged)) != "[1]" && Get(raw, root, "x-added").IsZero() {
			t.Errorf("%q with a member more became %q: %v", raw, tagged, err)
		}
		if m.Kind == Request {
			dropped := Splice(nil, raw, Drop(raw, root, m.ID))
			if n, err := Scan(dropped, Limits{}); err != nil || n.Kind != Notification || !bytes.Equal(n.Field(n.Params), m.Field(m.Params)) {
				t.Errorf("%q without its id became %q: %v", raw, dropped, err)
			}
		}
	})
}

// holdsEdit reports whether an edited span lies inside of s.
func holdsEdit(s Span, edited map[Span]string) bool {
	for e := range edited {
		if s.Start <= e.Start && e.End <= s.End {
			return true
		}
	}
	return false
}
