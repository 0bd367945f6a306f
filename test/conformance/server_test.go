//go:build conformance

package conformance

import (
	"slices"
	"strings"
	"testing"
)

// runs are the runs of the suite that must be clean. The fixtures pass exactly
// this many checks without a gateway. What is left aside does not count: the
// fixtures do not have the tasks extension, whose scenarios are never scored.
// What is gained are checks that the fixtures do not pass and the gateway
// must: it begins its streams with an event that clients can resume from.
var runs = []struct {
	name    string
	backend string
	args    []string
	passed  int
	aside   func(Check) bool
	gained  []string
}{
	{"2025-11-25-required", "legacy", []string{"--requirements", "2025-11-25"}, 82, nothing, []string{"server-sse-priming-event"}},
	{"2025-06-18-active", "legacy", []string{"--suite", "active", "--spec-version", "2025-06-18"}, 56, nothing, nil},
	{"2026-07-28-required", "modern", []string{"--requirements", "2026-07-28"}, 153, tasks, nil},
	{"2026-07-28-all", "modern", []string{"--suite", "all", "--spec-version", "2026-07-28"}, 153, nothing, nil},
}

func nothing(Check) bool { return false }

func tasks(c Check) bool { return strings.HasPrefix(c.Scenario, "tasks-") }

// TestServer runs the suite's server scenarios at /mcp/{backend} of a gateway
// with a legacy and a modern backend, and at /mcp of gateways with one.
func TestServer(t *testing.T) {
	r := newRig(t)
	urls := map[string]string{"legacy": r.fixture(t, false), "modern": r.fixture(t, true)}
	both := r.gateway(t, urls)
	ends := []struct {
		name string
		url  func(backend string) string
	}{
		{"one-of-two", func(backend string) string { return both + "/" + backend }},
		{"alone", func() func(string) string {
			alone := map[string]string{}
			for name, url := range urls {
				alone[name] = r.gateway(t, map[string]string{name: url})
			}
			return func(backend string) string { return alone[backend] }
		}()},
	}
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			for _, run := range runs {
				t.Run(run.name, func(t *testing.T) {
					args := append([]string{"server", "--url", end.url(run.backend), "--timeout", "5000"}, run.args...)
					res, text, err := r.suite(t, args...)
					for _, id := range run.gained {
						if !res.Passed(id) {
							t.Errorf("the check %s did not pass", id)
						}
					}
					counted := res.Without(func(c Check) bool { return run.aside(c) || slices.Contains(run.gained, c.ID) })
					if diff := counted.Expect(run.passed); diff != "" {
						t.Error(diff)
					}
					if err != nil {
						t.Errorf("the suite ended with %v:\n%s", err, text)
					}
				})
			}
		})
	}
}
