package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

func decode[T any](t *testing.T, r *response) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestConfigNamesWhatIsMissing(t *testing.T) {
	_, err := New(Config{})
	for _, field := range []string{"Desk", "Who", "Log"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}

func TestListGivesWhatWaitsOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		k.get("/v1/asks", "ada").want(200, `{"asks":[],"more":false}`)
		var ids []string
		for i := range 60 {
			ids = append(ids, k.put(formAsk(fmt.Sprintf(`{"message":"Question %d"}`, i))))
			time.Sleep(time.Millisecond)
		}
		idsOf := func(r *response) (got []string) {
			for _, s := range decode[Page](t, r.want(200)).Asks {
				got = append(got, s.ID)
			}
			return got
		}
		for range 3 {
			if got := idsOf(k.get("/v1/asks?limit=7", "ada").want(200, `"more":true`)); !slices.Equal(got, ids[:7]) {
				t.Errorf("%v, want %v", got, ids[:7])
			}
		}
		if got := idsOf(k.get("/v1/asks", "ada").want(200, `"more":true`)); !slices.Equal(got, ids[:50]) {
			t.Errorf("%d without a limit", len(got))
		}
		if got := idsOf(k.get("/v1/asks?limit=60", "ada").want(200, `"more":false`)); !slices.Equal(got, ids) {
			t.Errorf("%d of 60", len(got))
		}
		k.post("/v1/asks/"+ids[0]+"/decline", "ada", "").want(200)
		if got := idsOf(k.get("/v1/asks?limit=2", "ada")); !slices.Equal(got, ids[1:3]) {
			t.Errorf("%v, want %v", got, ids[1:3])
		}
		for _, query := range []string{"limit=0", "limit=-1", "limit=1001", "limit=x", "limit=", "limit=1&limit=2", "offset=1", "limit=1&a=b", "limit=1;", "%zz"} {
			r := request(http.MethodGet, "/v1/asks", "ada", "")
			r.URL.RawQuery = query
			k.send(r).want(400, `"code":"bad_message"`)
		}
	})
}

// A list stays small however much servers write; one question is whole.
func TestListCutsMessages(t *testing.T) {
	k := newKit(t)
	long := strings.Repeat("ü", 300)
	id := k.put(asking(`{"a":{"type":"string","description":"`+long+`"}}`, `[]`))
	other := k.put(formAsk(`{"message":"` + long + `"}`))
	got := decode[Page](t, k.get("/v1/asks", "ada"))
	if m := got.Asks[1].Message; m != strings.Repeat("ü", 200)+"…" {
		t.Errorf("%d bytes of message", len(m))
	}
	if decode[Ask](t, k.get("/v1/asks/"+other, "ada")).Message != long {
		t.Error("the question is cut")
	}
	k.get("/v1/asks/"+id, "ada").want(200, long)
}

func TestShowGivesAQuestionInFull(t *testing.T) {
	k := newKit(t)
	id := k.put(asking(`{"z":{"type":"number"},"api_key":{"type":"string"},"a":{"type":"boolean"}}`, `["z"]`))
	k.get("/v1/asks/"+id, "ada").want(200,
		`"id":"`+id+`"`, `"mode":"form"`, `"status":"active"`, `"backend":"deploy"`, `"during":"tools/call"`, `"name":"release"`, `"client":"editor"`,
		`"requestedSchema":{"type":"object","properties":{"z":{"type":"number"},"api_key":{"type":"string"},"a":{"type":"boolean"}},"required":["z"]}`,
		`"sensitive":["api_key"]`, `"extensionsRemaining":2`)
	link := k.put(urlAsk())
	k.get("/v1/asks/"+link, "ada").want(200, `"mode":"url"`, `"url":"https://tracker.example/in"`)
	for _, params := range []string{`{}`, `[]`, `{"message":1,"requestedSchema":null}`, `not JSON`} {
		k.get("/v1/asks/"+k.put(formAsk(params)), "ada").want(200, `"message":""`)
	}
	group := formAsk(`{"message":"For several"}`)
	group.Addressee = ask.Addressee{Group: "approvers"}
	k.get("/v1/asks/"+k.put(group), "bob@approvers").want(200, `"group":"approvers"`)
}

