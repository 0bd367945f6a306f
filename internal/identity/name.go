package identity

import (
	"strings"
	"unicode"
)

// longestName is how many characters of a name are shown.
const longestName = 100

// Name gives what to call the person of these claims on a page: their name,
// else their user name, else their e-mail address, else nothing. It is text
// of somebody else's choosing: it proves nothing. Characters that cannot be
// seen are left out, because with them one name can be made to look like
// another.
func (c Claims) Name() string {
	for _, claim := range []string{"name", "preferred_username", "email"} {
		text, _ := c[claim].(string)
		if name := visible(text); name != "" {
			return name
		}
	}
	return ""
}

func visible(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n == longestName {
			break
		}
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar:
			continue
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}
