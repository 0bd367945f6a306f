package page

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	asked "github.com/answerback/answerback/internal/question"
)

// FuzzPost posts anything at a form with fields of every kind: whatever is
// taken is what the form accepts, and everything else changes nothing.
func FuzzPost(f *testing.F) {
	token := answerForm("session of ada", "ask1").Encode()
	for _, body := range []string{
		token, token + "&f0=spring&f11=0&f13=0", token + "&f0=%ff&f7=1e400&f10=-1&f12=99", token + "&f0=a&f0=b&f5=2026-12-01T10:00", "%zz", "action=decline",
	} {
		f.Add(everything, body)
		f.Add(`{"a":{"type":"number","minimum":1e99}}`, body)
	}
	f.Fuzz(func(t *testing.T, properties, body string) {
		a := withSchema(properties, `[]`)
		k := newKit(t, a)
		for _, path := range []string{"/asks/ask1/extend", "/asks/ask1"} {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set(asHeader, "ada")
			w := httptest.NewRecorder()
			k.ServeHTTP(w, r)
			switch w.Code {
			case 200, 400, 403, 409, 413, 422:
			default:
				t.Fatalf("status %d", w.Code)
			}
			if w.Code != 200 && len(k.submitted()) > 0 {
				t.Fatalf("status %d, and something was sent", w.Code)
			}
		}
		for _, answer := range k.submitted() {
			content, accepted := bytes.CutPrefix(answer.Result, []byte(`{"action":"accept","content":`))
			if !accepted {
				continue
			}
			fm, err := asked.Read(a.Params).Form(form.NewCache(nil, 1))
			if err != nil {
				t.Fatalf("a form was answered that is none: %v", err)
			}
			if _, errs := fm.Decode(bytes.TrimSuffix(content, []byte("}")), nil); errs != nil {
				t.Fatalf("%s was taken, which the form refuses: %v", content, errs)
			}
		}
	})
}

// FuzzUpload posts anything in parts at a form with files: what is kept is
// what the form takes, and an answer is sent only if it is whole.
func FuzzUpload(f *testing.F) {
	good := []part{token("ada"), {"f0", "", "Ada"}, {"f1", "cv.pdf", pdf}, {"f2", "a.txt", "words"}, accept()}
	kind, body := encode(f, good...)
	_, boundary, _ := strings.Cut(kind, "boundary=")
	f.Add(boundary, body)
	f.Add(boundary, strings.ReplaceAll(body, "filename", "file\x00name"))
	f.Add(boundary, strings.Replace(body, pdf, "<html>", 1))
	f.Add(boundary, body[:len(body)/2])
	f.Add(boundary, strings.Replace(body, `name="f0"`, `name="f0"; filename*=utf-8\'\'%2e%2e%2fx`, 1))
	f.Add("x", "--x\r\n\r\n--x--")
	f.Fuzz(func(t *testing.T, boundary, body string) {
		d := newDesktop(t, fileDefinition)
		for _, path := range []string{"/asks/ask1/files", "/asks/ask1/extend", "/asks/ask1"} {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
			r.Header.Set(asHeader, "ada")
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			switch w.Code {
			case 200, 400, 403, 409, 413, 415, 422:
			default:
				t.Fatalf("status %d", w.Code)
			}
			kept, err := d.files.Kept(t.Context(), "ask1", ada)
			if err != nil {
				t.Fatal(err)
			}
			for i := range kept {
				if errs := mustParse(t).CheckUpload(kept[i].Field, kept[i].Upload()); len(errs) > 0 {
					t.Fatalf("%+v is kept, which the form refuses: %v", kept[i], errs)
				}
			}
		}
		for _, a := range d.submitted() {
			if a.Action == ask.Accept && !bytes.Contains(a.Result, []byte(`"cv":"https://gateway.example/files/`)) {
				t.Fatalf("without its file was sent %s", a.Result)
			}
		}
	})
}
