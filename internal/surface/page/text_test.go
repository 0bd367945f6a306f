package page

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestPlainText(t *testing.T) {
	for in, want := range map[string]string{
		"as it is":                   "as it is",
		"a\r\nb\rc\u2028d":           "a\nb\nc\nd",
		"tab\there":                  "tab here",
		"bell\x07":                   "bell\ufffd",
		"bad\xff":                    "bad\ufffd",
		"over\u202eturned":           "overturned",
		"na\u200bme":                 "name",
		"e\u0301":                    "e\u0301",
		"x" + marks(100):             "x" + marks(maxMarks),
		"x" + marks(3) + "y":         "x" + marks(3) + "y",
		"\u0645\u200c\u062e":         "\u0645\u200c\u062e",
		"\U0001f469\u200d\U0001f4bb": "\U0001f469\u200d\U0001f4bb",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func marks(n int) string { return strings.Repeat("\u0301", n) }

func TestLineIsOneLineOfLimitedLength(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{" a \n\n b ", 10, "a b"},
		{"12345", 5, "12345"},
		{"123456", 5, "12345…"},
		{"\u00e9\u00e9\u00e9", 2, "\u00e9\u00e9…"},
		{"\u202e\n", 5, ""},
	} {
		if got := line(tt.in, tt.limit); got != tt.want {
			t.Errorf("%q in %d is %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestMessageIsWholeInItsParts(t *testing.T) {
	for _, n := range []int{0, 1, maxHeading, maxHeading + 1, maxOpening, maxOpening + 1, maxMessage, maxMessage + 1} {
		s := strings.Repeat("\u00e9", n)
		m := readMessage(s)
		shown := m.Heading + m.Opening + m.Rest
		if m.Chars != n || m.Cut != (n > maxMessage) || utf8.RuneCountInString(shown) != min(n, maxMessage) {
			t.Errorf("%d characters: %d shown, cut %v", n, utf8.RuneCountInString(shown), m.Cut)
		}
		if (m.Heading != "") != (n > 0 && n <= maxHeading) || (m.Rest != "") != (n > maxOpening) {
			t.Errorf("%d characters are in the wrong part", n)
		}
	}
}

func TestTimeInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                   "The time is up",
		0:                              "The time is up",
		time.Millisecond:               "1 second left, until 14:28 UTC",
		48 * time.Second:               "48 seconds left, until 14:28 UTC",
		time.Minute:                    "1 minute left, until 14:29 UTC",
		4*time.Minute + 59*time.Second: "4 minutes left, until 14:32 UTC",
		119 * time.Minute:              "119 minutes left, until 16:27 UTC",
		2*time.Hour + time.Second:      "2 hours left, until 16:28 UTC",
		10 * time.Hour:                 "10 hours left, until 00:28 UTC on 16 November 2026",
		72 * time.Hour:                 "3 days left, until 14:28 UTC on 18 November 2026",
	} {
		m, ok := left(now.Add(d), now, time.Minute)
		if !ok || m.Words != want || m.Late != (d < time.Minute) {
			t.Errorf("%v: %+v, want %q", d, m, want)
		}
	}
	if _, ok := left(time.Time{}, now, 0); ok {
		t.Error("what has no end has time left")
	}
	for d, want := range map[time.Duration]string{-time.Hour: "just now", 4 * time.Second: "just now", 5 * time.Second: "5 seconds ago", 3 * time.Hour: "3 hours ago"} {
		if got := ago(now.Add(-d), now).Words; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
