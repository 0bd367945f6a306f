package sitename

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Name is a host in parts. Sub and Site joined are the host as it was given.
type Name struct {
	Sub  string // labels before the registrable domain, with their last dot
	Site string // the registrable domain; the whole host where it has none

	// Letters is the host in its own letters, "" for a name in ASCII.
	Letters string
	// Scripts are the scripts that one label mixes, none where none does.
	Scripts []string
	// Like is the ASCII name that Letters resembles, "" where it does not.
	Like string
}

// ErrName is the error of a host whose international labels are invalid.
var ErrName = errors.New("the host has a label that is no valid international name")

// Read reads a host in ASCII, without a port.
func Read(host string) (Name, error) {
	n := Name{Site: host}
	lower := strings.ToLower(host)
	if _, err := netip.ParseAddr(host); err == nil {
		return n, nil
	}
	// A host without a registrable domain, such as "localhost" or a public
	// suffix itself, is shown as a whole.
	if site, err := publicsuffix.EffectiveTLDPlusOne(lower); err == nil && len(lower) == len(host) {
		n.Sub, n.Site = host[:len(host)-len(site)], host[len(host)-len(site):]
	}
	if !slices.ContainsFunc(strings.Split(lower, "."), encoded) {
		return n, nil
	}
	letters, err := idna.Display.ToUnicode(lower)
	if err != nil || strings.ContainsFunc(letters, func(r rune) bool { return !unicode.IsPrint(r) && !joiner(r) }) {
		return n, ErrName
	}
	// A label that decodes to one that is spelled otherwise is a trick.
	if back, err := idna.Lookup.ToASCII(letters); err != nil || back != lower {
		return n, ErrName
	}
	n.Letters = letters
	for _, label := range strings.Split(letters, ".") {
		if mixed := scripts(label); suspicious(mixed) && n.Scripts == nil {
			n.Scripts = mixed
		}
	}
	n.Like = likeness(letters)
	return n, nil
}

func encoded(label string) bool { return strings.HasPrefix(label, "xn--") }

// joiner reports whether a rune is one of the two that some scripts need to
// join letters, or not to. IDNA has checked that they stand where they belong.
func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// scripts lists the scripts of a label's letters, in alphabetical order.
// Digits, dashes and combining marks belong to every script.
func scripts(label string) []string {
	var found []string
	for _, r := range label {
		if unicode.In(r, unicode.Common, unicode.Inherited) {
			continue
		}
		for name, table := range unicode.Scripts {
			if unicode.Is(table, r) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// together are the sets of scripts that ordinary names mix: Japanese, Korean
// and Chinese, each with Latin letters (the "highly restrictive" level of
// Unicode Technical Standard 39).
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Hangul"},
	{"Latin", "Han", "Bopomofo"},
}

func suspicious(mixed []string) bool {
	if len(mixed) < 2 {
		return false
	}
	return !slices.ContainsFunc(together, func(set []string) bool {
		return !slices.ContainsFunc(mixed, func(s string) bool { return !slices.Contains(set, s) })
	})
}

// likeness is the ASCII name that a name looks like, or "". Labels that are in
// ASCII already stay as they are.
func likeness(letters string) string {
	var b strings.Builder
	changed := false
	for _, r := range letters {
		switch latin, ok := alike[r]; {
		case r < 0x80:
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r): // a dot or a hook that the eye passes over
			changed = true
		case ok:
			b.WriteString(latin)
			changed = true
		default:
			return ""
		}
	}
	if !changed {
		return ""
	}
	return b.String()
}

// alike are letters that most typefaces draw like Latin ones, in names that are
// in lower case.
var alike = map[rune]string{
	// Cyrillic
	'а': "a", 'ь': "b", 'с': "c", 'ԁ': "d", 'е': "e", 'ҽ': "e", 'һ': "h", 'і': "i", 'ї': "i", 'ј': "j", 'ӏ': "l",
	'к': "k", 'м': "m", 'п': "n", 'о': "o", 'р': "p", 'ԛ': "q", 'г': "r", 'ѕ': "s", 'т': "t", 'ѵ': "v", 'ԝ': "w", 'ѡ': "w", 'х': "x", 'у': "y", 'ё': "e", 'в': "b", 'н': "h",
	// Greek
	'α': "a", 'ε': "e", 'η': "n", 'ι': "i", 'κ': "k", 'ν': "v", 'ο': "o", 'ρ': "p", 'τ': "t", 'υ': "u", 'χ': "x", 'ω': "w", 'ό': "o", 'ά': "a", 'έ': "e", 'ί': "i",
	// Armenian
	'ա': "w", 'հ': "h", 'ո': "n", 'ռ': "n", 'ս': "u", 'օ': "o", 'ց': "g", 'զ': "q",
	// Latin letters beyond ASCII
	'ı': "i", 'ɑ': "a", 'ɡ': "g", 'ɩ': "i", 'ƅ': "b", 'ɫ': "l", 'ł': "l", 'ø': "o", 'đ': "d", 'ħ': "h",
	'à': "a", 'á': "a", 'â': "a", 'ã': "a", 'ä': "a", 'å': "a", 'ā': "a", 'ă': "a", 'ą': "a", 'ạ': "a",
	'ç': "c", 'ć': "c", 'č': "c", 'è': "e", 'é': "e", 'ê': "e", 'ë': "e", 'ē': "e", 'ė': "e", 'ę': "e", 'ě': "e", 'ẹ': "e",
	'ģ': "g", 'ğ': "g", 'ġ': "g", 'ì': "i", 'í': "i", 'î': "i", 'ï': "i", 'ī': "i", 'į': "i", 'ị': "i", 'ķ': "k", 'ļ': "l", 'ľ': "l",
	'ñ': "n", 'ń': "n", 'ņ': "n", 'ň': "n", 'ṇ': "n", 'ò': "o", 'ó': "o", 'ô': "o", 'õ': "o", 'ö': "o", 'ō': "o", 'ő': "o", 'ọ': "o", 'ơ': "o",
	'ŗ': "r", 'ř': "r", 'ś': "s", 'ş': "s", 'š': "s", 'ș': "s", 'ṣ': "s", 'ţ': "t", 'ť': "t", 'ț': "t",
	'ù': "u", 'ú': "u", 'û': "u", 'ü': "u", 'ū': "u", 'ů': "u", 'ű': "u", 'ų': "u", 'ụ': "u", 'ư': "u", 'ý': "y", 'ÿ': "y", 'ź': "z", 'ż': "z", 'ž': "z",
}