// A9: the three actions stay three different things.
func TestActionsStayApart(t *testing.T) {
	for _, c := range []struct{ path, body, status, heard, action string }{
		{"answer", `{"action":"accept"}`, "completed", `{"action":"accept","content":{}}`, "accept"},
		{"answer", `{"action":"accept","content":{}}`, "completed", `{"action":"accept","content":{}}`, "accept"},
		{"answer", `{"action":"decline"}`, "declined", `{"action":"decline"}`, "decline"},
		{"answer", `{"action":"cancel"}`, "cancelled", `{"action":"cancel"}`, "cancel"},
		{"decline", "", "declined", `{"action":"decline"}`, "decline"},
		{"cancel", "", "cancelled", `{"action":"cancel"}`, "cancel"},
	} {
		t.Run(c.path+" "+c.body, func(t *testing.T) {
			k := newKit(t)
			id := k.put(formAsk(`{"message":"Go on?"}`))
			k.post("/v1/asks/"+id+"/"+c.path, "ada", c.body).want(200, `{"status":"`+c.status+`","delivered":true}`)
			k.wantHeard(c.heard)
			k.get("/v1/asks/"+id, "ada").want(200, `"status":"`+c.status+`"`, `"ending":"answered","action":"`+c.action+`","byYou":true`)
			k.get("/v1/asks", "ada").want(200, `"asks":[]`)
		})
	}
}

// Of what somebody else of the group answered, others learn that, and not who
// it was or what was said.
func TestGroupLearnsThatItWasAnswered(t *testing.T) {
	k := newKit(t)
	a := asking(`{"s":{"type":"string"}}`, `[]`)
	a.Addressee = ask.Addressee{Group: "approvers"}
	path := "/v1/asks/" + k.put(a)
	k.post(path+"/answer", "bob@approvers", `{"action":"accept","content":{"s":"between us"}}`).want(200)
	got := k.get(path, "ada@approvers").want(200, `"status":"completed"`, `"byYou":false`)
	if strings.Contains(got.body, "between us") || strings.Contains(got.body, "bob") {
		t.Errorf("too much is told: %s", got.body)
	}
	k.get(path, "bob@approvers").want(200, `"byYou":true`)
	k.post(path+"/answer", "ada@approvers", `{"action":"decline"}`).want(409)
}

// The bytes that the caller wrote arrive, not what a decoder made of them.
func TestContentIsPassedOnAsWritten(t *testing.T) {
	k := newKit(t)
	id := k.put(asking(`{"n":{"type":"number"},"i":{"type":"integer"},"s":{"type":"string"},"l":{"type":"array","items":{"type":"string","enum":["a","b"]}},"b":{"type":"boolean"},"d":{"type":"string","format":"date"},"o":{"type":"string","default":"x"}}`, `["n"]`))
	content := `{ "b": false, "n" : 1.50e1, "i":9007199254740993 , "s":"\u00fc\/<\n", "l":["b", "a"], "d":"2026-02-28" }`
	k.post("/v1/asks/"+id+"/answer", "ada", `{"content":`+content+`,"action":"accept"}`).want(200)
	k.wantHeard(`{"action":"accept","content":` + content + `}`)
}

func TestURLIsAcceptedWithoutContent(t *testing.T) {
	k := newKit(t)
	id := k.put(urlAsk())
	k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{}}`).want(400, "no content")
	k.wantHeard()
	k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept"}`).want(200)
	k.wantHeard(`{"action":"accept"}`)
}

// F7: all errors of a submission come at once, in the order of the fields.
func TestInvalidContentIsRefusedWithEveryError(t *testing.T) {
	k := newKit(t)
	id := k.put(asking(`{"mail":{"type":"string","format":"email"},"age":{"type":"integer","minimum":18},"pick":{"type":"string","enum":["a"]},"must":{"type":"string"},"password":{"type":"string","minLength":8}}`, `["must"]`))
	path := "/v1/asks/" + id + "/answer"
	got := k.post(path, "ada", `{"action":"accept","content":{"zzz":1,"password":"hunter2","pick":"b","age":17.5,"mail":"no"}}`).want(422, `"code":"invalid_content"`)
	var body struct{ Error Problem }
	if err := json.Unmarshal([]byte(got.body), &body); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range body.Error.Errors {
		found = append(found, e.Field+" "+e.Constraint)
	}
	want := []string{"mail format", "age minimum", "age multipleOf", "pick enum", "must required", "password minLength", "zzz additionalProperties"}
	if !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
	if strings.Contains(got.body, "hunter2") || strings.Contains(k.logged(), "hunter2") {
		t.Error("a secret comes back")
	}
	k.wantHeard()
	k.post(path, "ada", `{"action":"accept","content":{"must":"x"}}`).want(200)
}

