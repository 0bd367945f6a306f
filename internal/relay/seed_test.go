package relay

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/wire"
)

// The files in testdata/seed are the messages of the document that the form
// extension comes from, as it writes them. A file is named after the document,
// the section and the example. `make rows` compares them with the document.

func seed(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/seed/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// seedOf gives a message of the document with its own id for a form replaced.
func seedOf(t *testing.T, name, id string) string {
	t.Helper()
	text := seed(t, name)
	if !strings.Contains(text, `"elic_xyz789"`) {
		t.Fatalf("%s names no form", name)
	}
	return strings.ReplaceAll(text, `"elic_xyz789"`, `"`+id+`"`)
}

// seedForm is what the document leaves out of its messages: the definition of
// a form with the fields that they answer.
const (
	seedForm   = `{"id":"api_key_form","title":"API Key Configuration","fields":` + seedFields + `,"timeout":300000}`
	seedFields = `[
		{"id":"api_key","type":"text","label":"API key","required":true,"validation":{"minLength":8},"rendering":{"inputType":"password"}},
		{"id":"region","type":"select","label":"Region","required":true,"options":["us-east-1","us-west-2"]},
		{"id":"enable_ssl","type":"boolean","label":"Enable SSL/TLS"},
		{"id":"features","type":"multi_select","label":"Features","options":["logging","metrics","tracing"]},
		{"id":"webhook_url","type":"url","label":"Webhook URL"}]`
)

func fromJSON(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func resultOf(t *testing.T, m wire.Message) map[string]any {
	t.Helper()
	result, ok := fromJSON(t, string(m.Raw))["result"].(map[string]any)
	if !ok {
		t.Fatalf("no result: %s", m.Raw)
	}
	return result
}

// sameShape compares a message with that of the document: the same members
// with the same values, but for those that differ each time, named in free by
// their path, which must be there and of the same type. More members than the
// document has are named in more.
func sameShape(t *testing.T, what, got, want string, free, more []string) {
	t.Helper()
	flat := func(text string) map[string]any {
		all := make(map[string]any)
		flatten("", fromJSON(t, text), all)
		return all
	}
	have, wanted := flat(got), flat(want)
	in := func(path string, list []string) bool {
		for _, l := range list {
			if path == l || strings.HasPrefix(path, l+".") {
				return true
			}
		}
		return false
	}
	for path, v := range wanted {
		h, ok := have[path]
		switch {
		case !ok:
			t.Errorf("%s lacks %s: %s", what, path, got)
		case in(path, free):
			if reflect.TypeOf(h) != reflect.TypeOf(v) {
				t.Errorf("%s: %s is %T, want %T: %s", what, path, h, v, got)
			}
		case h != v:
			t.Errorf("%s: %s is %v, want %v: %s", what, path, h, v, got)
		}
	}
	for path := range have {
		if _, ok := wanted[path]; !ok && !in(path, more) {
			t.Errorf("%s has %s, which the document has not: %s", what, path, got)
		}
	}
}

// flatten lists the leaves of a JSON object by their paths.
func flatten(at string, v any, into map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for key, m := range v {
			flatten(strings.TrimPrefix(at+"."+key, "."), m, into)
		}
	case []any:
		for _, m := range v {
			flatten(at+"[]", m, into)
		}
	default:
		into[at] = v
	}
}

// F7, F9, F10, F12: the messages of the document are sent as it writes them,
// and what comes back has the members and values that it shows.
func TestSeedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		r.secrets = true // as the document has it
		s, _ := openWith(t, r, peer, withForms)
		create := func() (wire.Message, string) {
			m := send(s, peer, strings.Replace(seed(t, "004-9.1-1"), `[...]`, seedFields, 1))
			return m, textOf(m, m.Result, "elicitationId")
		}

		m, id := create()
		sameShape(t, "the form", string(m.Raw), strings.Replace(seed(t, "004-9.1-2"), `{...}`, `{}`, 1),
			[]string{"result.elicitationId", "result.createdAt", "result.timeoutAt"}, []string{"result.formDefinition"})
		result := resultOf(t, m)
		if got := result["timeoutAt"].(float64) - result["createdAt"].(float64); got != 300_000 {
			t.Errorf("the form waits for %v ms", got)
		}
		if got := result["formDefinition"]; !reflect.DeepEqual(got, any(fromJSON(t, seedForm))) {
			t.Errorf("the definition came back as %v", got)
		}

		time.Sleep(4 * time.Minute) // until the warning
		synctest.Wait()
		warning := <-peer.notified
		sameShape(t, "the warning", warning, seedOf(t, "004-7.3-1", id), nil, nil)
		sameShape(t, "the shorter warning", warning, seedOf(t, "004-9.5-1", id), nil, []string{"params.extensionDuration"})
		m = send(s, peer, seedOf(t, "004-7.4-1", id))
		sameShape(t, "the extension", string(m.Raw), seed(t, "004-7.4-2"), []string{"result.newTimeoutAt"}, nil)
		if got := resultOf(t, m)["newTimeoutAt"].(float64) - result["timeoutAt"].(float64); got != 300_000 {
			t.Errorf("the extension gives %v ms", got)
		}

		m = send(s, peer, seedOf(t, "004-9.2-1", id))
		sameShape(t, "the receipt", string(m.Raw), seed(t, "004-9.2-2"), nil, nil)
		sameShape(t, "the notification", <-peer.notified, seedOf(t, "004-9.4-1", id), nil, nil)

		_, id = create()
		m = send(s, peer, seedOf(t, "004-9.3-1", id))
		sameShape(t, "the other extension", string(m.Raw), seed(t, "004-9.3-2"), []string{"result.newTimeoutAt"}, nil)
		m = send(s, peer, request("elicitation/submit", `{"elicitationId":"`+id+`",`+strings.TrimSpace(seed(t, "004-5.2-1"))[1:]))
		wants(t, "the receipt of a response in full", string(m.Raw), `"result":{"status":"completed"}`)
		wants(t, "its notification", <-peer.notified, `"features":["logging","metrics","tracing"]`, `"enable_ssl":true`)

		m = send(s, peer, request("elicitation/create", strings.Replace(seed(t, "004-13.1-2"), `{...}`, seedForm, 1)))
		wants(t, "a form by its mode", string(m.Raw), `"status":"pending"`)
		over(s)
		r.Close()
	})
}

