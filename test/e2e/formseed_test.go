package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

func jsonOf(raw string) json.RawMessage { return json.RawMessage(raw) }

// object reads a JSON object, numbers as they are written.
func object(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return all
}

// members checks that an object has these members and no other.
func members(t testing.TB, what string, got map[string]any, want ...string) {
	t.Helper()
	slices.Sort(want)
	if has := slices.Sorted(maps.Keys(got)); !slices.Equal(has, want) {
		t.Errorf("%s has the members %v, want %v", what, has, want)
	}
}

func number(t testing.TB, v any) int64 {
	t.Helper()
	n, ok := v.(json.Number)
	i, err := n.Int64()
	if !ok || err != nil {
		t.Fatalf("%v is no whole number", v)
	}
	return i
}

// seedClient sends the messages of the seed's chapter 9 as they stand.
type seedClient struct {
	t      *testing.T
	modern bool
	c      *rig.Client
	own    *rig.Stream // the session's stream
}

// send gives the response to a request, by whose id it is known.
func (s *seedClient) send(id, method, params string) map[string]any {
	s.t.Helper()
	var m wire.Message
	if s.modern {
		m = s.c.Modern(`"`+id+`"`, method, params, "{}").Final()
	} else {
		m = s.c.Start(`{"jsonrpc":"2.0","id":"` + id + `","method":"` + method + `","params":` + params + `}`).Final()
	}
	got := object(s.t, m.Raw)
	equal(s.t, "the id", fmt.Sprint(got["id"]), id)
	if result, ok := got["result"].(map[string]any); ok && s.modern {
		equal(s.t, "the resultType", fmt.Sprint(result["resultType"]), "complete")
		delete(result, "resultType") // what the era adds
	}
	return got
}

// follow gives the stream on which the client is told of a form.
func (s *seedClient) follow(id string) *rig.Stream {
	s.t.Helper()
	if !s.modern {
		return s.own
	}
	st := s.c.Modern(`"sub"`, "subscriptions/listen", `{"notifications":{"elicitationIds":["`+id+`"]}}`, "{}")
	ack := st.Next()
	equal(s.t, "the acknowledgement", ack.Method(), "notifications/subscriptions/acknowledged")
	return st
}

// told gives the params of the next notification.
func (s *seedClient) told(st *rig.Stream, method string) map[string]any {
	s.t.Helper()
	m := st.Next()
	equal(s.t, "the notification", m.Method(), method)
	params := object(s.t, m.Field(m.Params))
	if s.modern {
		delete(params, "_meta") // what the era adds
	}
	return params
}

// TestSeedMessages: the messages of the seed's chapters 7 and 9, field by
// field, from clients of both eras that declare nothing, at either kind of
// endpoint (F12, F10, 13.1).
func TestSeedMessages(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, nil)
	g := rig.Start(t, "asks: { secrets_to_clients: true }\nbackends:\n  one: { url: "+b.URL+" }\n  two: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	t.Run("clients", func(t *testing.T) { // all at once
		seedClients(t, g)
	})
	for _, method := range []string{"elicitation/create", "elicitation/submit", "elicitation/extend_timeout"} {
		if n := b.Count(method); n != 0 {
			t.Errorf("the backend got %s %d times", method, n)
		}
	}
}

func seedClients(t *testing.T, g *rig.Gateway) {
	for _, at := range []string{"", "/one"} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("modern=%v at %q", modern, at), func(t *testing.T) {
				t.Parallel()
				s := &seedClient{t: t, modern: modern, c: rig.NewClient(t, g.URL+at)}
				if !modern {
					s.c = rig.Dial(t, g.URL+at, "{}")
					s.own = s.c.Listen("")
				}
				s.run()
			})
		}
	}
}

