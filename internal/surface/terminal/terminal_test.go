package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keys is somebody who types a line whenever one is read, as a terminal gives
// them, and then goes.
type keys struct {
	lines []string
	rest  string
}

func (k *keys) Read(p []byte) (int, error) {
	if k.rest == "" {
		if len(k.lines) == 0 {
			return 0, io.EOF
		}
		k.rest, k.lines = k.lines[0], k.lines[1:]
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

// typing is keys that end each line.
func typing(lines ...string) *keys {
	k := &keys{}
	for _, l := range lines {
		k.lines = append(k.lines, l+"\n")
	}
	return k
}

// screen is what was printed, and whether what is typed can be seen.
type screen struct {
	bytes.Buffer
	hidden  bool
	hideErr error
	showErr error
}

func (s *screen) hide() (func() error, error) {
	if s.hideErr != nil {
		return nil, s.hideErr
	}
	s.hidden = true
	return func() error { s.hidden = false; return s.showErr }, nil
}

func open(t *testing.T, in io.Reader, change func(*Config)) (*Terminal, *screen) {
	t.Helper()
	s := &screen{}
	cfg := Config{In: in, Out: s, IsTerminal: true, Hide: s.hide, Now: func() time.Time { return time.Unix(1000, 0) }}
	if change != nil {
		change(&cfg)
	}
	term, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return term, s
}

func requested(t *testing.T, properties, required string) *form.Form {
	t.Helper()
	f, err := form.FromRequested([]byte(`{"type":"object","properties":`+properties+`,"required":`+required+`}`), "m")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func question(t *testing.T, properties, required string) *Question {
	t.Helper()
	return &Question{
		Backend: "deploy", During: "tools/call", Name: "release", Client: "editor", Group: "approvers",
		Message: "A few details", Deadline: time.Unix(1250, 0), Form: requested(t, properties, required),
	}
}

const everything = `{
	"name":{"type":"string","title":"Your name","minLength":2},
	"age":{"type":"integer","minimum":18},
	"ok":{"type":"boolean","default":true},
	"pick":{"type":"string","oneOf":[{"const":"a","title":"First"},{"const":"b","title":"Second"}]},
	"some":{"type":"array","items":{"type":"string","enum":["x","y","z"]}},
	"when":{"type":"string","format":"date"},
	"api_key":{"type":"string","description":"The key."},
	"note":{"type":"string","default":"none"}
}`

// filled is an answer to everything, up to the last word.
var filled = []string{"Ada", "36", "", "2", "3, 1", "2026-01-31", "s3cret", "-"}

// wantNone fails where there is a decision, or no sentence that says why not.
func wantNone(t *testing.T, d Decision, err error, code ask.Code) {
	t.Helper()
	if d.Action != ask.NoAction || d.Content != nil {
		t.Errorf("there is a decision: %v %s", d.Action, d.Content)
	}
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || e.Code != code || !strings.Contains(e.Message, "othing was sent") {
		t.Errorf("%v, want %s", err, code)
	}
}

func TestAnswerIsReadFieldByField(t *testing.T) {
	term, s := open(t, typing(append(filled, "send")...), nil)
	d, err := term.Ask(t.Context(), question(t, everything, `["name","age","api_key"]`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"Ada","age":36,"ok":true,"pick":"b","some":["z","x"],"when":"2026-01-31","api_key":"s3cret"}`
	if d.Action != ask.Accept || string(d.Content) != want {
		t.Errorf("%v %s, want %s", d.Action, d.Content, want)
	}
	out := s.String()
	for _, part := range []string{
		"A question from deploy:\n  | A few details\n", "tool       release\n", "called by  editor\n", "group      approvers\n", "time left  4 minutes\n",
		"Field 1 of 8 (text, required)\n  | Your name\n", "(a whole number, required)", "(yes or no, optional)", "     1 First\n     2 Second\n",
		"Enter takes:\n  | yes\n- takes nothing.\n", "(a date, such as 2026-01-31, optional)", "  | The key.\n", "(not shown) > ",
		"  - api_key\n    = (not shown)\n", "  - note\n    = (nothing)\n", "  - pick\n    = Second\n", "send     send this answer\n",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("the screen does not have %q:\n%s", part, out)
		}
	}
	if strings.Contains(out, "s3cret") {
		t.Error("a secret is on the screen")
	}
	if s.hidden {
		t.Error("what is typed stays hidden")
	}
}

// A9: what is done is what was chosen.
func TestDecisions(t *testing.T) {
	for word, action := range map[string]ask.Action{"send": ask.Accept, "decline": ask.Decline, "cancel": ask.Cancel} {
		term, _ := open(t, typing("x", word), nil)
		d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
		if err != nil || d.Action != action || (d.Content != nil) != (action == ask.Accept) {
			t.Errorf("%s: %v %s, %v", word, d.Action, d.Content, err)
		}
	}
	term, _ := open(t, typing("x", "leave"), nil)
	d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
	wantNone(t, d, err, ask.ClientCancelled)
}

// Nothing but the word itself is consent.
func TestOnlyTheWordIsConsent(t *testing.T) {
	for _, line := range []string{"", " ", "y", "yes", "s", "Send", "SEND", "send it", "send send", "accept", "ok", "1", "true", "send\x00", "se\x1bnd", "sеnd", "no", "n", "d", "Decline"} {
		term, _ := open(t, typing("x", line), nil)
		d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
		wantNone(t, d, err, ask.ClientGone)

		term, _ = open(t, typing("x", line, " send "), nil)
		if d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`)); err != nil || d.Action != ask.Accept {
			t.Errorf("control after %q: %v, %v", line, d.Action, err)
		}
	}
	lines := make([]string, 100)
	term, _ := open(t, typing(lines...), nil)
	d, err := term.Ask(t.Context(), question(t, `{}`, `[]`))
	wantNone(t, d, err, ask.ClientGone)
}

// Where the input ends, at any prompt and in the middle of any line, nothing
// is decided.
func TestEndOfInputIsNoConsent(t *testing.T) {
	all := append(append([]string{}, filled...), "send")
	for n := range all {
		for name, last := range map[string]string{
			"EOF": "", "half a line": all[n], "^D": "\x04\n", "^D after the line": all[n] + "\x04\n", "^C": "\x03\n",
		} {
			k := typing(all[:n]...)
			if last != "" {
				k.lines = append(k.lines, last)
			}
			term, s := open(t, k, nil)
			d, err := term.Ask(t.Context(), question(t, everything, `["name","age","api_key"]`))
			code := ask.ClientGone
			if name == "^C" {
				code = ask.ClientCancelled
			}
			wantNone(t, d, err, code)
			if s.hidden {
				t.Errorf("%s at %d: what is typed stays hidden", name, n)
			}
		}
	}
	for n := range 2 {
		term, _ := open(t, typing([]string{"send"}[:n]...), nil)
		d, err := term.Ask(t.Context(), &Question{Backend: "b", URL: "https://a.example/"})
		if n == 0 {
			wantNone(t, d, err, ask.ClientGone)
		} else if err != nil || d.Action != ask.Accept || d.Content != nil {
			t.Errorf("control: %v, %v", d, err)
		}
	}
}

// What was typed ahead, or pasted, answers no question that came after it.
func TestTypedAheadIsNoConsent(t *testing.T) {
	flushed := 0
	flush := func(c *Config) { c.Flush = func() { flushed++ } }
	term, _ := open(t, &keys{lines: []string{"x\nsend\nsend\n"}}, flush)
	d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
	wantNone(t, d, err, ask.ClientGone)
	if flushed == 0 {
		t.Error("the terminal was not told to forget")
	}
	term, _ = open(t, &keys{lines: []string{"x\nsend\n", "send\n"}}, nil)
	if d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`)); err != nil || d.Action != ask.Accept {
		t.Errorf("control: %v, %v", d, err)
	}
}

func TestNoTerminalIsNoConsent(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no terminal": {In: typing("send"), Out: io.Discard},
		"no input":    {Out: io.Discard, IsTerminal: true},
		"no output":   {In: typing("send"), IsTerminal: true},
	} {
		if _, err := Open(cfg); ask.CodeOf(err) != ask.NoClient {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type brokenScreen struct{ after int }

func (b *brokenScreen) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, errors.New("gone")
	}
	return len(p), nil
}

// What could not be shown was not agreed to.
func TestBrokenScreenIsNoConsent(t *testing.T) {
	for after := range 15 {
		term, _ := open(t, typing("send"), func(c *Config) { c.Out = &brokenScreen{after} })
		d, err := term.Ask(t.Context(), question(t, `{}`, `[]`))
		if after < 12 {
			wantNone(t, d, err, ask.NoClient)
		}
	}
	term, _ := open(t, typing("send"), func(c *Config) { c.Out = &brokenScreen{1000} })
	if d, err := term.Ask(t.Context(), question(t, `{}`, `[]`)); err != nil || d.Action != ask.Accept {
		t.Errorf("control: %v, %v", d, err)
	}
}

// device is a terminal at which nobody types, until its deadline.
type device struct {
	end  chan struct{}
	deaf bool // it has no deadlines
}

func (d *device) Read([]byte) (int, error) {
	<-d.end
	return 0, os.ErrDeadlineExceeded
}

func (d *device) SetReadDeadline(time.Time) error {
	if d.deaf {
		return os.ErrNoDeadline
	}
	close(d.end)
	return nil
}

func TestTimeAndInterruptAreNoConsent(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		for _, code := range []ask.Code{ask.Timeout, ask.ClientCancelled} {
			t.Run(fmt.Sprint(code, deaf), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					if code == ask.Timeout {
						ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
					}
					defer cancel()
					in := &device{end: make(chan struct{}), deaf: deaf}
					term, s := open(t, in, nil)
					asked := question(t, `{"password":{"type":"string"}}`, `[]`)
					if code != ask.Timeout {
						time.AfterFunc(time.Second, cancel)
					}
					d, err := term.Ask(ctx, asked)
					wantNone(t, d, err, code)
					if s.hidden {
						t.Error("what is typed stays hidden")
					}
					d, err = term.Ask(ctx, asked) // ended before it began
					wantNone(t, d, err, code)
					if deaf {
						close(in.end) // the read ends with its device
					}
				})
			})
		}
	}
}

// late is a context that ends while a line is being read, unnoticed until it
// was.
type late struct {
	context.Context
	*keys
	over bool
}

func (l *late) Read(p []byte) (int, error) {
	l.over = true
	return l.keys.Read(p)
}

func (l *late) Done() <-chan struct{} { return nil }

func (l *late) Err() error {
	if l.over {
		return context.DeadlineExceeded
	}
	return nil
}

func TestWordAfterTheEndIsNoConsent(t *testing.T) {
	l := &late{Context: t.Context(), keys: typing("send")}
	term, _ := open(t, l, nil)
	d, err := term.Ask(l, question(t, `{}`, `[]`))
	wantNone(t, d, err, ask.Timeout)
}

// One letter is enough for yes and no in a field, and never to send.
func TestOneLetterIsYesOrNo(t *testing.T) {
	for typed, want := range map[string]string{"y": "true", "Y": "true", " y ": "true", "n": "false", "N": "false"} {
		term, _ := open(t, typing(typed, "send"), nil)
		d, err := term.Ask(t.Context(), question(t, `{"ok":{"type":"boolean"}}`, `["ok"]`))
		if err != nil || string(d.Content) != `{"ok":`+want+`}` {
			t.Errorf("%q: %s, %v", typed, d.Content, err)
		}
	}
}

func TestFieldsAreCheckedAtOnce(t *testing.T) {
	lines := []string{
		"A", "Ada", // too short
		"x", "17", "36.5", "", "36", // no number, too young, no whole one, missing
		"maybe", "no",
		"0", "3", "b", "1",
		"1 4", "all", "2,2 3",
		"31.1.2026", "2026-01-31",
		"", "k", // missing
		"hello",
		"send",
	}
	term, s := open(t, typing(lines...), nil)
	d, err := term.Ask(t.Context(), question(t, everything, `["name","age","api_key"]`))
	want := `{"name":"Ada","age":36,"ok":false,"pick":"a","some":["y","z"],"when":"2026-01-31","api_key":"k","note":"hello"}`
	if err != nil || string(d.Content) != want {
		t.Errorf("%s, %v, want %s", d.Content, err, want)
	}
	for _, part := range []string{
		"! Your name must be at least 2 characters\n", "! age must be a number\n", "! age must be 18 or more\n", "! age must be a whole number\n", "! age is required\n",
		"! ok must be yes or no\n", "! Type the number of one of the choices.\n", "! Type the numbers of the choices, with spaces between them.\n",
		"! when must be a date, such as 2026-01-31\n", "! api_key is required\n",
	} {
		if !strings.Contains(s.String(), part) {
			t.Errorf("the screen does not have %q:\n%s", part, s)
		}
	}
}

// F9: what was good survives, and can be changed.
func TestAgainOffersWhatWasTyped(t *testing.T) {
	properties := `{"a":{"type":"string"},"b":{"type":"integer","default":1},"l":{"type":"array","items":{"type":"string","enum":["x","y"]}},"password":{"type":"string"}}`
	term, s := open(t, typing("first", "2", "1", "secret", "again", "", "", "2", "", "again", "-", "-", "-", "-", "send"), nil)
	d, err := term.Ask(t.Context(), question(t, properties, `[]`))
	if err != nil || string(d.Content) != `{"l":[]}` {
		t.Errorf("%s, %v", d.Content, err)
	}
	if strings.Contains(s.String(), "secret\n") {
		t.Error("a secret is on the screen")
	}
	term, _ = open(t, typing("first", "2", "1", "secret", "again", "", "", "2", "", "send"), nil)
	if d, err := term.Ask(t.Context(), question(t, properties, `[]`)); err != nil || string(d.Content) != `{"a":"first","b":2,"l":["y"],"password":"secret"}` {
		t.Errorf("%s, %v", d.Content, err)
	}
}

// An answer that came back is not lost: what was typed is offered again.
func TestAnAnswerThatCameBackIsOfferedAgain(t *testing.T) { // F9
	q := question(t, `{"a":{"type":"string"},"b":{"type":"integer"},"password":{"type":"string"}}`, `[]`)
	term, s := open(t, typing("too long", "2", "secret", "send"), nil)
	d, err := term.Ask(t.Context(), q)
	if err != nil || strings.Contains(s.String(), "not taken") || strings.Contains(s.String(), "the question ends") {
		t.Fatalf("%v\n%s", err, s)
	}
	q.Typed, q.Wrong, q.Last = d.Typed, form.Errors{{Field: "a", Message: "a must be shorter\x1b[2J"}}, true
	term, s = open(t, typing("short", "", "", "send"), nil)
	d, err = term.Ask(t.Context(), q)
	if err != nil || string(d.Content) != `{"a":"short","b":2,"password":"secret"}` {
		t.Errorf("%s, %v", d.Content, err)
	}
	for _, text := range []string{"This answer was not taken:", "a must be shorter", "If something is still wrong the next time, the question ends."} {
		if !strings.Contains(s.String(), text) {
			t.Errorf("the screen does not say %q:\n%s", text, s)
		}
	}
	if harmless(t, "came back", s.String()); strings.Contains(s.String(), "secret\n") {
		t.Error("a secret is on the screen")
	}
}

func TestEmptyInput(t *testing.T) {
	properties := `{"a":{"type":"string"},"n":{"type":"number"},"b":{"type":"boolean"},"p":{"type":"string","enum":["","x"]},"l":{"type":"array","minItems":1,"items":{"type":"string","enum":["x"]}},"d":{"type":"string","format":"date-time","default":"2026-01-31T14:30:00Z"},"e":{"type":"string","format":"email"},"u":{"type":"string","format":"uri"}}`
	for _, end := range []string{"", "\r"} {
		var lines []string
		for range 8 {
			lines = append(lines, end)
		}
		term, _ := open(t, typing(append(lines, "send"+end)...), nil)
		if d, err := term.Ask(t.Context(), question(t, properties, `[]`)); err != nil || string(d.Content) != `{"d":"2026-01-31T14:30:00Z"}` {
			t.Errorf("%q: %s, %v", end, d.Content, err)
		}
	}
}

func TestCRLF(t *testing.T) {
	term, _ := open(t, typing("Ada\r", "12\r", "send\r"), nil)
	d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"},"n":{"type":"integer"}}`, `["s","n"]`))
	if err != nil || string(d.Content) != `{"s":"Ada","n":12}` {
		t.Errorf("%s, %v", d.Content, err)
	}
}

