package page

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// dateParts are what displayFormat is made of. hints.js reads the same ones.
var dateParts = regexp.MustCompile(`YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|H|mm|ss`)

// maxDateFormat is how long a displayFormat may be.
const maxDateFormat = 40

// dateFormat is a displayFormat that says something, else "".
func dateFormat(format string) string {
	format = line(format, maxDateFormat)
	if !dateParts.MatchString(format) {
		return ""
	}
	return format
}

// writeDate writes a date, or a date and a time, in a displayFormat. What is
// neither is written as "".
func writeDate(format, value string) string {
	if format == "" {
		return ""
	}
	var t time.Time
	err := error(nil)
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", localDateTime, time.RFC3339} {
		if t, err = time.Parse(layout, value); err == nil {
			break
		}
	}
	if err != nil {
		return ""
	}
	t = t.UTC()
	return dateParts.ReplaceAllStringFunc(format, func(part string) string {
		switch part {
		case "YYYY":
			return fmt.Sprintf("%04d", t.Year())
		case "YY":
			return fmt.Sprintf("%02d", t.Year()%100)
		case "MMMM":
			return t.Month().String()
		case "MMM":
			return t.Month().String()[:3]
		}
		n := map[byte]int{'M': int(t.Month()), 'D': t.Day(), 'H': t.Hour(), 'm': t.Minute(), 's': t.Second()}[part[0]]
		return fmt.Sprintf("%0*d", len(part), n)
	})
}

// hintFormat says how a date is written back, for the browser decides how it
// is typed.
func hintFormat(format string) string {
	if format == "" {
		return ""
	}
	return " It is shown below as " + strings.TrimSpace(format) + "."
}
