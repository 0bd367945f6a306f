package terminal

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
)

// papers is a question for one file and for several.
func papers(t *testing.T, given *[]string) *Question {
	t.Helper()
	f, err := form.Parse([]byte(`{"id":"f","title":"F","fields":[
		{"id":"cv","type":"file","label":"CV","required":true},
		{"id":"more","type":"file","label":"More","validation":{"maxItems":3}},
		{"id":"name","type":"text","label":"Name"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return &Question{Backend: "b", Form: f, Upload: func(_ context.Context, field, path string) (form.Upload, error) {
		if strings.HasPrefix(path, "bad") {
			return form.Upload{}, errors.New("there is no\x1b[2J such file")
		}
		*given = append(*given, field+"="+path)
		return form.Upload{Name: path, Type: "text/plain", Size: 1}, nil
	}}
}

func TestFilesAreGivenByTheirPaths(t *testing.T) { // F16
	var given []string
	term, screen := open(t, typing("", "bad.pdf", "cv.pdf", "a", "b", "", "Ann", "send"), nil)
	d, err := term.Ask(t.Context(), papers(t, &given))
	if err != nil || d.Action != ask.Accept || string(d.Content) != `{"name":"Ann"}` {
		t.Errorf("decided %v %s, %v", d.Action, d.Content, err)
	}
	if got := strings.Join(given, " "); got != "cv=cv.pdf more=a more=b" {
		t.Errorf("given were %s", got)
	}
	if out := screen.String(); !strings.Contains(out, "there is no") || strings.Contains(out, "\x1b[2J") || !strings.Contains(out, "= cv.pdf") {
		t.Errorf("the screen shows %q", out)
	}
}

func TestFilesGivenBeforeAreKept(t *testing.T) {
	var given []string
	term, _ := open(t, typing("cv.pdf", "", "Ann", "again", "", "", "Bob", "send"), nil)
	d, err := term.Ask(t.Context(), papers(t, &given))
	if err != nil || string(d.Content) != `{"name":"Bob"}` || len(given) != 1 {
		t.Errorf("decided %s, %v, given %v", d.Content, err, given)
	}
}

func TestFilesNeedSomebodyWhoTakesThem(t *testing.T) {
	q := papers(t, nil)
	q.Upload = nil
	term, _ := open(t, typing("cv.pdf"), nil)
	if _, err := term.Ask(t.Context(), q); ask.CodeOf(err) != ask.NotAllowed {
		t.Errorf("error %v", err)
	}
}
