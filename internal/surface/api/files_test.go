package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/upload"
)

const cvForm = `{"message":"Your CV","formDefinition":{"id":"f","title":"F","fields":[
	{"id":"name","type":"text","label":"Name","required":true},
	{"id":"cv","type":"file","label":"CV","required":true,"validation":{"maxSize":1000,"allowedMimeTypes":["application/pdf"]}},
	{"id":"more","type":"file","label":"More","validation":{"maxItems":2}}]}}`

const pdf = "%PDF-1.7 some pages"

// filing is a kit with a place for files.
func filing(t testing.TB) (*kit, *upload.Store) {
	t.Helper()
	j, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 64 << 20, MaxAudit: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close(context.Background()) })
	files, err := upload.New(upload.Config{
		Shelf: j.Shelf("files"), Ring: seal.Random(), Now: time.Now, Log: slog.New(slog.DiscardHandler), PublicURL: public,
		Limits: upload.Limits{PerAsk: 8 << 20, Total: 32 << 20, Draft: time.Hour, Keep: time.Hour, Uses: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	return newKitWith(t, func(c *Config) { c.Files, c.MaxFile = files, 1<<20 }), files
}

func filesPath(id, field, name string) string {
	return "/v1/asks/" + id + "/files?" + url.Values{"field": {field}, "name": {name}}.Encode()
}

func TestFilesGoWithTheAnswer(t *testing.T) { // F16
	k, files := filing(t)
	id := k.put(formAsk(cvForm))
	first := decode[File](t, k.post(filesPath(id, "cv", "old.pdf"), "ada", pdf+" old").want(200))
	kept := decode[File](t, k.post(filesPath(id, "cv", "cv.pdf"), "ada", pdf).want(200, `"name":"cv.pdf","type":"application/pdf","size":19`))
	extra := decode[File](t, k.post(filesPath(id, "more", "a.txt"), "ada", "a").want(200))
	k.post(filesPath(id, "more", "b.txt"), "ada", "b").want(200)
	if a := decode[Ask](t, k.get("/v1/asks/"+id, "ada")); len(a.Files) != 3 || first.ID == kept.ID {
		t.Errorf("kept are %+v", a.Files)
	}
	k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"name":"Ada"},"files":["`+kept.ID+`","`+extra.ID+`"]}`).want(200, `"delivered":true`)
	got := k.answers()
	if len(got) != 1 || !strings.HasPrefix(got[0], `{"action":"accept","content":{"name":"Ada","cv":"`+public+`/files/`) || !strings.Contains(got[0], `"more":["`+public+`/files/`) {
		t.Fatalf("the asker heard %q", got)
	}
	link := strings.TrimPrefix(strings.Split(got[0], `"`)[13], public)
	w := httptest.NewRecorder()
	if files.ServeHTTP(w, httptest.NewRequest(http.MethodGet, link, nil)); w.Body.String() != pdf {
		t.Errorf("%s gives %d %s", link, w.Code, w.Body)
	}
}

func TestAnswerWithoutItsFileIsRefused(t *testing.T) {
	k, _ := filing(t)
	id := k.put(formAsk(cvForm))
	answer := "/v1/asks/" + id + "/answer"
	k.post(answer, "ada", `{"action":"accept","content":{"name":"Ada"}}`).want(422, `"field":"cv"`, `"constraint":"required"`)
	k.post(filesPath(id, "cv", "cv.pdf"), "ada", pdf).want(200)
	k.post(answer, "ada", `{"action":"accept","content":{"name":"Ada"},"files":[]}`).want(422, `"field":"cv"`)
	k.post(answer, "ada", `{"action":"accept","content":{"name":"Ada"},"files":["x"]}`).want(400)
	k.post(answer, "ada", `{"action":"accept","content":{"name":"Ada"},"files":"x"}`).want(400)
	k.post(answer, "ada", `{"action":"decline","files":[]}`).want(400)
	k.wantHeard()
	k.post(answer, "ada", `{"action":"accept","content":{"name":"Ada"}}`).want(200)
}

// F16: references to files elsewhere are refused, in every shape.
func TestAttackReferencesToFiles(t *testing.T) {
	k, _ := filing(t)
	for _, reference := range []string{
		`"https://elsewhere.example/cv.pdf"`, `"s3://bucket/cv.pdf"`, `"file:///etc/passwd"`, `"` + public + `/files/x"`,
		`{"type":"url","location":"https://elsewhere.example"}`, `{"type":"s3","location":"x"}`, `{"type":"local","location":"/etc/passwd"}`,
		`{"filename":"x.pdf","content_type":"application/pdf","size":1,"content":"eA=="}`, `["https://elsewhere.example/cv.pdf"]`,
	} {
		id := k.put(formAsk(cvForm))
		k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"name":"Ada","cv":`+reference+`}}`).want(422, `"field":"cv","code":-32007`)
	}
	k.wantHeard()
}

func TestAttackUpload(t *testing.T) {
	k, files := filing(t)
	id := k.put(formAsk(cvForm))
	plain := k.put(asking(`{"a":{"type":"string"}}`, `[]`))
	for name, c := range map[string]struct {
		path, as, body string
		status         int
	}{
		"somebody else":         {filesPath(id, "cv", "x.pdf"), "bob", pdf, 404},
		"nobody":                {filesPath(id, "cv", "x.pdf"), "", pdf, 401},
		"no such question":      {filesPath("ask-0-0", "cv", "x.pdf"), "ada", pdf, 404},
		"no such field":         {filesPath(id, "x", "x.pdf"), "ada", pdf, 400},
		"a field of text":       {filesPath(id, "name", "x.pdf"), "ada", pdf, 400},
		"a form without files":  {filesPath(plain, "a", "x.pdf"), "ada", pdf, 400},
		"no name":               {"/v1/asks/" + id + "/files?field=cv", "ada", pdf, 400},
		"two fields":            {"/v1/asks/" + id + "/files?field=cv&field=more&name=x", "ada", pdf, 400},
		"larger than its field": {filesPath(id, "cv", "x.pdf"), "ada", pdf + strings.Repeat("x", 1000), 422},
		"larger than anything":  {filesPath(id, "more", "x.pdf"), "ada", strings.Repeat("x", 2<<20), 413},
		"another type":          {filesPath(id, "cv", "x.pdf"), "ada", "<html>", 422},
	} {
		t.Run(name, func(t *testing.T) {
			k.post(c.path, c.as, c.body).want(c.status)
		})
	}
	if kept, err := files.Kept(t.Context(), id, ada); err != nil || len(kept) != 0 {
		t.Errorf("kept are %v %v", kept, err)
	}
	k.post(filesPath(id, "cv", "x.pdf"), "ada", pdf).want(200)
	k.post("/v1/asks/"+id+"/decline", "ada", "").want(200)
	k.post(filesPath(id, "cv", "x.pdf"), "ada", pdf).want(409)
	newKit(t).post(filesPath(id, "cv", "x.pdf"), "ada", pdf).want(403)
}

func TestLinkIsTakenBackWhereNobodyHears(t *testing.T) {
	k, files := filing(t)
	id := k.put(formAsk(cvForm))
	k.deaf = ask.Errorf(ask.BackendLost, "gone")
	k.post(filesPath(id, "cv", "cv.pdf"), "ada", pdf).want(200)
	k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"name":"Ada"}}`).want(200, `"delivered":false`)
	link := strings.TrimPrefix(strings.Split(k.answers()[0], `"`)[13], public)
	w := httptest.NewRecorder()
	if files.ServeHTTP(w, httptest.NewRequest(http.MethodGet, link, nil)); w.Code != http.StatusNotFound {
		t.Errorf("%s gives %d", link, w.Code)
	}
}
