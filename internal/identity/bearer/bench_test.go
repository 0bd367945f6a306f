package bearer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/identity/bearer"
)

// TestCachedTokenCheckIsQuick compares a token seen before to one that is
// not, because times differ between machines; the quickest of each, because
// whatever else runs only ever adds to them. The time itself is the
// benchmark's: at most 5 us at the median.
func TestCachedTokenCheckIsQuick(t *testing.T) {
	w := newWorld(t)
	seen := request(mint(t))
	if _, err := w.Authenticate(seen); err != nil {
		t.Fatal(err)
	}
	const rounds = 100
	cached, verified := time.Hour, time.Hour
	for i := range rounds {
		unseen := request(mint(t, claim("jti", i)))
		start := time.Now()
		_, err := w.Authenticate(unseen)
		verified = min(verified, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		_, err = w.Authenticate(seen)
		cached = min(cached, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a token seen before: %v, one not seen: %v", cached, verified)
	if verified < 5*cached {
		t.Errorf("a token seen before takes %v, one not seen %v: less than five times as long", cached, verified)
	}
}

func BenchmarkCachedToken(b *testing.B) {
	w := newWorld(b)
	r := request(mint(b))
	if _, err := w.Authenticate(r); err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if _, err := w.Authenticate(r); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "median-ns")
}

func BenchmarkVerifiedToken(b *testing.B) {
	w := newWorld(b, func(c *bearer.Config) { c.CacheSize = 1 })
	one, two := request(mint(b)), request(mint(b, claim("jti", 2)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Authenticate(one); err != nil {
			b.Fatal(err)
		}
		one, two = two, one
	}
}

func BenchmarkStaticKey(b *testing.B) {
	w := newWorld(b)
	r := request(staticKey)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}
