package page

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/upload"
)

const fileDefinition = `{"id":"d","title":"Your papers","fields":[
	{"id":"name","type":"text","label":"Name","required":true},
	{"id":"cv","type":"file","label":"CV","required":true,"validation":{"maxSize":2097152,"allowedMimeTypes":["application/pdf","image/*"]}},
	{"id":"more","type":"file","label":"More","validation":{"maxItems":3}},
	{"id":"why","type":"text","label":"Why"}]}`

const pdf = "%PDF-1.7\nsome pages"

// desktop is a kit with a store of files.
type desktop struct {
	*kit
	files *upload.Store
}

func newDesktop(t testing.TB, definition string) *desktop {
	t.Helper()
	j, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 64 << 20, MaxAudit: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close(context.Background()) })
	files, err := upload.New(upload.Config{
		Shelf: j.Shelf("files"), Ring: seal.Random(), Now: time.Now, Log: slog.New(slog.DiscardHandler), PublicURL: "https://gateway.example",
		Limits: upload.Limits{PerAsk: 8 << 20, Total: 32 << 20, Draft: time.Hour, Keep: time.Hour, Uses: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &desktop{newKitWith(t, files, withDefinition(definition)), files}
}

// part is one part of a post: a value, or a file where it has a name.
type part struct{ name, file, content string }

// parts writes a post as browsers do.
func encode(t testing.TB, all ...part) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range all {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.file != "" {
			h.Set("Content-Disposition", h.Get("Content-Disposition")+`; filename="`+strings.TrimPrefix(p.file, "-")+`"`)
			h.Set("Content-Type", "application/pdf") // a claim
		}
		part, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(p.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

func (d *desktop) send(path, as string, all ...part) *page {
	d.t.Helper()
	kind, body := encode(d.t, all...)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set(asHeader, as)
	return d.do(r)
}

// token is the token of a page of ada's, as a part.
func token(as string) part {
	return part{name: TokenField, content: hashGuard{}.Token("session of "+as, purposeAnswer+"ask1")}
}

func accept() part { return part{name: "action", content: "accept"} }

// kept gives the names and the values of the boxes of files that are kept.
func (p *page) kept(field string, ticked bool) (names, ids []string) {
	for _, e := range p.root.all("input") {
		if _, on := e.attr["checked"]; e.attr["name"] == field+keptSuffix && on == ticked {
			ids = append(ids, e.attr["value"])
		}
	}
	for _, l := range p.root.all("label") {
		if strings.HasPrefix(l.attr["for"], field+keptSuffix) {
			names = append(names, strings.TrimSpace(l.text()))
		}
	}
	return names, ids
}

// fetched redeems the addresses in the one answer that was sent.
func (d *desktop) fetched(field string) []string {
	d.t.Helper()
	if len(d.submitted()) != 1 {
		d.t.Fatalf("%d answers were sent", len(d.submitted()))
	}
	var answer struct{ Content map[string]any }
	if err := json.Unmarshal(d.submitted()[0].Result, &answer); err != nil {
		d.t.Fatal(err)
	}
	urls, several := answer.Content[field].([]any)
	if !several {
		urls = []any{answer.Content[field]}
	}
	var all []string
	for _, u := range urls {
		path := strings.TrimPrefix(u.(string), "https://gateway.example")
		w := httptest.NewRecorder()
		d.files.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			d.t.Errorf("%s is answered with %d", path, w.Code)
		}
		all = append(all, w.Body.String())
	}
	return all
}

func TestFileIsSentWithTheAnswer(t *testing.T) { // F16
	d := newDesktop(t, fileDefinition)
	p := d.get("/asks/ask1", "ada")
	p.says("One file, at most 2 MB: application/pdf or image/*.", "Up to 3 files, at most 10 MB each.")
	if f := p.root.all("form"); f[len(f)-1].attr["enctype"] != "multipart/form-data" {
		t.Error("the form cannot send files")
	}
	d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "cv.pdf", pdf}, part{"f2", "-", ""}, part{"f3", "", ""}, accept()).want(200)
	if got := string(d.submitted()[0].Result); !strings.HasPrefix(got, `{"action":"accept","content":{"name":"Ada","cv":"https://gateway.example/files/`) || strings.Contains(got, "more") {
		t.Errorf("the answer is %s", got)
	}
	if got := d.fetched("cv"); len(got) != 1 || got[0] != pdf {
		t.Errorf("the server gets %q", got)
	}
	if files, err := d.files.Kept(t.Context(), "ask1", ada); err != nil || len(files) != 0 {
		t.Errorf("drafts are left: %v %v", files, err)
	}
}

// An error in one field costs nobody the files of another, with or without a
// script, and they are there after a reload.
func TestFilesSurviveAnError(t *testing.T) {
	d := newDesktop(t, fileDefinition)
	p := d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", ""}, part{"f1", "cv.pdf", pdf},
		part{"f2", "a.txt", "first"}, part{"f2", "b.txt", "second"}, part{"f3", "", "Because"}, accept())
	p.want(422)
	p.says("One thing needs another look", "cv.pdf (19 bytes)", "a.txt (5 bytes)")
	if p.typed().Get("f3") != "Because" {
		t.Error("what was typed is lost")
	}
	d.wantNothingSent()

	p = d.get("/asks/ask1", "ada")
	_, cv := p.kept("f1", true)
	names, more := p.kept("f2", true)
	if len(cv) != 1 || len(more) != 2 || len(names) != 2 {
		t.Fatalf("after a reload there are %v and %v", cv, names)
	}
	d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "-", ""}, part{"f1-kept", "", cv[0]},
		part{"f2-kept", "", more[1]}, accept()).want(200)
	if got := d.fetched("cv"); len(got) != 1 || got[0] != pdf {
		t.Errorf("the server gets %q", got)
	}
	if got := d.fetched("more"); len(got) != 1 {
		t.Errorf("of two, of which one was unticked, the server gets %q", got)
	}
}

