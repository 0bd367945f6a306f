//go:build browser

package browser

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const galleryQuestion = "Please fill this in"

// galleryStage puts a gallery to ann.
func galleryStage(t *testing.T, g gallery, e eyes) (*tab, string, func() string) {
	t.Helper()
	s := newStage(t, "  ops: { url: "+asking(t, defined(galleryQuestion, g.form)).URL+" }\n")
	ann, at, call := s.asked("ann", e)
	return ann, at, func() string { t.Helper(); return got(t, call.Final()) }
}

// TestHintsAreDrawn: each type of field with each of its hints, with and
// without our script. It fits at every width, axe-core finds nothing, and
// assistive technology is told what testdata has.
func TestHintsAreDrawn(t *testing.T) {
	for name, g := range galleries {
		for _, plain := range []bool{false, true} {
			page := "hints-" + strings.ReplaceAll(name, "_", "-")
			if plain {
				page += "-plain"
			}
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				ann, _, _ := galleryStage(t, g, eyes{plain: plain})
				for _, e := range g.tree {
					var n int
					if ann.do("has", map[string]any{"role": e[0], "name": e[1]}, &n); n == 0 {
						t.Errorf("there is no %s with the name %q", e[0], e[1])
					}
				}
				if name == "file" && !plain {
					previewed(ann)
				}
				ann.hold(page)
				if !plain {
					ann.keep(page + "-390.png")
				}
				if name == "text" && !plain {
					ann.keep(page + "-1280.png") // fields beside each other
				}
			})
		}
	}
}

// TestHintsAreAnswered: what is typed into the galleries is what the server
// gets, with and without a script, on a phone and on a desktop, with text of
// the usual and of twice the usual size.
func TestHintsAreAnswered(t *testing.T) {
	for name, g := range galleries {
		if g.fill == nil {
			continue
		}
		for _, e := range []eyes{{width: 390}, {width: 390, noJS: true}, {width: 320, large: true}, {width: 1280, large: true, noJS: true}} {
			t.Run(name+", "+e.String(), func(t *testing.T) {
				t.Parallel()
				ann, _, answer := galleryStage(t, g, e)
				g.fill(ann, e)
				if faults := ann.misfits(320, 390, 1280); faults != "" {
					t.Error(faults)
				}
				contains(t, ann.press("Send answer"), "Your answer is on its way back")
				equal(t, "the answer", answer(), `{"action":"accept","content":`+g.answer+`}`)
			})
		}
	}
}

// TestHintsSurviveAMistake: what was typed without a script is there again
// after a mistake in another field, whatever the field looks like.
func TestHintsSurviveAMistake(t *testing.T) {
	t.Parallel()
	ann, _, answer := galleryStage(t, galleries["boolean"], eyes{width: 390, noJS: true})
	ann.check("Send mail")
	ann.uncheck("Tell the team")
	ann.pick("Keep the old one (optional)", "No")
	ann.fill("SMTP port", "587")
	p := ann.press("Send answer")
	if p.Status != http.StatusUnprocessableEntity {
		t.Errorf("a form without a required answer got status %d", p.Status)
	}
	contains(t, p, "Publish now: Choose Yes or No: this is needed.")
	if !ann.checked("Send mail") || ann.checked("Tell the team") {
		t.Error("the switches have forgotten what they were")
	}
	ann.pick("Publish now", "Yes")
	ann.press("Send answer")
	equal(t, "the answer", answer(), `{"action":"accept","content":{"beta":true,"keep":false,"live":true,"loud":false,"mode":false,"port":587,"smtp":true,"tls":true}}`)

	ann, _, answer = galleryStage(t, galleries["number"], eyes{width: 390, noJS: true})
	ann.fill("Copies", "3")
	ann.fill("Port", "8080")
	contains(t, ann.press("Send answer"), "Copies: Enter a multiple of 2.")
	equal(t, "the port", ann.value("Port"), "8080")
	ann.fill("Copies", "2")
	ann.press("Send answer")
	equal(t, "the answer", answer(), `{"action":"accept","content":{"even":2,"port":8080,"share":0.5,"zone":3}}`)
}

// TestHintsForAssistiveTechnology: the attributes that the accessibility hints
// and the input types become.
func TestHintsForAssistiveTechnology(t *testing.T) {
	t.Parallel()
	ann, _, _ := galleryStage(t, galleries["text"], eyes{plain: true})
	for label, want := range map[string]map[string]string{
		"Username at the tracker": {"autocomplete": "username", "placeholder": "ann-example", "aria-required": "true", "type": "text"},
		"E-mail":                  {"autocomplete": "work email", "type": "email", "inputmode": "email"},
		"Telephone (optional)":    {"type": "tel", "aria-required": ""},
		"Branch code (optional)":  {"type": "text", "inputmode": "decimal"},
		"Home page (optional)":    {"type": "url"},
		"First day (optional)":    {"type": "date"},
		"Call at (optional)":      {"type": "time"},
		"Meeting (optional)":      {"type": "datetime-local"},
		"Notes (optional)":        {"rows": "8"},
		"Short name":              {"aria-required": "true", "aria-invalid": ""},
		"Team (optional)":         {"aria-invalid": "true", "tabindex": ""},
		"Code from the message":   {"type": "password", "autocomplete": "one-time-code"},
	} {
		for name, value := range want {
			equal(t, name+" of "+label, ann.attribute(label, name), value)
		}
	}
	equal(t, "what describes the team", ann.described("Team (optional)"), "The server says that this is not right. Check it. As in the tracker.")
	if ann.shown("Origin") {
		t.Error("a hidden field is shown")
	}
}

