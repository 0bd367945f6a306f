package page

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
)

// every is a form whose fields, of all types, have every hint that takes a
// text, set to the same one.
func every(text string) string {
	q := string(quote(text))
	hints := `"placeholder":` + q + `,"helpText":` + q + `,"autocomplete":` + q + `,"acceptAttribute":` + q + `,"displayFormat":` + string(quote("YYYY"+text))
	access := `"accessibility":{"ariaLabel":` + q + `,"ariaDescribedBy":` + q + `,"tabIndex":5,"required":true,"invalid":true}`
	var fields []string
	add := func(id, kind, more, rendering string) {
		fields = append(fields, `{"id":"`+id+`","type":"`+kind+`","label":`+q+`,`+more+`"rendering":{`+hints+rendering+`},`+access+`}`)
	}
	options := `"options":[{"value":"1","title":` + q + `},"2"],`
	for _, style := range []string{"text", "email", "tel", "password"} {
		add("t"+style, "text", "", `,"displayStyle":"`+style+`","gridColumn":100000,"gridRow":100000,"breakAfter":true`)
	}
	for _, kind := range []string{"text", "password", "email", "tel", "url", "number", "date", "time", "datetime_local"} {
		add("i"+kind, "text", "", `,"inputType":"`+kind+`"`)
	}
	add("area", "text", "", `,"rows":100000`)
	add("num", "number", `"validation":{"minimum":0,"maximum":9},`, `,"displayStyle":"slider","step":0.5`)
	for _, style := range []string{"checkbox", "toggle", "radio", "segmented"} {
		add("b"+style, "boolean", "", `,"displayStyle":"`+style+`"`)
	}
	for _, style := range []string{"dropdown", "radio", "segmented"} {
		add("s"+style, "select", options, `,"displayStyle":"`+style+`","searchable":true`)
	}
	for _, style := range []string{"checkbox", "chips", "multiselect_dropdown"} {
		add("m"+style, "multi_select", options, `,"displayStyle":"`+style+`","searchable":true`)
	}
	add("url", "url", "", `,"testButton":true`)
	add("file", "file", "", `,"dragAndDrop":true,"preview":true`)
	add("date", "date", `"default":"2026-12-01",`, "")
	add("when", "date", "", `,"enableTime":true,"validationTrigger":"on_change","debounceMs":100000`)
	add("fixed", "date", `"default":"2026-12-01",`, `,"readonly":true`)
	return `{"id":"h","title":"T","fields":[` + strings.Join(fields, ",") + `]}`
}

var (
	classes = regexp.MustCompile(`^[a-z0-9 -]*$`)
	types   = []string{"hidden", "text", "password", "email", "tel", "url", "number", "date", "time", "datetime-local", "checkbox", "radio", "file"}
)

// TestAttackHints: a hint becomes text or one of a few values, whatever it
// says. Every page is parsed, and checked for elements and attributes that do
// not belong there.
func TestAttackHints(t *testing.T) {
	for _, text := range append([]string{"x\u202ey", "off; style=x", "current-password", "billing evil"}, hostile...) {
		d := newDesktop(t, every(text))
		fresh := d.get("/asks/ask1", "ada")
		if strings.ContainsAny(fresh.body, "\u202e\x00") {
			t.Errorf("%q: the page has a control", text)
		}
		for _, p := range []*page{fresh, d.post("/asks/ask1", "ada", url.Values{"f0": {text}, "f4": {text}, "f10": {text}, "action": {"accept"}})} {
			p.root.walk(func(n *node) {
				if !classes.MatchString(n.attr["class"]) {
					t.Errorf("%q: class %q", text, n.attr["class"])
				}
				if n.name == "input" && !slices.Contains(types, n.attr["type"]) {
					t.Errorf("%q: an input has the type %q", text, n.attr["type"])
				}
				if auto := n.attr["autocomplete"]; auto != "" && !slices.Contains([]string{"off", "email", "tel", "url"}, auto) {
					t.Errorf("%q: autocomplete %q", text, auto)
				}
				if tab, ok := n.attr["tabindex"]; ok && tab != "-1" { // that of the summary of mistakes
					t.Errorf("%q: tabindex %q", text, tab)
				}
				if n.name == "a" && n.attr["target"] == "_blank" && n.attr["href"] != "" {
					t.Errorf("%q: a link to %q", text, n.attr["href"])
				}
			})
		}
	}
}

