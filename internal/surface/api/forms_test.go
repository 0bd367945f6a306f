package api

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/office"
)

const deployForm = `{"id":"deploy","title":"Deploy","fields":[{"id":"region","type":"select","label":"Region","required":true,"options":["eu","us"]},{"id":"api_key","type":"text","label":"API key","required":true,"validation":{"minLength":8}}],"timeout":60000}`

func (k *kit) createForm(t *testing.T, definition string) office.Form {
	t.Helper()
	return decode[office.Form](t, k.post("/v1/forms", "ada", `{"formDefinition":`+definition+`}`).want(200, `"status":"pending"`, `"mode":"form"`))
}

// F12: a form waits at once, is submitted by its creator, and shows what was
// answered but for secrets.
func TestFormIsCreatedAndSubmitted(t *testing.T) {
	k := newKit(t)
	f := k.createForm(t, deployForm)
	if f.TimeoutAt-f.CreatedAt != 60_000 || !strings.Contains(string(f.FormDefinition), `"id":"deploy"`) {
		t.Errorf("%+v", f)
	}
	path := "/v1/forms/" + f.ElicitationID
	k.get(path, "ada").want(200, `"status":"pending"`)
	k.get("/v1/asks/"+f.ElicitationID, "ada").want(200, `"formDefinition":{`, `"sensitive":["api_key"]`, `"message":"Deploy"`)
	k.get(path, "ada").want(200, `"status":"active"`)
	k.post(path+"/submit", "ada", `{"form_id":"deploy","metadata":{"user_agent":7},"responses":{"region":"eu","api_key":"long-enough"}}`).want(200, `{"status":"completed"}`)
	got := k.get(path, "ada").want(200, `"status":"completed"`, `"result":{"region":"eu"}`, `"metadata":{"user_agent":7}`, `"uncollected":["api_key"]`)
	if strings.Contains(got.body, "long-enough") {
		t.Errorf("a secret came back: %s", got.body)
	}
	k.post(path+"/submit", "ada", `{"responses":{"region":"eu","api_key":"long-enough"}}`).want(409, `"type":"submission"`, `"reason":"too_late"`)
}

// F7, F9, A16: all errors of a submission at once, under -32007, and with how
// often it may be tried.
func TestFormErrorsComeAtOnce(t *testing.T) {
	k := newKit(t)
	path := "/v1/forms/" + k.createForm(t, deployForm).ElicitationID + "/submit"
	const wrong = `{"responses":{"region":"mars","api_key":"short"}}`
	got := k.post(path, "ada", wrong).want(422, `"code":-32007,"message":"Form validation failed"`, `"type":"validation"`, `"reason":"invalid_content"`,
		`"field":"region"`, `"field":"api_key","code":-32007`, `"constraint":"minLength","expected":8`, `"retry_allowed":true`, `"retry_limit":3`, `"retry_count":1`)
	if strings.Contains(got.body, "short\"") || strings.Contains(got.body, `"actual":5`) {
		t.Errorf("something of a secret came back: %s", got.body)
	}
	k.post(path, "ada", wrong).want(422, `"retry_count":2`)
	k.post(path, "ada", wrong).want(422, `"retry_count":3`)
	k.post(path, "ada", wrong).want(422, `"retry_allowed":false`)
	k.post(path, "ada", wrong).want(409, `"reason":"too_late"`)
}

// F12: only who created a form sees, submits and extends it, and a server's
// question is no form.
func TestFormsOfOthers(t *testing.T) {
	k := newKit(t)
	id := k.createForm(t, deployForm).ElicitationID
	other := k.put(asking(`{"n":{"type":"number"}}`, `[]`))
	for _, c := range []struct{ id, as string }{{id, "bob"}, {other, "ada"}, {"ask-9-9", "ada"}} {
		k.get("/v1/forms/"+c.id, c.as).want(404, `"reason":"unknown_ask"`)
		k.post("/v1/forms/"+c.id+"/submit", c.as, `{"responses":{}}`).want(404, `"reason":"unknown_ask"`)
		if c.id != other {
			k.post("/v1/forms/"+c.id+"/extend", c.as, "").want(404, `"reason":"unknown_ask"`)
		}
	}
	k.get("/v1/forms/"+id, "").want(401)
	k.post("/v1/forms", "", `{"formDefinition":`+deployForm+`}`).want(401)
	k.get("/v1/forms/"+id, "ada").want(200)
	k.wantHeard()
}

// F10, F13: a form's time, its extension, its end, and the shapes of errors.
func TestFormRunsOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		path := "/v1/forms/" + k.createForm(t, deployForm).ElicitationID
		k.post(path+"/extend", "ada", `{"extensionDuration":30000}`).want(200, `"extensionsRemaining":1`)
		k.get(path, "ada").want(200, `"status":"extended"`)
		k.post(path+"/extend", "ada", "").want(200, `"extensionsRemaining":0`)
		k.post(path+"/extend", "ada", "").want(403, `"type":"submission"`, `"reason":"not_allowed"`)
		for _, bad := range []string{`{"extensionDuration":0}`, `{"extensionDuration":"1"}`, `{"extensionDuration":99999999}`, `{"x":1}`} {
			k.post(path+"/extend", "ada", bad).want(400, `"type":"submission"`, `"reason":"bad_message"`)
		}
		time.Sleep(10 * time.Minute)
		k.get(path, "ada").want(200, `"status":"timeout"`)
		k.post(path+"/submit", "ada", `{"responses":{}}`).want(409, `"type":"timeout"`, `"elapsed_ms":390000`, `"timeout_ms":390000`)
		k.post(path+"/extend", "ada", "").want(409, `"type":"timeout"`)
	})
}

func TestFormsThatAreNone(t *testing.T) {
	k := newKit(t)
	k.post("/v1/forms", "ada", `{"formDefinition":{"id":"x","title":"X","fields":[{"id":"a","type":"odd","label":"A"}]}}`).want(422, `"code":-32602`, `"reason":"bad_schema"`, "fields[0].type")
	k.post("/v1/forms", "ada", `{"message":"m"}`).want(422, `"reason":"bad_schema"`)
	k.post("/v1/forms", "ada", `{"requestedSchema":{}}`).want(400, `"reason":"bad_message"`)
	k.post("/v1/forms", "ada", `nonsense`).want(400)
	id := k.createForm(t, deployForm).ElicitationID
	k.post("/v1/forms/"+id+"/submit", "ada", `{}`).want(400, "no responses")
	k.post("/v1/forms/"+id+"/submit", "ada", `{"responses":{},"responses":{}}`).want(400, `"reason":"ambiguous_message"`)
}

// What goes wrong inside keeps its shape as well.
func TestFormsWithoutAStore(t *testing.T) {
	k := newKitWith(t, func(c *Config) { c.Forms = broken{c.Forms} })
	k.post("/v1/forms", "ada", `{"formDefinition":`+deployForm+`}`).want(503, `"type":"system"`, `"details":"journal_unavailable"`, `"code":-32000`)
}

type broken struct{ Forms }

func (broken) Create(office.Creator, []byte) (office.Form, error) {
	return office.Form{}, ask.Errorf(ask.JournalUnavailable, "Not now.")
}
