package api

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
)

const wrong = `{"action":"accept","content":{"n":"three"}}`

// An answer that does not fit comes back with what is wrong and whether there
// may be another; one too many ends the question.
func TestAttemptsAreCounted(t *testing.T) { // F9
	k := newKit(t)
	id := k.put(asking(`{"n":{"type":"number"}}`, `["n"]`))
	path := "/v1/asks/" + id + "/answer"
	for n, body := range []string{`"retry_count":1}`, `"retry_count":2}`, `"retry_count":3}`} {
		got := decode[struct{ Error Problem }](t, k.post(path, "ada", wrong).want(422, `"code":"invalid_content"`, `"retry_allowed":true,"retry_limit":3,`+body)).Error
		if got.Retry == nil || *got.Retry != (Retry{true, 3, n + 1}) || len(got.Errors) != 1 {
			t.Errorf("read as %+v", got)
		}
	}
	k.wantHeard()
	k.post(path, "ada", wrong).want(422, `"code":"invalid_content"`, "the question is over", `"errors":[{"field":"n"`, `"retry_allowed":false,"retry_limit":3,"retry_count":4}`)
	k.wantHeard("")
	k.post(path, "ada", wrong).want(409, `"code":"too_late"`)
	k.get("/v1/asks/"+id, "ada").want(200, `"status":"abandoned"`, `"ending":"abandoned"`, `"abandonment":"form_invalidated"`, `"reason":{"code":"form_invalidated"`)
}

// Only answers that were read and do not fit are attempts.
func TestWhatIsNoAttempt(t *testing.T) { // F9
	k := newKit(t)
	id := k.put(asking(`{"n":{"type":"number"}}`, `["n"]`))
	path := "/v1/asks/" + id + "/answer"
	for range 3 {
		k.post(path, "ada", `{"action":"yes"}`).want(400)
		k.post(path, "ada", `{"action":"accept","content":`).want(400)
		k.post(path, "ada", `{"action":"decline","content":{}}`).want(400)
		k.post(path, "bob", wrong).want(404)
		k.post(path, "", wrong).want(401)
	}
	k.uncounted = ask.Errorf(ask.JournalUnavailable, "Not now.")
	k.post(path, "ada", wrong).want(503, `"code":"journal_unavailable"`)
	k.uncounted = nil
	k.post(path, "ada", wrong).want(422, `"retry_count":1}`)
	k.post(path, "ada", `{"action":"accept","content":{"n":3}}`).want(200)
	k.wantHeard(`{"action":"accept","content":{"n":3}}`)

	unreadable := k.put(formAsk(`{"message":"Which?","requestedSchema":{"type":"array"}}`))
	for range 5 {
		k.post("/v1/asks/"+unreadable+"/answer", "ada", `{"action":"accept"}`).want(422, `"code":"bad_schema"`)
	}
	k.post("/v1/asks/"+unreadable+"/decline", "ada", "").want(200)
}

// F10: each state has its name.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		for _, tt := range []struct{ do, body, want, abandonment string }{
			{"answer", `{"action":"accept"}`, StatusCompleted, ""},
			{"decline", "", StatusDeclined, ""},
			{"cancel", "", StatusCancelled, `"abandonment":"user_cancelled"`},
			{"", "", StatusTimeout, `"abandonment":"timeout"`},
		} {
			id := k.put(formAsk(`{"message":"` + tt.want + `"}`))
			status := func(want string) {
				t.Helper()
				for _, a := range decode[Page](t, k.get("/v1/asks", "ada")).Asks {
					if a.ID == id && a.Status != want {
						t.Errorf("listed as %s, want %s", a.Status, want)
					}
				}
			}
			status(StatusPending)
			k.get("/v1/asks/"+id, "ada").want(200, `"status":"active"`)
			status(StatusActive)
			k.post("/v1/asks/"+id+"/extend", "ada", "").want(200)
			status(StatusExtended)
			if tt.do == "" {
				time.Sleep(10 * time.Minute)
			} else {
				k.post("/v1/asks/"+id+"/"+tt.do, "ada", tt.body).want(200)
			}
			got := k.get("/v1/asks/"+id, "ada").want(200, `"status":"`+tt.want+`"`, tt.abandonment)
			if a := decode[Ask](t, got); tt.abandonment == "" && a.Outcome.Abandonment != "" {
				t.Errorf("%s is abandoned: %+v", tt.want, a.Outcome)
			}
		}
	})
}

// F10: a question may say itself how long it waits, and how often it can be
// extended and tried.
func TestTermsOfAQuestion(t *testing.T) {
	k := newKit(t)
	a := asking(`{"n":{"type":"number"}}`, `["n"]`)
	a.Terms = ask.Terms{Timeout: 10 * time.Minute, Extension: time.Minute, Extensions: 3, Attempts: 1}
	id := k.put(a)
	shown := decode[Ask](t, k.get("/v1/asks/"+id, "ada").want(200, `"extensionsRemaining":3`))
	if shown.TimeoutAt-shown.CreatedAt != 600_000 {
		t.Errorf("it waits for %d ms", shown.TimeoutAt-shown.CreatedAt)
	}
	if e := decode[Extension](t, k.post("/v1/asks/"+id+"/extend", "ada", "").want(200, `"extensionsRemaining":2`)); e.NewTimeoutAt != shown.TimeoutAt+60_000 {
		t.Errorf("the end moved by %d ms", e.NewTimeoutAt-shown.TimeoutAt)
	}
	k.post("/v1/asks/"+id+"/answer", "ada", wrong).want(422, `"retry_allowed":true,"retry_limit":1,"retry_count":1}`)
	k.post("/v1/asks/"+id+"/answer", "ada", wrong).want(422, `"retry_allowed":false,"retry_limit":1,"retry_count":2}`)

	a.Terms = ask.Terms{NoExtension: true}
	id = k.put(a)
	k.get("/v1/asks/"+id, "ada").want(200, `"extensionsRemaining":0`)
	k.post("/v1/asks/"+id+"/extend", "ada", "").want(403)
}

// F17: a text has a longest length, whatever its form says.
func TestTextsAreBounded(t *testing.T) {
	k := newKitWith(t, func(c *Config) { c.MaxLength = 5 })
	for _, schema := range []string{`{"type":"string"}`, `{"type":"string","maxLength":1000}`} {
		id := k.put(asking(`{"s":`+schema+`}`, `[]`))
		k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"s":"123456"}}`).want(422, `"constraint":"maxLength","expected":5,"actual":6`)
		k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"s":"12345"}}`).want(200)
	}
}

// A public name that stands for a private address is refused, as the address
// itself would be.
func TestAttackNameThatLeadsInside(t *testing.T) { // F15
	k := newKitWith(t, func(c *Config) {
		c.Names = func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "inside.example.com" {
				return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
	})
	q := asking(`{}`, `[]`)
	q.Params = []byte(`{"message":"Where?","formDefinition":{"id":"f","title":"F","fields":[{"id":"u","type":"url","label":"U"}]}}`)
	id := k.put(q)
	path := "/v1/asks/" + id + "/answer"
	k.post(path, "ada", `{"action":"accept","content":{"u":"https://inside.example.com/x"}}`).want(422, `"constraint":"blockPrivateIPs"`, `"actual":"inside.example.com"`)
	k.post(path, "ada", `{"action":"accept","content":{"u":"https://10.0.0.1/x"}}`).want(422, `"constraint":"blockPrivateIPs"`)
	k.post(path, "ada", `{"action":"accept","content":{"u":"https://outside.example.com/x"}}`).want(200)
}