// Lines that a terminal would have cut are not taken; nor are they kept.
func TestLongLines(t *testing.T) {
	fits := strings.Repeat("a", maxLine)
	for _, long := range []string{fits + "a", strings.Repeat("a", 4096), strings.Repeat("a", 1<<20)} {
		term, s := open(t, typing(long, fits, long, "send"), nil)
		d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
		if err != nil || string(d.Content) != `{"s":"`+fits+`"}` {
			t.Errorf("%d: %d bytes, %v", len(long), len(d.Content), err)
		}
		if !strings.Contains(s.String(), "too long for a terminal") {
			t.Error("nobody is told")
		}
	}
	term, _ := open(t, endless{}, nil)
	d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
	wantNone(t, d, err, ask.ClientGone)
	term, _ = open(t, &keys{lines: []string{strings.Repeat("a", 5000)}}, nil)
	d, err = term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
	wantNone(t, d, err, ask.ClientGone)
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestUnreadableLines(t *testing.T) {
	term, s := open(t, typing("\x1b[A", "a\x00b", "\xff\xfe", "a\u202eb", "tab\there", "send"), nil)
	d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `[]`))
	if err != nil || string(d.Content) != `{"s":"tab\there"}` {
		t.Errorf("%s, %v", d.Content, err)
	}
	if n := strings.Count(s.String(), "cannot be read"); n != 4 {
		t.Errorf("%d lines were refused:\n%q", n, s)
	}
}