// What form would read kindly, the asker would get as it was written.
func TestContentMustBeSpeltAsItsAskerReadsIt(t *testing.T) {
	properties := `{"n":{"type":"number"},"b":{"type":"boolean"},"at":{"type":"string","format":"date-time"},"mail":{"type":"string","format":"email"},"l":{"type":"array","minItems":1,"items":{"type":"string","enum":["a"]}},"s":{"type":"string"}}`
	for _, c := range []struct{ content, field, constraint string }{
		{`{"n":"42"}`, "n", "type"},
		{`{"b":"yes"}`, "b", "type"},
		{`{"at":"2026-01-31T14:30"}`, "at", "format"},
		{`{"at":" 2026-01-31T14:30:00Z"}`, "at", "format"},
		{`{"mail":""}`, "mail", "required"},
		{`{"l":[]}`, "l", "required"},
		{`{"n":""}`, "n", "type"},
		{`{"n":null}`, "n", "type"},
		{`{"s":null}`, "s", "type"},
		{`{"s":["a"]}`, "s", "type"},
		{`[]`, "", "type"},
		{`"x"`, "", "type"},
		{`null`, "", "type"},
	} {
		t.Run(c.content, func(t *testing.T) {
			k := newKit(t)
			path := "/v1/asks/" + k.put(asking(properties, `[]`)) + "/answer"
			k.post(path, "ada", `{"action":"accept","content":`+c.content+`}`).want(422, fmt.Sprintf(`"field":%q`, c.field), fmt.Sprintf(`"constraint":%q`, c.constraint))
			k.wantHeard()
			control := `{"n":42,"b":true,"at":"2026-01-31T14:30:00Z","mail":"a@b.example","l":["a"],"s":""}`
			k.post(path, "ada", `{"action":"accept","content":`+control+`}`).want(200)
			k.wantHeard(`{"action":"accept","content":` + control + `}`)
		})
	}
}

func TestUnreadableQuestionCanOnlyBeDeclined(t *testing.T) {
	k := newKit(t)
	id := k.put(asking(`{"deep":{"type":"object"}}`, `[]`))
	k.get("/v1/asks/"+id, "ada").want(200)
	k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"deep":{}}}`).want(422, `"code":"bad_schema"`)
	k.wantHeard()
	k.post("/v1/asks/"+id+"/decline", "ada", "").want(200)
}

// F10: twice, from the old deadline, and not after the end.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		id := k.put(formAsk(`{"message":"Long"}`))
		path := "/v1/asks/" + id + "/extend"
		end := decode[Ask](t, k.get("/v1/asks/"+id, "ada")).TimeoutAt
		for _, body := range []string{`{"seconds":0}`, `{"seconds":-1}`, `{"seconds":3601}`, `{"seconds":1.5}`, `{"seconds":"60"}`, `{"seconds":null}`, `{"seconds":99999999999999999999}`, `{"minutes":1}`, `[]`, `x`, `{"seconds":1,"seconds":2}`} {
			k.post(path, "ada", body).want(400)
		}
		time.Sleep(time.Minute)
		first := decode[Extension](t, k.post(path, "ada", "").want(200, `"status":"extended"`, `"extensionsRemaining":1`))
		if first.NewTimeoutAt != end+300_000 {
			t.Errorf("the end moved by %d ms", first.NewTimeoutAt-end)
		}
		second := decode[Extension](t, k.post(path, "ada", `{"seconds":60}`).want(200, `"extensionsRemaining":0`))
		if second.NewTimeoutAt != end+360_000 {
			t.Errorf("the end moved by %d ms", second.NewTimeoutAt-end)
		}
		k.post(path, "ada", `{}`).want(403, `"code":"not_allowed"`)
		if a := decode[Ask](t, k.get("/v1/asks/"+id, "ada")); a.Status != "extended" || a.TimeoutAt != end+360_000 || a.ExtensionsRemaining != 0 {
			t.Errorf("%+v", a)
		}
		time.Sleep(20 * time.Minute)
		k.get("/v1/asks/"+id, "ada").want(200, `"status":"timeout"`, `"ending":"expired"`, `"reason":{"code":"timeout"`)
		k.post(path, "ada", "").want(409, `"code":"too_late"`)
		k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept"}`).want(409, `"code":"too_late"`)
		k.wantHeard("")
	})
}

func TestReceiptSaysThatNobodyHeard(t *testing.T) {
	k := newKit(t)
	k.deaf = ask.Errorf(ask.BackendLost, "The server is gone.")
	id := k.put(formAsk(`{"message":"Go on?"}`))
	k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept"}`).
		want(200, `{"status":"completed","delivered":false,"undelivered":{"code":"backend_lost","message":"The server is gone."}}`)
	k.get("/v1/asks/"+id, "ada").want(200, `"undelivered":{"code":"backend_lost"`)
}

