package conformance

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Excuse is a line of across.txt or tasks.txt: a scenario, or one check of it,
// that cannot pass through the gateway with its fixture, and why.
type Excuse struct {
	Scenario, Check string // Check is "" for the whole scenario
	Reason          string
}

// ReadExcuses reads lines of "scenario[:check]", a tab and a reason. Empty
// lines and those that begin with # say nothing.
func ReadExcuses(r io.Reader) ([]Excuse, error) {
	var all []Excuse
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		what, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("line %d gives no reason", n)
		}
		e := Excuse{Reason: strings.TrimSpace(reason)}
		e.Scenario, e.Check, _ = strings.Cut(what, ":")
		all = append(all, e)
	}
	return all, lines.Err()
}

func (e Excuse) covers(c Check) bool {
	return e.Scenario == c.Scenario && (e.Check == "" || e.Check == c.ID)
}

func (e Excuse) String() string { return strings.TrimSuffix(e.Scenario+":"+e.Check, ":") }

// Excused gives the result without the failures that are excused. It is an
// error when one of the excuses is for a scenario of this result in which
// nothing failed that it names: then it is out of date.
func (r Result) Excused(excuses []Excuse) (Result, error) {
	failed := func(c Check) bool { return c.Status == "FAILURE" }
	for _, e := range excuses {
		ran := slices.ContainsFunc(r, func(c Check) bool { return c.Scenario == e.Scenario })
		needed := slices.ContainsFunc(r, func(c Check) bool { return failed(c) && e.covers(c) })
		if ran && !needed {
			return nil, fmt.Errorf("%s is excused and passes: take it out of the list", e)
		}
	}
	return r.Without(func(c Check) bool {
		return failed(c) && slices.ContainsFunc(excuses, func(e Excuse) bool { return e.covers(c) })
	}), nil
}