func TestTooManyAttempts(t *testing.T) {
	lines := make([]string, 100)
	term, _ := open(t, typing(lines...), nil)
	d, err := term.Ask(t.Context(), question(t, `{"s":{"type":"string"}}`, `["s"]`))
	wantNone(t, d, err, ask.ClientGone)
	for i := range lines {
		lines[i] = "again"
	}
	term, _ = open(t, typing(lines...), nil)
	d, err = term.Ask(t.Context(), question(t, `{}`, `[]`))
	wantNone(t, d, err, ask.ClientGone)
}

// Secrets are read only where they cannot be seen.
func TestSecretsNeedHiding(t *testing.T) {
	for name, change := range map[string]func(*Config, *screen){
		"cannot hide":      func(c *Config, _ *screen) { c.Hide = nil },
		"hiding fails":     func(_ *Config, s *screen) { s.hideErr = errors.New("no") },
		"showing it fails": func(_ *Config, s *screen) { s.showErr = errors.New("no") },
	} {
		term, s := open(t, typing("secret", "send"), nil)
		change(&term.cfg, s)
		d, err := term.Ask(t.Context(), question(t, `{"password":{"type":"string"}}`, `[]`))
		wantNone(t, d, err, ask.NotAllowed)
		if !strings.Contains(err.Error(), "page") {
			t.Errorf("%s: %v does not say where to go", name, err)
		}
	}
	term, _ := open(t, typing("x", "send"), func(c *Config) { c.Hide = nil })
	if d, err := term.Ask(t.Context(), question(t, `{"city":{"type":"string"}}`, `[]`)); err != nil || d.Action != ask.Accept {
		t.Errorf("control: %v", err)
	}
}