func TestFilesSurviveAnExtension(t *testing.T) {
	d := newDesktop(t, fileDefinition)
	p := d.send("/asks/ask1/extend", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "cv.pdf", pdf})
	p.want(200)
	p.says("5 more minutes", "cv.pdf")
	if _, ids := p.kept("f1", true); len(ids) != 1 {
		t.Errorf("there are %v", ids)
	}
}

// The script sends files ahead, and takes the list of what is kept from the
// page that comes back.
func TestFilesAreKeptAhead(t *testing.T) {
	d := newDesktop(t, fileDefinition)
	_, first := d.send("/asks/ask1/files", "ada", token("ada"), part{"f2", "a.txt", "first"}).kept("f2", true)
	p := d.send("/asks/ask1/files", "ada", token("ada"), part{"f2", "b.txt", "second"})
	_, on := p.kept("f2", true)
	if _, off := p.kept("f2", false); len(first) != 1 || len(on) != 1 || len(off) != 1 {
		t.Errorf("ticked are %v, not ticked %v", on, off)
	}
	p = d.send("/asks/ask1/files", "ada", token("ada"), part{"f1", "cv.pdf", "words"})
	p.want(422)
	p.says("Choose one of type application/pdf or image/*.")
	d.wantNothingSent()
}

func TestFileThatIsNotTakenKeepsTheRest(t *testing.T) {
	large := strings.Repeat("x", 2<<20)
	for name, c := range map[string]struct{ file, content, says string }{
		"too large":                         {"cv.pdf", pdf + large, "Choose one of at most 2 MB."},
		"another type, claimed to be right": {"cv.pdf", "<html><script>", "Choose one of type application/pdf or image/*."},
		"an empty one":                      {"cv.pdf", "", "Choose one of type application/pdf or image/*."},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesktop(t, fileDefinition)
			p := d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", c.file, c.content},
				part{"f2", "a.txt", "first"}, part{"f3", "", "Because"}, accept())
			p.want(422)
			p.says(c.says, "a.txt (5 bytes)", "One thing needs another look")
			if v := p.typed(); v.Get("f0") != "Ada" || v.Get("f3") != "Because" {
				t.Errorf("of what was typed there is %v", v)
			}
			d.wantNothingSent()
			d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "cv.pdf", pdf}, accept()).want(200)
		})
	}
}

