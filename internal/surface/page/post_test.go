package page

import (
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/form"
)

func TestPostedStringsBecomeValues(t *testing.T) { // F8
	const whole, num = `{"type":"integer"}`, `{"type":"number"}`
	for _, tt := range []struct {
		field string
		typed string
		want  string // the content's value, "" for left out
	}{
		{`{"type":"string"}`, "", ""},
		{`{"type":"string"}`, " kept as typed ", `" kept as typed "`},
		{`{"type":"string"}`, "a\r\nb", `"a\nb"`},
		{`{"type":"string","minLength":2,"maxLength":2}`, "\u00e9\U0001f600", "\"\u00e9\U0001f600\""},
		{`{"type":"string","pattern":"^a+$"}`, "aa", `"aa"`},
		{`{"type":"string","format":"email"}`, " a@b.example ", `"a@b.example"`},
		{`{"type":"string","format":"uri"}`, "urn:isbn:1", `"urn:isbn:1"`},
		{`{"type":"string","format":"date"}`, "2024-02-29", `"2024-02-29"`},
		{`{"type":"string","format":"date-time"}`, "2026-12-01T14:30", `"2026-12-01T14:30:00Z"`},
		{`{"type":"string","format":"date-time"}`, "2026-12-01T14:30:15.5", `"2026-12-01T14:30:15.5Z"`},
		{`{"type":"string","format":"date-time"}`, "2026-12-01T14:30:15+02:00", `"2026-12-01T14:30:15+02:00"`},
		{whole, "", ""},
		{whole, "  ", ""},
		{whole, "42", "42"},
		{whole, "-7", "-7"},
		{whole, "+007", "7"},
		{whole, "1e3", "1e3"},
		{whole, "5.0", "5.0"},
		{whole, "9007199254740993", "9007199254740993"},
		{num, "0", "0"},
		{num, "00.50", "0.50"},
		{num, "-0.1", "-0.1"},
		{num, "12345678901234567890.123456789", "12345678901234567890.123456789"},
		{num, "1e-3", "1e-3"},
		{num, ".5", "0.5"},
		{`{"type":"number","minimum":0.1,"maximum":0.3}`, "0.3", "0.3"},
		{`{"type":"boolean"}`, "on", "true"},
		{`{"type":"boolean"}`, "none", "false"},
		{`{"type":"boolean","default":true}`, "none", "false"},
		{`{"type":"string","enum":["","b"]}`, "0", `""`},
		{`{"type":"string","enum":["","b"]}`, "", ""},
		{`{"type":"array","items":{"enum":["a","b"]},"minItems":1}`, "none", ""},
	} {
		f := mustRead(t, tt.field, `[]`)
		posted := url.Values{"f0": {tt.typed}}
		if tt.typed == "none" {
			posted = url.Values{}
		}
		answer, errs := readPost(f, posted, nil)
		content := f.Encode(answer)
		want := `{"a":` + tt.want + `}`
		if tt.want == "" {
			want = `{}`
		}
		if string(content) != want || errs != nil {
			t.Errorf("%s, typed %q: %s %v, want %s", tt.field, tt.typed, content, errs, want)
		}
	}
}