func (s *seedClient) run() {
	t := s.t
	// 9.1
	definition := strings.Replace(apiKeyForm(t), `"fields": [`, `"fields": [{"id":"enable_ssl","type":"boolean","label":"Enable SSL/TLS"},`, 1)
	created := s.send("req_123", "elicitation/create", `{"mode":"form","formDefinition":`+definition+`}`)
	result, _ := created["result"].(map[string]any)
	members(t, "the form", result, "elicitationId", "mode", "status", "createdAt", "timeoutAt", "formDefinition")
	equal(t, "mode", fmt.Sprint(result["mode"]), "form")
	equal(t, "status", fmt.Sprint(result["status"]), "pending")
	timeoutAt := number(t, result["timeoutAt"])
	if got := timeoutAt - number(t, result["createdAt"]); got != 300000 {
		t.Errorf("it has %d ms", got)
	}
	if want := object(t, []byte(definition)); !reflect.DeepEqual(result["formDefinition"], any(want)) {
		t.Errorf("the definition is %v, want %v", result["formDefinition"], want)
	}
	id := fmt.Sprint(result["elicitationId"])
	stream := s.follow(id)

	// 9.2, with the value that the seed abbreviates: it does not fit.
	submit := func(key string) map[string]any {
		return s.send("req_124", "elicitation/submit", `{"elicitationId":"`+id+`","responses":{"api_key":"`+key+`","region":"us-east-1","enable_ssl":true}}`)
	}
	wrong, _ := submit("sk-abc123...")["error"].(map[string]any)
	code := map[bool]string{false: "-32007", true: "-32602"}[s.modern] // A16
	equal(t, "the code", fmt.Sprint(wrong["code"]), code)
	equal(t, "the message", fmt.Sprint(wrong["message"]), "Form validation failed")
	data, _ := wrong["data"].(map[string]any)
	errs, _ := data["errors"].([]any)
	if len(errs) == 0 || data["retry_allowed"] != true || fmt.Sprintf("%v %v", data["retry_limit"], data["retry_count"]) != "3 1" {
		t.Errorf("the refusal is %v", wrong)
	}

	// 9.3 and 7.4
	extended, _ := s.send("req_125", "elicitation/extend_timeout", `{"elicitationId":"`+id+`","extensionDuration":300000}`)["result"].(map[string]any)
	members(t, "the extension", extended, "newTimeoutAt", "extensionsRemaining")
	if got := number(t, extended["newTimeoutAt"]); got != timeoutAt+300000 || fmt.Sprint(extended["extensionsRemaining"]) != "1" {
		t.Errorf("the extension is %v", extended)
	}

	// 9.2 and 9.4
	done, _ := submit(apiKey)["result"].(map[string]any)
	members(t, "the receipt", done, "status")
	equal(t, "its status", fmt.Sprint(done["status"]), "completed")
	complete := s.told(stream, "notifications/elicitation/complete")
	want := map[string]any{"elicitationId": id, "status": "completed", "result": map[string]any{"api_key": apiKey, "region": "us-east-1", "enable_ssl": true}}
	if !reflect.DeepEqual(complete, want) {
		t.Errorf("the notification is %v, want %v", complete, want)
	}

	// 7.3 and 9.5
	created = s.send("req_126", "elicitation/create", `{"mode":"form","formDefinition":{"id":"f","title":"F","fields":[],"timeout":{"initial_timeout":2000,"warn_before":1500,"extension_duration":300000}}}`)
	result, _ = created["result"].(map[string]any)
	id = fmt.Sprint(result["elicitationId"])
	stream = s.follow(id)
	warning := s.told(stream, "notifications/elicitation/timeout_warning")
	members(t, "the warning", warning, "elicitationId", "remainingMs", "extensionAllowed", "extensionDuration")
	if left := number(t, warning["remainingMs"]); left < 0 || left > 1500 || warning["elicitationId"] != id || warning["extensionAllowed"] != true || fmt.Sprint(warning["extensionDuration"]) != "300000" {
		t.Errorf("the warning is %v", warning)
	}
	complete = s.told(stream, "notifications/elicitation/complete")
	members(t, "the end", complete, "elicitationId", "status")
	equal(t, "its status", fmt.Sprint(complete["status"]), "timeout")

	// 13.1
	created = s.send("req_127", "elicitation/create", `{"mode":"inline","prompt":"Enter API key:"}`)
	result, _ = created["result"].(map[string]any)
	equal(t, "the status of the inline form", fmt.Sprint(result["status"]), "pending")
}

// TestSeedFormOfAClientThatGetsNoSecrets: where the operator does not allow it,
// the form is refused when it is created, in both eras, and says what to do.
func TestSeedFormOfAClientThatGetsNoSecrets(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, "backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	params := `{"mode":"form","formDefinition":` + apiKeyForm(t) + `}`
	for _, m := range []wire.Message{
		rig.Dial(t, g.URL, "{}").Request("elicitation/create", params),
		rig.NewClient(t, g.URL).Modern("1", "elicitation/create", params, "{}").Final(),
	} {
		if code, reason := errorOf(m); code != "-32602" || reason != `"asks_for_secret"` || !strings.Contains(string(m.Raw), "/v1/forms") || !strings.Contains(string(m.Raw), "asks.secrets_to_clients") {
			t.Errorf("the refusal is %s", m.Raw)
		}
	}
}

// TestSubscriptionToAFormAfterACrash: a form goes on after a crash, and a
// modern client that subscribes again is told of its end (F12).
func TestSubscriptionToAFormAfterACrash(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	s := &seedClient{t: t, modern: true, c: rig.NewClient(t, g.URL)}
	created := s.send("1", "elicitation/create", `{"mode":"inline","prompt":"Which city?"}`)
	result, _ := created["result"].(map[string]any)
	id := fmt.Sprint(result["elicitationId"])
	g.Kill(t)
	g = g.Again(t)
	s.c = rig.NewClient(t, g.URL)
	stream := s.follow(id)
	s.send("2", "elicitation/submit", `{"elicitationId":"`+id+`","responses":{"value":"Paris"}}`)
	complete := s.told(stream, "notifications/elicitation/complete")
	if want := map[string]any{"elicitationId": id, "status": "completed", "result": map[string]any{"value": "Paris"}}; !reflect.DeepEqual(complete, want) {
		t.Errorf("the notification is %v, want %v", complete, want)
	}
}