func TestFilesCannotBeGiven(t *testing.T) {
	f, err := form.New(form.Definition{ID: "f", Title: "t", Fields: []form.Field{{ID: "a", Type: form.File, Label: "A"}}})
	if err != nil {
		t.Fatal(err)
	}
	term, _ := open(t, typing("x", "send"), nil)
	d, err := term.Ask(t.Context(), &Question{Backend: "b", Form: f})
	wantNone(t, d, err, ask.NotAllowed)
}

// Fields that depend on others are asked when they apply.
func TestConditionsDecideWhatIsAsked(t *testing.T) {
	f, err := form.New(form.Definition{ID: "f", Title: "t", Fields: []form.Field{
		{ID: "more", Type: form.Boolean, Label: "More?"},
		{ID: "what", Type: form.Text, Label: "What", Required: true},
		{ID: "fixed", Type: form.Text, Label: "Fixed", Default: "f", Hints: form.Hints{Hidden: true}},
	}, Validation: form.Rules{Dependencies: []form.Rule{
		{Field: "what", Action: form.Show, Condition: form.Condition{Operator: form.Equals, Field: "more", Values: []any{true}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for want, lines := range map[string][]string{
		`{"more":false,"fixed":"f"}`:           {"no", "send"},
		`{"more":true,"what":"x","fixed":"f"}`: {"yes", "x", "send"},
	} {
		term, s := open(t, typing(lines...), nil)
		if d, err := term.Ask(t.Context(), &Question{Form: f}); err != nil || string(d.Content) != want {
			t.Errorf("%s, %v, want %s\n%s", d.Content, err, want, s)
		}
	}
}

func TestPrintShowsWithoutAsking(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, time.Unix(1000, 0), question(t, everything, `["name"]`)); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"A question from deploy:", "time left  4 minutes", "Field 8 of 8 (text, optional)\n  name: note\n  | note\n  default: none\n", "     2 Second\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in\n%s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "Enter takes") || strings.Contains(out.String(), "^C") {
		t.Error("it asks")
	}
	out.Reset()
	if err := Print(&out, time.Unix(1000, 0), &Question{URL: "http://evil.example/\x1b[2J"}); err != nil || !strings.Contains(out.String(), "more than one way") {
		t.Errorf("%v\n%s", err, out.String())
	}
	harmless(t, "address", out.String())
	if Print(&brokenScreen{2}, time.Now(), question(t, everything, `[]`)) == nil {
		t.Error("nobody saw it")
	}
}

// What only shows when everything is there is said before anything is sent.
func TestAnswerAsAWholeIsChecked(t *testing.T) {
	c := form.Compiler{Validators: map[string]form.Validator{"apart": func(v form.Values) []form.Fault {
		if v["a"] != nil && v["a"] == v["b"] {
			return []form.Fault{{Message: "The two must differ"}}
		}
		return nil
	}}}
	f, err := c.New(form.Definition{
		ID: "f", Title: "t", Fields: []form.Field{{ID: "a", Type: form.Text, Label: "A"}, {ID: "b", Type: form.Text, Label: "B"}},
		Validation: form.Rules{Validators: []string{"apart"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	term, s := open(t, typing("x", "x", "", "y", "send"), nil)
	d, err := term.Ask(t.Context(), &Question{Form: f})
	if err != nil || string(d.Content) != `{"a":"x","b":"y"}` {
		t.Errorf("%s, %v", d.Content, err)
	}
	if !strings.Contains(s.String(), "  ! The two must differ\n") {
		t.Errorf("nobody is told:\n%s", s)
	}
}