// F7, F9, F13: an answer that does not fit comes back as the document shows,
// but for two things: the length of a secret is withheld, and the sentences are
// ours.
func TestSeedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		r.secrets = true
		s, _ := openWith(t, r, peer, withForms)
		fields := strings.Replace(seedFields, `"minLength":8`, `"minLength":32`, 1)
		m := send(s, peer, strings.Replace(seed(t, "004-9.1-1"), `[...]`, fields, 1))
		id := textOf(m, m.Result, "elicitationId")
		submit := strings.Replace(request("elicitation/submit", `{"elicitationId":"`+id+`","responses":{"api_key":"sk-45678901234567890","region":"us-east-1","webhook_url":"https://192.168.1.1/webhook"}}`), `"id":7`, `"id":"req_123"`, 1)
		got := fromJSON(t, string(send(s, peer, submit).Raw))
		want := fromJSON(t, seed(t, "004-6.3-1"))

		data := func(v map[string]any) map[string]any { return v["error"].(map[string]any)["data"].(map[string]any) }
		list := func(v map[string]any) []any { return data(v)["errors"].([]any) }
		if g, w := len(list(got)), len(list(want)); g != w {
			t.Fatalf("%d errors, want %d: %v", g, w, list(got))
		}
		for i, w := range list(want) {
			w, g := w.(map[string]any), list(got)[i].(map[string]any)
			if g["message"] == "" {
				t.Errorf("an error without a sentence: %v", g)
			}
			w["message"] = g["message"]
			if w["field"] == "api_key" {
				delete(w, "actual")
			}
			if !reflect.DeepEqual(g, w) {
				t.Errorf("got the error %v, want %v", g, w)
			}
		}
		delete(data(got), "errors")
		delete(data(want), "errors")
		data(want)["reason"] = "invalid_content" // every error of the gateway has its reason
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		sameShape(t, "the shorter error", string(send(s, peer, strings.Replace(submit, "req_123", "req_124", 1)).Raw), strings.Replace(seed(t, "004-9.2-3"), `[...]`, `[]`, 1), nil,
			[]string{"error.data.type", "error.data.errors[]", "error.data.reason", "error.data.retry_limit", "error.data.retry_count"})
		over(s)
		r.Close()
	})
}

// F11, F13: a form that is left alone ends at its timeout. Its client is told,
// and a late submission or extension has the shape of a timeout error.
func TestSeedTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		s, _ := openWith(t, r, peer, withForms)
		m := send(s, peer, strings.Replace(seed(t, "004-9.1-1"), `[...]`, `[{"id":"region","type":"text","label":"Region"}]`, 1))
		id := textOf(m, m.Result, "elicitationId")
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		wants(t, "the warning", <-peer.notified, "timeout_warning")
		wants(t, "the end", <-peer.notified, "notifications/elicitation/complete", `"elicitationId":"`+id+`"`, `"status":"timeout"`)
		for _, late := range []string{
			request("elicitation/submit", `{"elicitationId":"`+id+`","responses":{"region":"eu"}}`),
			seedOf(t, "004-7.4-1", id),
		} {
			m = send(s, peer, late)
			wants(t, "the refusal", string(m.Raw), `"code":-32602`, `"type":"timeout"`, `"elapsed_ms":300000`, `"timeout_ms":300000`)
		}
		over(s)
		r.Close()
	})
}
