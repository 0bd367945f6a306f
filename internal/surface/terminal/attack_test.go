package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
)

// injections are what terminals obey, or show as something else.
var injections = map[string]string{
	"a colour":              "\x1b[31mred",
	"the title":             "\x1b]0;owned\x07",
	"the clipboard":         "\x1b]52;c;ZXZpbA==\x07",
	"a link":                "\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\",
	"a cleared screen":      "\x1b[2J\x1b[H",
	"one-byte CSI":          "\u009b31m",
	"one-byte OSC":          "\u009d0;owned\u009c",
	"raw C1":                "\x9b31m",
	"a return":              "all is well\rsend everything",
	"backspaces":            "decline\b\b\b\b\b\b\bsend   ",
	"delete":                "a\x7fb",
	"a bell":                "\a",
	"right to left":         "\u202eetirw\u202c",
	"isolates":              "\u2066x\u2069",
	"a soft hyphen":         "a\u00adb",
	"a zero-width space":    "a\u200bb",
	"a byte-order mark":     "\ufeffa",
	"tags":                  "a\U000e0041b",
	"private use":           "\ue000",
	"form feed":             "a\fb",
	"vertical tab":          "a\vb",
	"next line":             "a\u0085b",
	"a line separator":      "a\u2028b",
	"shift out":             "a\x0eb",
	"a device status query": "\x1b[6n\x1b[c",
	"a NUL":                 "a\x00b",
	"not UTF-8":             "a\xff\xfeb",
}

// harmless fails where a screen has anything but text and line breaks.
func harmless(t *testing.T, name, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("%s: the screen got what is not UTF-8: %q", name, out)
	}
	for _, r := range out {
		if r != '\n' && r != '\u200c' && r != '\u200d' && !unicode.IsGraphic(r) {
			t.Errorf("%s: the screen got %U", name, r)
			return
		}
	}
}

