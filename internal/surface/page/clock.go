package page

import (
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/desk"
)

// moment is a point in time for people and for machines.
type moment struct {
	Words   string // "4 minutes left, until 14:32 UTC"
	Machine string // RFC 3339
}

// remaining is how long something stays open.
type remaining struct {
	moment
	Late    bool   // the end is near, or over
	Seconds int    // until the end, for clocks that run on
	Warn    int    // seconds before the end from which it is late
	More    string // what there is to have: "5 more minutes"; empty for nothing
}

// left says how long something stays open. It is false for what has no end.
func left(deadline, now time.Time, warn time.Duration) (remaining, bool) {
	if deadline.IsZero() {
		return remaining{}, false
	}
	d := deadline.Sub(now)
	m := remaining{
		moment: moment{Words: "The time is up", Machine: deadline.UTC().Format(time.RFC3339)},
		Late:   d < warn, Seconds: max(0, int(d/time.Second)), Warn: int(warn / time.Second),
	}
	if d > 0 {
		m.Words = span(d) + " left, until " + clock(deadline, now)
	}
	return m, true
}

// more is the time that can still be had for a question, "" for none.
func (h *Handler) more(view *desk.View) string {
	t := &view.Ask.Terms
	if t.NoExtension || view.Extensions >= max(t.Extensions, h.cfg.Extensions) {
		return ""
	}
	return moreOf(t.Extension)
}

// moreOf is a duration that comes on top: "5 more minutes".
func moreOf(d time.Duration) string { return strings.Replace(span(d), " ", " more ", 1) }

// ago says how long it is since something happened.
func ago(then, now time.Time) moment {
	m := moment{Machine: then.UTC().Format(time.RFC3339), Words: "just now"}
	if d := now.Sub(then); d >= 5*time.Second {
		m.Words = span(d) + " ago"
	}
	return m
}

// clock is a time of day, with the date where it is another day's.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 UTC")
	}
	return t.Format("15:04 UTC on 2 January 2006")
}

// span is a duration in its largest unit, rounded down so that it never
// promises more than there is.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return count(int(d/(24*time.Hour)), "day")
	case d >= 2*time.Hour:
		return count(int(d/time.Hour), "hour")
	case d >= time.Minute:
		return count(int(d/time.Minute), "minute")
	}
	return count(max(1, int(d/time.Second)), "second")
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
