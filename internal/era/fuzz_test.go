package era_test

import (
	"encoding/json"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Whatever a server or client sends: nothing panics, and what was JSON stays
// JSON.
func FuzzFragments(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `"x"`, goodForm, `{"mode":"url","url":"https://x","message":"\ud800"}`,
		`{"roots":{},"a":1,"sampling":{"tools":{}}}`, `{"prompt":"p"} `, ` {"elicitation":{"form":null}}`,
	} {
		f.Add([]byte(seed))
	}
	all := era.Caps{Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, err := wire.Value(raw)
		valid := err == nil
		_, params := era.Canonical("elicitation/requestInput", raw)
		rest := era.WithoutAsks(raw)
		if valid && (!json.Valid(params) || !json.Valid(rest)) {
			t.Errorf("%q became %q and %q", raw, params, rest)
		}
		if c := era.ReadCaps(rest, era.Latest); c.Any() {
			t.Errorf("%q can still be asked: %+v", rest, c)
		}
		if _, err := wire.Value(rest); valid && err != nil {
			t.Errorf("%q: %v", rest, err)
		}
		for kind := range ask.Roots + 1 {
			if err := era.CheckQuestion(kind, raw, all); err != nil && !json.Valid(era.ErrorObject(err, era.Legacy)) {
				t.Errorf("%q: %s", raw, era.ErrorObject(err, era.Legacy))
			}
		}
		era.KindOf("elicitation/create", raw)
		era.CapsKey(raw)
	})
}

// Any message that the scanner lets through can be checked and digested, and
// what its headers are made to say is what the check expects.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(request("tools/call", `{"name":"é","arguments":{"a":[1.0,"\ud83d\ude00"]},`+meta+`}`)))
	f.Add([]byte(request("tasks/get", `{"taskId":" t ",`+meta+`}`)))
	f.Add([]byte(request("resources/read", `{"uri":"=?base64?x?=",`+meta+`}`)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := wire.Scan(raw, wire.Limits{})
		if err != nil || m.Kind != wire.Request {
			return
		}
		one, err1 := era.Salient(&m)
		two, err2 := era.Salient(&m)
		if one != two || (err1 == nil) != (err2 == nil) {
			t.Errorf("%q: two digests", raw)
		}
		name, _ := era.NameOf(&m)
		h := headers()
		era.SetHeaders(h, &m, era.Latest, name)
		if m.Text(m.MetaVersion) == era.Latest {
			if err := era.CheckRequest(&m, h); err != nil && err.Code == ask.BadHeader && name != "" {
				t.Errorf("%q with %v: %v", raw, h, err)
			}
		}
	})
}
