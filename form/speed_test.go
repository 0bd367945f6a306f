package form_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/form/formtest"
)

// F20: the floors of seed 004, and the goal beside the bare validator on the
// same schema and values. The best of many short rounds counts, since the
// machine may be busy with something else; what is compared is measured in
// turns. `make bench` prints the figures.
func TestSpeedFloors(t *testing.T) {
	a := testAnswer(t)
	schema, instance := oracle(t, a.form), map[string]any{}
	for id, v := range a.values {
		instance[id] = plain(a.form, id, v)
	}
	var cache *form.Cache
	compile := func() {
		if _, err := cache.Parse(a.raw); err != nil {
			t.Fatal(err)
		}
	}
	const rounds, batch = 40, 50
	p95, first, again, ours, bare := time.Hour, time.Hour, time.Hour, time.Hour, time.Hour
	for range rounds {
		timing, err := formtest.Measure(a.form, 100)
		if err != nil {
			t.Fatal(err)
		}
		p95 = min(p95, timing.P95)
		cache = form.NewCache(nil, 1)
		first = min(first, took(compile))
		for range batch {
			again = min(again, took(compile))
		}
		ours = min(ours, took(func() {
			for range batch {
				if _, errs := a.form.Validate(a.values); len(errs) > 0 {
					t.Fatal(errs)
				}
			}
		})/batch)
		bare = min(bare, took(func() {
			for range batch {
				if err := schema.Validate(instance); err != nil {
					t.Fatal(err)
				}
			}
		})/batch)
	}
	cores := runtime.GOMAXPROCS(0)
	perSecond := float64(cores) * float64(time.Second) / float64(ours)
	t.Logf("validation: %v, p95 %v, %.0f a second on %d cores, %.2f times the bare validator; compiling: %v, cached %v",
		ours, p95, perSecond, cores, float64(ours)/float64(bare), first, again)
	for _, floor := range []struct {
		what string
		held bool
	}{
		{"validation p95 under 5 ms", p95 < 5*time.Millisecond},
		{"50,000 validations a second on 2 cores", raced || ours < 2*time.Second/50_000},
		{"at most 1.5 times the bare validator", float64(ours) <= 1.5*float64(bare)},
		{"compiling under 20 ms", first < 20*time.Millisecond},
		{"cached compiling under 100 us", again < 100*time.Microsecond},
	} {
		if !floor.held {
			t.Errorf("not held: %s", floor.what)
		}
	}
}

func took(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}