func TestEveryHintIsDrawn(t *testing.T) {
	d := newDesktop(t, every("Text"))
	p := d.get("/asks/ask1", "ada")
	p.want(200)
	for _, want := range []string{
		`type="email"`, `type="tel"`, `type="url"`, `type="date"`, `type="time"`, `type="datetime-local"`, `type="number"`, `type="password"`,
		`rows="20"`, `step="0.5"`, `role="switch"`, `class="pick seg"`, `class="pick chips"`, `class="fold"`, `class="dropzone"`, `class="break"`,
		`class="fields grid"`, `row-6`, `<option value="">Text</option>`, `id="f27-written" for="f27">2026Text`,
	} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestAutocompleteIsOnTheList(t *testing.T) {
	for hint, want := range map[string]string{
		"username": "username", "Work  EMAIL": "work email", "billing postal-code": "billing postal-code", "shipping mobile tel": "shipping mobile tel",
		"off": "off", "on": "on", "section-x email": "", "nonsense": "", "email work": "", "home country": "", "tel tel": "", "on email": "",
		"current-password": "off", "new-password": "new-password", "one-time-code": "one-time-code", "cc-number": "off", "billing cc-csc": "off", "new-password x": "off",
	} {
		fd := &form.Field{Type: form.Text, Hints: form.Hints{Autocomplete: hint}}
		fd.Sensitive = strings.Contains(hint, "password") || strings.Contains(hint, "code") && !strings.Contains(hint, "postal") || strings.Contains(hint, "cc-")
		if got := autocomplete(fd, ""); got != want {
			t.Errorf("%q is passed on as %q, want %q", hint, got, want)
		}
	}
}

func TestSliderStopsWhereTheFormDoes(t *testing.T) {
	for _, tt := range []struct{ min, max, multiple, step, want string }{
		{"0", "1", "", "0.05", `{"min":"0","max":"1","step":"0.05"}`},
		{"1", "20", "2", "", `{"min":"2","max":"20","step":"2"}`},
		{"-5", "5", "2", "", `{"min":"-4","max":"5","step":"2"}`},
		{"0", "100", "", "", `{"min":"0","max":"100","step":"1"}`},
		{"0", "2", "", "", `{"min":"0","max":"2","step":"0.02"}`},
		{"0.1", "0.7", "0.1", "", `{"min":"0.1","max":"0.7","step":"0.1"}`},
		{"1e2", "1E3", "", "", `{"min":"100","max":"1000","step":"1"}`},
		{"0", "", "", "", `null`},
		{"", "1", "", "", `null`},
		{"1", "1", "", "", `null`},
		{"0", "1e300", "", "", `null`},
		{"0", "1", "1e-300", "", `{"min":"0","max":"1","step":"0.01"}`},
	} {
		fd := &form.Field{Type: form.Number, Hints: form.Hints{DisplayStyle: "slider", Step: json.Number(tt.step)}}
		fd.Constraints = form.Constraints{Minimum: json.Number(tt.min), Maximum: json.Number(tt.max), MultipleOf: json.Number(tt.multiple)}
		if got, _ := json.Marshal(sliderOf(fd)); string(got) != tt.want {
			t.Errorf("%+v: slider %s", tt, got)
		}
	}
}

func TestDatesInTheFormatOfTheForm(t *testing.T) {
	for _, tt := range [][3]string{
		{"YYYY-MM-DD", "2026-12-01", "2026-12-01"},
		{"D.M.YY", "2026-02-03", "3.2.26"},
		{"D MMMM YYYY", "2026-02-03", "3 February 2026"},
		{"MMM DD", "2026-02-03", "Feb 03"},
		{"DD.MM.YYYY HH:mm:ss", "2026-02-03T04:05:06Z", "03.02.2026 04:05:06"},
		{"H:mm", "2026-02-03T04:05", "4:05"},
		{"D.M.", "not a date", ""},
		{"", "2026-02-03", ""},
	} {
		if got := writeDate(dateFormat(tt[0]), tt[1]); got != tt[2] {
			t.Errorf("%s in %q is %q, want %q", tt[1], tt[0], got, tt[2])
		}
	}
	for _, none := range []string{"", "yyyy", "<b>"} {
		if got := dateFormat(none); got != "" {
			t.Errorf("%q is a format: %q", none, got)
		}
	}
}

// A browser's controls for times leave out the offset, which is UTC's; and they
// drop what is no time, which is then shown as text.
func TestNativeControlsLoseNothing(t *testing.T) {
	k := newKit(t, withDefinition(`{"id":"n","title":"N","fields":[
		{"id":"at","type":"text","label":"At","validation":{"format":"time"},"rendering":{"inputType":"time"},"default":"10:00:00Z"},
		{"id":"when","type":"text","label":"When","validation":{"format":"date-time"},"rendering":{"inputType":"datetime_local"},"default":"2026-12-01T10:00:00+02:00"},
		{"id":"day","type":"text","label":"Day","rendering":{"inputType":"date"},"default":"tomorrow"},
		{"id":"n","type":"number","label":"N","rendering":{"step":2}},
		{"id":"d","type":"date","label":"D","rendering":{"enableTime":true}},
		{"id":"b","type":"boolean","label":"B","required":true,"rendering":{"displayStyle":"radio"}}]}`))
	p := k.get("/asks/ask1", "ada")
	typed := p.typed()
	for id, want := range map[string]string{"f0": "10:00:00", "f1": "2026-12-01T08:00:00", "f2": "tomorrow"} {
		if typed.Get(id) != want {
			t.Errorf("%s begins with %q, want %q", id, typed.Get(id), want)
		}
	}
	if !strings.Contains(p.body, `<input type="text" value="tomorrow"`) {
		t.Error("a text that is no date is in a control that drops it")
	}
	p = k.press("ask1", "ada", "accept", url.Values{"f3": {"two"}, "f4": {"soon"}})
	p.want(422)
	p.says("B: Choose Yes or No: this is needed.")
	if got := p.typed(); got.Get("f3") != "two" || got.Get("f4") != "soon" || !strings.Contains(p.body, `<input type="text" value="two"`) {
		t.Errorf("after a mistake the fields hold %q and %q", got.Get("f3"), got.Get("f4"))
	}
	k.press("ask1", "ada", "accept", url.Values{"f0": {"14:30"}, "f1": {"2026-12-01T14:30"}, "f2": {"2026-12-02"}, "f3": {"4"}, "f4": {"2026-12-03T01:02"}, "f5": {"off"}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"at":"14:30:00Z","when":"2026-12-01T14:30:00Z","day":"2026-12-02","n":4,"d":"2026-12-03T01:02:00Z","b":false}}`)
}

func TestSpokenNameKeepsTheLabel(t *testing.T) {
	for _, tt := range [][3]string{
		{"Name", "Name of the release", "of the release"},
		{"Name", "name of the release", "of the release"},
		{"Name", "Names of people", "Names of people"},
		{"Name", "Release", "Release"},
		{"Name", "Name", ""},
		{"Name", "", ""},
		{"Größe", "GRÖSSE x", "GRÖSSE x"},
	} {
		if got := spoken(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q is said after %q as %q, want %q", tt[1], tt[0], got, tt[2])
		}
	}
}