// TestGrid: fields stand beside each other where there is room, and below each
// other on a phone.
func TestGrid(t *testing.T) {
	t.Parallel()
	ann, _, _ := galleryStage(t, galleries["text"], eyes{width: 1280})
	tops := func() (user, mail, phone, home, notes, slug, team int) {
		return ann.top("Username at the tracker"), ann.top("E-mail"), ann.top("Telephone (optional)"), ann.top("Home page (optional)"),
			ann.top("Notes (optional)"), ann.top("Short name"), ann.top("Team (optional)")
	}
	user, mail, phone, home, notes, slug, team := tops()
	if user >= phone || mail >= phone || phone >= home {
		t.Errorf("at 1280 px the rows begin at %d, %d; %d; %d", user, mail, phone, home)
	}
	if notes > slug || slug >= team || team > notes+400 {
		t.Errorf("at 1280 px the notes at %d do not stand beside %d and %d", notes, slug, team)
	}
	ann.misfits(390)
	user, mail, phone, home, notes, slug, team = tops()
	if user >= mail || mail >= phone || phone >= home || notes >= slug || slug >= team {
		t.Errorf("at 390 px the fields begin at %d %d %d %d %d %d %d", user, mail, phone, home, notes, slug, team)
	}
}

// TestValidationTriggers: a field says what is wrong when its form wants it to.
func TestValidationTriggers(t *testing.T) {
	t.Parallel()
	field := `{"id":"%[1]s","type":"text","label":"%[1]s","required":true,"validation":{"minLength":3},"rendering":{"validationTrigger":"%[1]s","debounceMs":%[2]d}}`
	form := `{"id":"g","title":"G","fields":[` + fmt.Sprintf(field, "on_change", 500) + `,` + fmt.Sprintf(field, "on_blur", 1) + `,` + fmt.Sprintf(field, "on_submit", 1) + `]}`
	ann, _, _ := galleryStage(t, gallery{form: form}, eyes{clock: true})
	const words = "Use at least 3 characters"
	said := func(label string) bool { t.Helper(); return strings.Contains(ann.described(label), words) }
	forward := func(ms int) { t.Helper(); ann.do("forward", map[string]any{"ms": ms}, nil) }

	ann.do("still", nil, nil)
	ann.fill("on_change", "a")
	forward(499)
	if said("on_change") {
		t.Error("on_change speaks before the typing has paused")
	}
	forward(2)
	if !said("on_change") {
		t.Error("on_change says nothing while it is typed")
	}
	ann.fill("on_change", "abc")
	forward(501)
	if said("on_change") {
		t.Error("on_change goes on when it is right")
	}

	ann.fill("on_blur", "a")
	forward(1000)
	if said("on_blur") {
		t.Error("on_blur speaks while it is typed")
	}
	ann.do("leave", nil, nil)
	if !said("on_blur") {
		t.Error("on_blur says nothing when it is left")
	}

	ann.fill("on_submit", "a")
	ann.do("leave", nil, nil)
	forward(1000)
	if said("on_submit") {
		t.Error("on_submit speaks before the form is sent")
	}
	ann.tap("Send answer")
	if !said("on_submit") {
		t.Error("on_submit says nothing when the form is sent")
	}
}

// previewed gives the files of the gallery and waits until they are shown.
func previewed(v *tab) {
	v.t.Helper()
	dir := v.t.(*testing.T).TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("listen: 127.0.0.1:8080\nlevel: <b>info</b>\n"), 0o600); err != nil {
		v.t.Fatal(err)
	}
	v.do("drop", map[string]any{"label": "Configuration", "file": config}, nil)
	v.await("level: <b>info</b>")
	v.do("attach", map[string]any{"label": "Logo (optional)", "files": []map[string]any{{"name": "logo.png", "type": "image/png", "base64": logo}}}, nil)
	v.await("logo.png (")
	var n int
	if v.do("has", map[string]any{"role": "img", "name": "Preview of logo.png"}, &n); n != 1 {
		v.t.Error("the image has no preview")
	}
	v.gone("Sending…")
}

// TestFilesAreDroppedAndPreviewed, and arrive.
func TestFilesAreDroppedAndPreviewed(t *testing.T) {
	t.Parallel()
	ann, _, answer := galleryStage(t, galleries["file"], eyes{width: 390})
	equal(t, "the accept attribute", ann.attribute("Configuration", "accept"), ".json,.yaml")
	previewed(ann)
	contains(t, ann.press("Send answer"), "Your answer is on its way back")
	if a := answer(); len(fileLink.FindAllString(a, -1)) != 2 {
		t.Errorf("the server gets %s", a)
	}
}

// logo returns a small image, as base64.
var logo = func() string {
	img := image.NewNRGBA(image.Rect(0, 0, 96, 64))
	for y := range 64 {
		for x := range 96 {
			c := color.NRGBA{234, 243, 244, 255}
			if (x/16+y/16)%2 == 0 {
				c = color.NRGBA{11, 95, 107, 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a buffer takes everything
	return base64.StdEncoding.EncodeToString(b.Bytes())
}()