func TestPostedStringsThatAreNoValues(t *testing.T) { // F7
	const whole, num = `{"type":"integer"}`, `{"type":"number"}`
	for _, tt := range []struct {
		field string
		typed []string
		want  string
	}{
		{`{"type":"string"}`, nil, "Fill this in"},
		{`{"type":"string"}`, []string{""}, "Fill this in"},
		{`{"type":"string"}`, []string{"a", "b"}, "could not be read"},
		{`{"type":"string"}`, []string{"\xff"}, "could not be read"},
		{`{"type":"string"}`, []string{strings.Repeat("x", form.DefaultMaxLength+1)}, "Use at most 100000 characters: there are 100001."},
		{`{"type":"string","maxLength":1}`, []string{"ab"}, "Use at most 1 character: there are 2."},
		{`{"type":"string","minLength":2}`, []string{"a"}, "Use at least 2 characters: there is 1."},
		{`{"type":"string","pattern":"^a+$"}`, []string{"b"}, "The rule is: ^a+$"},
		{`{"type":"string","format":"email"}`, []string{"Ada <a@b.example>"}, "Enter an e-mail address"},
		{`{"type":"string","format":"email"}`, []string{"a@b.example\r\nBcc: x@y.example"}, "Enter an e-mail address"},
		{`{"type":"string","format":"uri"}`, []string{"/path"}, "Enter a full address"},
		{`{"type":"string","format":"date"}`, []string{"2023-02-29"}, "Enter a date"},
		{`{"type":"string","format":"date"}`, []string{"1.2.2026"}, "Enter a date"},
		{`{"type":"string","format":"date"}`, nil, "Enter a date"},
		{`{"type":"string","format":"date-time"}`, []string{"2026-12-01"}, "Enter a date and a time"},
		{whole, []string{""}, "Enter a number"},
		{whole, []string{"1.5"}, "without a fraction"},
		{whole, []string{"five"}, "Enter a whole number in digits"},
		{num, []string{"1,5"}, "Enter a number in digits, such as 12.5."},
		{num, []string{"0x10"}, "Enter a number"},
		{num, []string{"1/3"}, "Enter a number"},
		{num, []string{"NaN"}, "Enter a number"},
		{num, []string{"Infinity"}, "Enter a number"},
		{num, []string{"1_000"}, "Enter a number"},
		{num, []string{"1e9999999"}, "Enter a number"},
		{`{"type":"number","minimum":0.5}`, []string{"0.4999999999999999999"}, "Enter 0.5 or more."},
		{`{"type":"integer","maximum":9007199254740993}`, []string{"9007199254740994"}, "Enter 9007199254740993 or less."},
		{`{"type":"string","enum":["a"]}`, []string{""}, "Choose one"},
		{`{"type":"string","enum":["a"]}`, []string{"a"}, "Choose one from the list."},
		{`{"type":"string","enum":["a"]}`, []string{"1"}, "Choose one from the list."},
		{`{"type":"string","enum":["a"]}`, []string{"-1"}, "Choose one from the list."},
		{`{"type":"array","items":{"enum":["a","b"]}}`, []string{"2"}, "Choose from the list."},
		{`{"type":"array","items":{"enum":["a","b"]},"minItems":1}`, nil, "Choose at least 1: this is needed."},
		{`{"type":"array","items":{"enum":["a","b"]},"minItems":2}`, []string{"0", "0"}, "Choose at least 2: there is 1."},
		{`{"type":"array","items":{"enum":["a","b"]},"maxItems":1}`, []string{"0", "1"}, "Choose at most 1: there are 2."},
	} {
		f := mustRead(t, tt.field, `["a"]`)
		content, errs := readPost(f, url.Values{"f0": tt.typed}, nil)
		if got := problem(&f.Fields()[0], errs); content != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s, typed %.40q: %s %q, want %q", tt.field, tt.typed, content, got, tt.want)
		}
	}
}

func TestHintsSayTheLimits(t *testing.T) {
	for field, want := range map[string]string{
		`{"type":"string"}`:                                                         "",
		`{"type":"string","minLength":1}`:                                           "",
		`{"type":"string","minLength":4,"maxLength":4}`:                             "4 characters.",
		`{"type":"string","minLength":4}`:                                           "At least 4 characters.",
		`{"type":"string","maxLength":1}`:                                           "At most 1 character.",
		`{"type":"number"}`:                                                         "A number.",
		`{"type":"number","minimum":0.25}`:                                          "A number, 0.25 or more.",
		`{"type":"integer","maximum":9}`:                                            "A whole number, 9 or less.",
		`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`: "A whole number.",
		`{"type":"number","maximum":1e-30}`:                                         "A number, 1e-30 or less.",
		`{"type":"array","items":{"enum":["a","b","c"]},"minItems":2,"maxItems":2}`: "Choose 2.",
		`{"type":"array","items":{"enum":["a","b","c"]},"maxItems":2}`:              "Choose up to 2.",
		`{"type":"array","items":{"enum":["a","b","c"]},"minItems":2}`:              "Choose at least 2.",
		`{"type":"string","enum":["a"]}`:                                            "",
		`{"type":"string","format":"uuid"}`:                                         "An identifier, such as 123e4567-e89b-12d3-a456-426614174000.",
		`{"type":"string","format":"time"}`:                                         "A time with its offset, such as 14:30:00Z.",
		`{"type":"string","format":"hostname"}`:                                     "The name of a host, such as www.example.org.",
		`{"type":"string","format":"ipv4"}`:                                         "An IPv4 address, such as 192.0.2.1.",
		`{"type":"string","format":"ipv6"}`:                                         "An IPv6 address, such as 2001:db8::1.",
	} {
		if got := hint(&mustRead(t, field, `[]`).Fields()[0]); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

func TestHintsCountWhatIsNeeded(t *testing.T) {
	f := mustRead(t, `{"type":"array","items":{"enum":["a","b","c"]}}`, `["a"]`)
	if got := hint(&f.Fields()[0]); got != "Choose at least 1." {
		t.Errorf("hint %q", got)
	}
}

func TestCountsInWords(t *testing.T) {
	for n, want := range map[any]string{0: ": there is none", 1: ": there is 1", 2: ": there are 2", nil: ""} {
		if got := there(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}

func mustRead(t *testing.T, field, required string) *form.Form {
	t.Helper()
	f, err := form.FromRequested([]byte(`{"type":"object","properties":{"a":`+field+`},"required":`+required+`}`), "")
	if err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	return f
}