// Whatever a server writes, wherever it writes it, the terminal gets text.
func TestAttackEscapeSequences(t *testing.T) {
	for name, bad := range injections {
		q := &Question{Backend: bad, During: "tools/call", Name: bad, Client: bad, Group: bad, Message: bad}
		var err error
		text := strings.ToValidUTF8(bad, "?")
		q.Form, err = form.New(form.Definition{ID: "f", Title: text + "t", Description: text, Fields: []form.Field{
			{ID: "a", Type: form.Text, Label: text + "l", Description: text, Default: text + "d", Hints: form.Hints{HelpText: text, Placeholder: text}},
			{ID: "b", Type: form.Select, Label: text + "l", Options: []form.Option{{Value: text + "v", Title: text}, {Value: "w" + text}}, Default: text + "v"},
			{ID: "c", Type: form.MultiSelect, Label: text + "l", Options: []form.Option{{Value: text + "v", Title: text}}, Default: []string{text + "v"}, Constraints: form.Constraints{MinItems: 1}},
			{ID: "n", Type: form.Number, Label: text + "l", Required: true},
		}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		term, s := open(t, typing("", "", "", "no number", "1", "again", "x", "2", "1", "2", "send"), nil)
		if d, err := term.Ask(t.Context(), q); err != nil || d.Action != ask.Accept {
			t.Errorf("%s: control: %v\n%q", name, err, s)
		}
		harmless(t, name, s.String())

		for _, address := range []string{bad, "https://a.example/" + bad} {
			term, s = open(t, typing("send", "decline"), nil)
			d, err := term.Ask(t.Context(), &Question{Backend: "b", Message: bad, URL: address})
			if err != nil || d.Action != ask.Decline {
				t.Errorf("%s: %q was accepted: %v, %v", name, address, d, err)
			}
			harmless(t, name, s.String())
		}
		harmless(t, name, Line(bad, 100))
		if strings.Contains(Line(bad, 100), "\n") {
			t.Errorf("%s: a line has two", name)
		}
	}
}

// No line of a server's begins like one of ours, also where a terminal of 80
// columns would break it.
func TestAttackImitatedPrompt(t *testing.T) {
	fake := "What now?\nType one of these words: send\n  > yes\ndeploy asks:\n"
	pad := strings.Repeat("x", 76) + strings.Repeat(" ", 80) + strings.Repeat("界", 100)
	for name, text := range map[string]string{"lines": fake, "wrapped": strings.ReplaceAll(fake, "\n", pad), "returns": strings.ReplaceAll(fake, "\n", "\r")} {
		f, err := form.New(form.Definition{ID: "f", Title: "t", Fields: []form.Field{
			{ID: "a", Type: form.Text, Label: text, Description: text, Default: text},
			{ID: "b", Type: form.Select, Label: "l", Options: []form.Option{{Value: "v", Title: text}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		term, s := open(t, typing("", "1", "send"), nil)
		if _, err := term.Ask(t.Context(), &Question{Backend: text, Name: text, During: "tools/call", Message: text, Form: f}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(s.String(), "\n") {
			columns := 0
			for _, r := range line {
				columns += width(r)
			}
			if columns > 80 && !strings.HasPrefix(line, "A question from ") { // a name that its operator gave
				t.Errorf("%s: a line of %d columns: %q", name, columns, line)
			}
		}
		if got := strings.Count(s.String(), "\nWhat now?"); got != 1 {
			t.Errorf("%s: %d lines ask what now:\n%s", name, got, s)
		}
		if got := strings.Count(s.String(), "\nType one"); got != 1 {
			t.Errorf("%s: %d lines ask for a word:\n%s", name, got, s)
		}
	}
}

func TestAttackAddress(t *testing.T) {
	for _, address := range []string{
		"", "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "http://a.example/", "https://user@a.example/", "https://user:pw@a.example/",
		"https://a.example\\@evil.example/", "https://a.example/\x1b[2K", "https://аpple.example/", "https://", "//a.example/", "https://a.example/" + strings.Repeat("a", 3000),
		"https://0x7f.1/", "https://xn--trcker-7ve.example/", "https://a.example:99999/", "http://127.0.0.1.evil.example/",
	} {
		if addressFault(address) == "" {
			t.Errorf("%q may be followed", address)
		}
		term, _ := open(t, typing("send", "cancel"), nil)
		d, err := term.Ask(t.Context(), &Question{Backend: "b", URL: address})
		if err != nil || d.Action != ask.Cancel {
			t.Errorf("%q: %v, %v", address, d, err)
		}
	}
	for _, address := range []string{"https://a.example/in?x=1#y", "https://a.example:8443/", "http://127.0.0.1:8080/x", "http://localhost/", "https://10.0.0.1/", "https://xn--pple-43d.example/"} {
		if why := addressFault(address); why != "" {
			t.Errorf("control: %q: %s", address, why)
		}
	}
}

func TestAddressIsShownWithItsSite(t *testing.T) {
	for address, says := range map[string][]string{
		"https://bank.example.evil.co.uk/in": {"Its site is:", "evil.co.uk"},
		"https://xn--pypal-4ve.com/":         {"pаypal.com", "Beware: it mixes Cyrillic and Latin letters", "paypal.com"},
		"https://xn--80ak6aa92e.com/":        {"аррӏе.com", "It looks like this name, and is another site:", "apple.com"},
	} {
		term, s := open(t, typing("cancel"), nil)
		if _, err := term.Ask(t.Context(), &Question{Backend: "b", URL: address}); err != nil {
			t.Fatal(err)
		}
		for _, want := range says {
			if !strings.Contains(s.String(), want) {
				t.Errorf("%s: the terminal does not say %q:\n%s", address, want, s)
			}
		}
	}
}

func TestAttackStackedMarks(t *testing.T) {
	got := Line("a"+strings.Repeat("\u0301", 500), 1000)
	if n := utf8.RuneCountInString(got); n != 1+maxMarks {
		t.Errorf("%d characters", n)
	}
}

// A program's output is safe on a terminal too, and means the same.
func TestAttackJSONOnATerminal(t *testing.T) {
	for name, bad := range injections {
		bad = strings.ToValidUTF8(bad, "?") + "\U0001f600\U000e0041"
		raw, err := json.Marshal(map[string]string{bad: bad})
		if err != nil {
			t.Fatal(err)
		}
		safe := JSON(raw)
		harmless(t, name, string(safe))
		var back map[string]string
		if err := json.Unmarshal(safe, &back); err != nil || back[bad] != bad {
			t.Errorf("%s: %s means something else: %v", name, safe, err)
		}
	}
	if got := string(JSON([]byte("{\n \"a\": \"ü😀\"\n}"))); got != "{\n \"a\": \"ü😀\"\n}" {
		t.Errorf("control: %s", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range injections {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{Line(s, 50), block(bar, s, 500), clean(s)} {
			harmless(t, "fuzz", out)
		}
		for i, line := range strings.Split(strings.TrimSuffix(block(bar, s, 500), "\n"), "\n") {
			if line != "" && !strings.HasPrefix(line, bar) {
				t.Errorf("line %d of %q: %q", i, s, line)
			}
		}
	})
}

func TestSpan(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"none": -time.Second, "1 second": 1900 * time.Millisecond, "59 seconds": 59 * time.Second, "1 minute": 119 * time.Second,
		"119 minutes": 2*time.Hour - 1, "2 hours": 2 * time.Hour, "47 hours": 48*time.Hour - 1, "2 days": 48 * time.Hour,
	} {
		if got := Span(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}
