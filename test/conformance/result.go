package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Result is what one run of the suite found: its checks, in no order.
type Result []Check

// Check is one thing that a scenario looked at.
type Check struct {
	Scenario string
	ID       string `json:"id"`
	Status   string `json:"status"` // SUCCESS, FAILURE, or one that does not count
	Message  string `json:"errorMessage"`
}

// stamp is the time that the suite puts behind a scenario's name.
var stamp = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T[0-9-]+Z$`)

// ReadResult reads what the suite wrote into dir: one directory per scenario,
// each with a file of checks.
func ReadResult(dir string) (Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	// A scenario with a slash in its name has a directory in a directory.
	deeper, err := filepath.Glob(filepath.Join(dir, "*", "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	files = append(files, deeper...)
	if len(files) == 0 {
		return nil, fmt.Errorf("no scenario left its checks in %s", dir)
	}
	var res Result
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var checks []Check
		if err := json.Unmarshal(text, &checks); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		scenario := stamp.ReplaceAllString(filepath.Base(filepath.Dir(name)), "")
		for _, c := range checks {
			c.Scenario = strings.TrimPrefix(scenario, "server-")
			res = append(res, c)
		}
	}
	return res, nil
}

// Without gives the result with some checks left aside.
func (r Result) Without(aside func(Check) bool) Result {
	return slices.DeleteFunc(slices.Clone(r), aside)
}

// Passed reports whether the check with this id was made and passed.
func (r Result) Passed(id string) bool {
	return slices.ContainsFunc(r, func(c Check) bool { return c.ID == id && c.Status == "SUCCESS" })
}

// Expect says how the result differs from what it must be: this many checks
// passed and none failed. "" means not at all. A check that did not pass may
// be the reason why one is missing, so all of those are named.
func (r Result) Expect(want int) string {
	passed, failed := 0, 0
	var rest strings.Builder
	for _, c := range r {
		switch c.Status {
		case "SUCCESS":
			passed++
			continue
		case "FAILURE":
			failed++
		}
		fmt.Fprintf(&rest, "\n  %s %s: %s: %s", c.Status, c.Scenario, c.ID, c.Message)
	}
	if passed == want && failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d checks passed, want %d; %d failed, want 0%s", passed, want, failed, rest.String())
}