func TestNoFileMeansNoAnswer(t *testing.T) {
	d := newDesktop(t, fileDefinition)
	p := d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "-", ""}, accept())
	p.want(422)
	p.says("Choose a file: this is needed.")
	p = d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "cv.pdf", pdf},
		part{"f2", "1", "a"}, part{"f2", "2", "b"}, part{"f2", "3", "c"}, part{"f2", "4", "d"}, accept())
	p.want(422)
	p.says("Choose at most 3: there are 4.")
	d.wantNothingSent()
}

func TestDeclineLeavesNoFile(t *testing.T) {
	d := newDesktop(t, fileDefinition)
	d.send("/asks/ask1", "ada", token("ada"), part{"f1", "cv.pdf", pdf}, part{"action", "", "decline"}).want(200)
	d.wantSent(ask.Decline, `{"action":"decline"}`)
	if files, err := d.files.Kept(t.Context(), "ask1", ada); err != nil || len(files) != 0 {
		t.Errorf("drafts are left: %v %v", files, err)
	}
}

func TestLinkOfAnAnswerThatWasNotTakenIsTakenBack(t *testing.T) {
	for name, set := range map[string]func(*script){
		"too late":    func(s *script) { s.fail = ask.Errorf(ask.TooLate, "too late") },
		"undelivered": func(s *script) { s.receipt = desk.Receipt{Undelivered: ask.Errorf(ask.BackendLost, "gone")} },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesktop(t, fileDefinition)
			spy := &linkSpy{Store: d.files}
			d.cfg.Files = spy
			set(d.desk)
			d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "cv.pdf", pdf}, accept())
			w := httptest.NewRecorder()
			if d.files.ServeHTTP(w, httptest.NewRequest(http.MethodGet, strings.TrimPrefix(spy.url, "https://gateway.example"), nil)); spy.url == "" || w.Code != http.StatusNotFound {
				t.Errorf("%q is answered with %d", spy.url, w.Code)
			}
		})
	}
}

// linkSpy remembers the last address that was made.
type linkSpy struct {
	*upload.Store
	url string
}

func (s *linkSpy) Link(ctx context.Context, id, backend string, by ask.Principal, files []upload.File) (*upload.Links, error) {
	l, err := s.Store.Link(ctx, id, backend, by, files)
	if err == nil {
		s.url = l.URL(&files[0])
	}
	return l, err
}

// What a file field is sent that is no file of this person, for this
// question, is refused: least of all is it a reference to somewhere else.
func TestAttackFilesThatAreNone(t *testing.T) {
	d := newDesktop(t, fileDefinition)
	again := func(t *testing.T) *desktop { // with the same files, and a question that nobody tried to answer
		return &desktop{newKitWith(t, d.files, withDefinition(fileDefinition)), d.files}
	}
	f, errs, err := d.files.Take(t.Context(), upload.Place{Ask: "ask1", Field: "cv", By: bob}, mustParse(t), "x.pdf", strings.NewReader(pdf))
	if err != nil || len(errs) > 0 {
		t.Fatal(errs, err)
	}
	other, _, err := d.files.Take(t.Context(), upload.Place{Ask: "ask2", Field: "cv", By: ada}, mustParse(t), "x.pdf", strings.NewReader(pdf))
	if err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]part{
		"a url":                       {{"f1", "", "https://elsewhere.example/x.pdf"}},
		"an s3 reference":             {{"f1", "", "s3://bucket/x.pdf"}},
		"a local reference":           {{"f1", "", `{"type":"local","location":"/etc/passwd"}`}},
		"one of our own":              {{"f1", "", "https://gateway.example/files/" + f.ID}},
		"a file of bob's":             {{"f1-kept", "", f.ID}},
		"of another question":         {{"f1-kept", "", other.ID}},
		"a file for a text":           {{"f0", "x.pdf", pdf}},
		"for a field out of the form": {{"f9", "x.pdf", pdf}},
	} {
		t.Run(name, func(t *testing.T) {
			d := again(t)
			p := d.send("/asks/ask1", "ada", append(append([]part{token("ada"), {"f0", "", "Ada"}}, parts...), accept())...)
			p.want(422)
			d.wantNothingSent()
		})
	}
	d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "cv.pdf", pdf}, accept()).want(200)
}

