package formtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/form"
)

// T is what assertions need of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Want is an error that an answer should have.
type Want struct {
	Field      string
	Constraint string
}

// AssertValid fails the test unless the form accepts the values.
func AssertValid(t T, f *form.Form, v form.Values) {
	t.Helper()
	if _, errs := f.Validate(v); len(errs) > 0 {
		t.Errorf("form %s refuses the values: %v", f.Definition().ID, errs)
	}
}

// AssertErrors fails the test unless the form refuses the values with at least
// the errors that are wanted.
func AssertErrors(t T, f *form.Form, v form.Values, want ...Want) {
	t.Helper()
	_, errs := f.Validate(v)
	if len(errs) == 0 {
		t.Errorf("form %s accepts the values", f.Definition().ID)
		return
	}
	for _, w := range want {
		if !slices.ContainsFunc(errs, func(e form.Error) bool { return e.Field == w.Field && e.Constraint == w.Constraint }) {
			t.Errorf("form %s does not report %s of %s; it reports %s", f.Definition().ID, w.Constraint, w.Field, summary(errs))
		}
	}
}

func summary(errs form.Errors) string {
	parts := make([]string, len(errs))
	for i, e := range errs {
		parts[i] = fmt.Sprintf("%s of %s", e.Constraint, e.Field)
	}
	return strings.Join(parts, ", ")
}

// Timing is how long validation took.
type Timing struct {
	Avg, P50, P95, P99 time.Duration
}

// warmUps are validations that are not measured.
const warmUps = 100

// Measure validates a valid answer so many times, at least once, after 100
// times that do not count.
func Measure(f *form.Form, times int) (Timing, error) {
	values, err := Valid(f)
	if err != nil {
		return Timing{}, err
	}
	for range warmUps {
		if _, errs := f.Validate(values); len(errs) > 0 {
			return Timing{}, errs
		}
	}
	took := make([]time.Duration, max(1, times))
	var sum time.Duration
	for i := range took {
		start := time.Now()
		f.Validate(values)
		took[i] = time.Since(start)
		sum += took[i]
	}
	slices.Sort(took)
	at := func(part float64) time.Duration { return took[min(len(took)-1, int(part*float64(len(took))))] }
	return Timing{Avg: sum / time.Duration(len(took)), P50: at(.5), P95: at(.95), P99: at(.99)}, nil
}
