package form

import (
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

var formatNames = []string{"email", "uri", "uuid", "date", "date-time", "time", "hostname", "ipv4", "ipv6"}

// Formats gives the names of the formats that a text field can have, as JSON
// Schema has them.
func Formats() []string { return slices.Clone(formatNames) }

// hasFormat reports whether a text is in the format.
func hasFormat(format, s string) bool {
	switch format {
	case "email":
		return isEmail(s)
	case "uri":
		return isURI(s)
	case "uuid":
		return isUUID(s)
	case "date":
		return isDate(s)
	case "date-time":
		_, ok := parseTime(s)
		return ok
	case "time":
		_, ok := parseTime("2000-01-01T" + s)
		return ok
	case "hostname":
		return isHostname(s)
	case "ipv4":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	case "ipv6":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == ""
	}
	return false
}

// isEmail accepts one bare address, without a display name or comment.
func isEmail(s string) bool {
	if len(s) > 254 || strings.ContainsAny(s, " \t\r\n<>(),;") {
		return false
	}
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s {
		return false
	}
	local, domain, _ := strings.Cut(s, "@")
	return len(local) <= 64 && (isHostname(domain) || !isASCII(domain))
}

// isURI accepts an absolute URI as RFC 3986 has it: ASCII, with a scheme.
func isURI(s string) bool {
	if !isASCII(s) || strings.ContainsAny(s, " \\\"<>^`{|}") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && (u.Host != "" || u.Opaque != "" || u.Path != "")
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'):
			return false
		}
	}
	return true
}

func isDate(s string) bool {
	if len(s) != len(time.DateOnly) || s[4] != '-' || s[7] != '-' || !onlyDigits(s[:4]) || !onlyDigits(s[5:7]) || !onlyDigits(s[8:]) {
		return false
	}
	month, day := int(s[5]-'0')*10+int(s[6]-'0'), int(s[8]-'0')*10+int(s[9]-'0')
	if month < 1 || month > 12 || day < 1 {
		return false
	}
	if day <= 28 {
		return true
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// parseTime reads a date-time of RFC 3339, with its offset.
func parseTime(s string) (time.Time, bool) {
	// time.Parse also takes hours of one digit, a decimal comma and an offset
	// of 24 hours.
	if len(s) < len("2006-01-02T15:04:05Z") || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] == ',' ||
		strings.HasSuffix(s[:len(s)-3], "+24") || strings.HasSuffix(s[:len(s)-3], "-24") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, s)
	return t, err == nil
}

// isHostname accepts names of letters, digits, hyphens and dots.
func isHostname(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if !(c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
				return false
			}
		}
	}
	return true
}

// isASCII reports whether s is printable ASCII.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