func TestAttackUpload(t *testing.T) {
	for name, c := range map[string]struct {
		as     string
		parts  []part
		status int
	}{
		"no token":                  {"ada", []part{{"f1", "cv.pdf", pdf}, accept()}, 403},
		"the token behind the file": {"ada", []part{{"f1", "cv.pdf", pdf}, token("ada"), accept()}, 422},
		"somebody else's token":     {"ada", []part{token("bob"), {"f1", "cv.pdf", pdf}, accept()}, 403},
		"two tokens":                {"ada", []part{token("ada"), token("ada"), {"f1", "cv.pdf", pdf}, accept()}, 403},
		"somebody else":             {"bob", []part{token("bob"), {"f1", "cv.pdf", pdf}, accept()}, 404},
		"nobody":                    {"", []part{token("ada"), {"f1", "cv.pdf", pdf}, accept()}, 401},
		"too much text":             {"ada", []part{token("ada"), {"f0", "", strings.Repeat("x", maxPost)}, accept()}, 413},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesktop(t, fileDefinition)
			d.send("/asks/ask1", c.as, append([]part{{"f0", "", "Ada"}}, c.parts...)...).want(c.status)
			d.wantNothingSent()
			for _, who := range []ask.Principal{ada, bob} {
				if files, err := d.files.Kept(t.Context(), "ask1", who); err != nil || len(files) != 0 {
					t.Errorf("kept are %v %v", files, err)
				}
			}
		})
	}
	d := newDesktop(t, fileDefinition)
	d.send("/asks/ask1", "ada", part{"f0", "", "Ada"}, token("ada"), part{"f1", "cv.pdf", pdf}, accept()).want(200)
}

func TestFormThatAsksForAFileNeedsAPlaceForIt(t *testing.T) {
	k := newKit(t, withDefinition(fileDefinition))
	p := k.get("/asks/ask1", "ada")
	p.says("It asks for a file, and this page takes none.")
	if b := p.buttons(); len(b) != 2 {
		t.Errorf("the buttons are %v", b)
	}
}

func TestStoreThatIsFullKeepsWhatWasTyped(t *testing.T) {
	d := newDesktop(t, fileDefinition)
	d.cfg.Files = fullStore{d.files}
	p := d.send("/asks/ask1", "ada", token("ada"), part{"f0", "", "Ada"}, part{"f1", "cv.pdf", pdf}, accept())
	p.want(503)
	p.says("Your files could not be kept. There is no room.")
	if p.typed().Get("f0") != "Ada" {
		t.Error("what was typed is lost")
	}
	d.wantNothingSent()
}

type fullStore struct{ *upload.Store }

func (fullStore) Take(context.Context, upload.Place, *form.Form, string, io.Reader) (upload.File, form.Errors, error) {
	return upload.File{}, nil, ask.Errorf(ask.StoreFull, "There is no room.")
}

func mustParse(t testing.TB) *form.Form {
	t.Helper()
	f, err := form.Parse([]byte(fileDefinition))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