// A7, and the errors of a store: each code has its status, and says when to
// come back.
func TestRefusalsOfTheDesk(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
		retry  string
	}{
		{&ask.Error{Code: ask.RateLimited, Message: "Slower.", Data: map[string]any{"retryAfterMs": int64(1001)}}, 429, "rate_limited", "2"},
		{ask.Errorf(ask.TooManyOpen, "Enough."), 429, "too_many_open", "5"},
		{ask.Errorf(ask.JournalUnavailable, "No store."), 503, "journal_unavailable", "5"},
		{ask.Errorf(ask.StoreFull, "Full."), 503, "store_full", "5"},
		{ask.Errorf(ask.ShuttingDown, "Bye."), 503, "shutting_down", "5"},
		{ask.Errorf(ask.StoreCorrupt, "Broken."), 500, "store_corrupt", ""},
		{errors.New("secret detail"), 500, "internal", ""},
		{ask.Errorf(ask.Unknown, "x"), 404, "unknown_ask", ""},
		{ask.Errorf(ask.NotYours, "x"), 404, "unknown_ask", ""},
		{ask.Errorf(ask.TooLate, "x"), 409, "too_late", ""},
	} {
		k := newKit(t)
		k.fail = c.err
		for _, op := range []string{"answer", "decline", "cancel", "extend"} {
			body := ""
			if op == "answer" {
				body = `{"action":"decline"}`
			}
			got := k.post("/v1/asks/x/"+op, "ada", body).want(c.status, `"code":"`+c.code+`"`)
			if got.header.Get("Retry-After") != c.retry || strings.Contains(got.body, "secret detail") {
				t.Errorf("%v: Retry-After %q, %s", c.err, got.header.Get("Retry-After"), got.body)
			}
		}
		if logged := strings.Contains(k.logged(), "request failed"); logged != (c.status >= 500) {
			t.Errorf("%v: logged %v", c.err, logged)
		}
	}
}

func TestEndings(t *testing.T) {
	for want, out := range map[string]ask.Outcome{
		StatusWithdrawn: {Ending: ask.Withdrawn},
		StatusAbandoned: {Ending: ask.Abandoned},
		StatusTimeout:   {Ending: ask.Expired},
		StatusFailed:    {Ending: ask.Answered},
		StatusCompleted: {Ending: ask.Answered, Answer: ask.Answer{Action: ask.Accept}},
	} {
		if got := statusOf(&desk.View{Outcome: &out}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestClientAndGatewayUnderstandEachOther(t *testing.T) {
	k := newKit(t)
	c := &Client{Base: public, Token: "ada", Send: func(r *http.Request) (*http.Response, error) {
		got := k.send(r)
		return &http.Response{StatusCode: got.status, Body: readCloser(got.body)}, nil
	}}
	ctx := t.Context()
	id := k.put(asking(`{"n":{"type":"integer"}}`, `["n"]`))
	if p, err := c.List(ctx, 5); err != nil || len(p.Asks) != 1 || p.Asks[0].ID != id {
		t.Errorf("%+v, %v", p, err)
	}
	a, err := c.Show(ctx, id)
	if err != nil || len(a.RequestedSchema) == 0 || Time(a.TimeoutAt).Before(time.Now()) {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := a.Form(); err != nil {
		t.Error(err)
	}
	if e, err := c.Extend(ctx, id, 0); err != nil || e.ExtensionsRemaining != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := c.Extend(ctx, id, time.Minute); err != nil || e.ExtensionsRemaining != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	_, err = c.Answer(ctx, id, ask.Accept, []byte(`{"n":1.5}`))
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Status != 422 || len(r.Errors) != 1 || r.Error() == "" {
		t.Errorf("%v", err)
	}
	if r, err := c.Answer(ctx, id, ask.Accept, []byte(`{"n":1}`)); err != nil || !r.Delivered {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = c.Show(ctx, "a/b?c")
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != "unknown_ask" {
		t.Errorf("%v", err)
	}
	for want, send := range map[string]sender{
		"cannot be read": answering(200, "<html>"),
		"too large":      answering(200, strings.Repeat(" ", maxResponse+1)),
		"no route":       func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") },
	} {
		c.Send = send
		if _, err := c.List(ctx, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for name, body := range map[string]string{"a page": "<html>", "nothing": "", "other JSON": `{"a":1}`} {
		c.Send = answering(404, body)
		if _, err := c.List(ctx, 1); err == nil || !strings.Contains(err.Error(), "no gateway") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.Base = "\x00"
	if _, err := c.List(ctx, 1); err == nil {
		t.Error("an address that is none is asked")
	}
}

type sender = func(*http.Request) (*http.Response, error)

func answering(status int, body string) sender {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: readCloser(body)}, nil
	}
}
