package desk

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
)

// TestOpenLimits holds A7 and F17 for the number of open asks.
func TestOpenLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		limit func(*Config)
		other func(*ask.Ask) // what is not touched by the limit, nil for nothing
	}{
		"in all":        {func(c *Config) { c.MaxOpen = 3 }, nil},
		"per session":   {func(c *Config) { c.MaxOpenPerSession = 3 }, func(a *ask.Ask) { a.Session = "s2" }},
		"per principal": {func(c *Config) { c.MaxOpenPerPrincipal = 3 }, func(a *ask.Ask) { a.Addressee.Principal = bob }},
	} {
		k := newKit(t, tt.limit)
		var ids []string
		for range 3 {
			r := newResult(t)
			ids = append(ids, k.Ask(question(), Ways{Client: &client{}}, r.asker()))
			r.none()
		}
		c, r := &client{}, newResult(t)
		k.Ask(question(), Ways{Client: c}, r.asker())
		if out := r.now(); out.Ending != ask.Refused || out.Err.Code != ask.TooManyOpen || len(c.shown) != 0 {
			t.Errorf("%s: the fourth gave %+v, shown %d times", name, out, len(c.shown))
		}
		if tt.other != nil {
			a, r := question(), newResult(t)
			tt.other(&a)
			ids = append(ids, k.Ask(a, Ways{Client: &client{}}, r.asker()))
			r.none()
		}
		if k.Open() != len(ids) {
			t.Errorf("%s: %d open, want %d", name, k.Open(), len(ids))
		}

		k.End(ids[0], ask.Abandoned, nil)
		again := newResult(t)
		ids = append(ids, k.Ask(question(), Ways{Client: &client{}}, again.asker()))
		again.none()
		for _, id := range ids {
			k.End(id, ask.Abandoned, nil)
		}
		if k.Open() != 0 {
			t.Errorf("%s: %d open in the end", name, k.Open())
		}
	}
}

// TestAsksWithoutASessionCountForTheirPrincipal: modern clients have none.
func TestAsksWithoutASessionCountForTheirPrincipal(t *testing.T) {
	k := newKit(t, func(c *Config) { c.MaxOpenPerSession, c.MaxOpenPerPrincipal = 1, 2 })
	a := question()
	a.Session = ""
	for i, want := range []ask.Code{"", "", ask.TooManyOpen} {
		var got ask.Code
		k.Ask(a, Ways{Client: &client{}}, Asker{Settled: func(out ask.Outcome) error { got = out.Err.Code; return nil }})
		if got != want {
			t.Errorf("ask %d: %q, want %q", i, got, want)
		}
	}
}

// TestRateLimit holds F17: a backend that asks too often is told when it may
// ask again, and starves neither another backend nor another person.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(c *Config) { c.RatePerMinute, c.Burst = 10, 3 })
		try := func(change func(*ask.Ask)) *ask.Error {
			a, r := question(), newResult(t)
			if change != nil {
				change(&a)
			}
			id := k.Ask(a, Ways{Client: &client{}}, r.asker())
			k.End(id, ask.Abandoned, ask.Errorf(ask.ClientGone, "Because."))
			if out := r.now(); out.Ending == ask.Refused {
				return out.Err
			}
			return nil
		}
		for i := range 3 {
			if err := try(nil); err != nil {
				t.Fatalf("ask %d of the burst: %v", i, err)
			}
		}
		err := try(nil)
		if err == nil || err.Code != ask.RateLimited || err.Data["retryAfterMs"] != int64(6000) {
			t.Fatalf("beyond the burst: %v, %v", err, err.Data)
		}
		if err := try(func(a *ask.Ask) { a.Backend = "other" }); err != nil {
			t.Errorf("another backend: %v", err)
		}
		if err := try(func(a *ask.Ask) { a.Addressee.Principal = bob }); err != nil {
			t.Errorf("another person: %v", err)
		}
		time.Sleep(6*time.Second - 1)
		if err := try(nil); err == nil || err.Data["retryAfterMs"] != int64(1) {
			t.Errorf("a nanosecond early: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := try(nil); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		if k.Open() != 0 {
			t.Errorf("%d open", k.Open())
		}
	})
}

func TestLimiterKeepsTheLongRunRate(t *testing.T) {
	began := time.Unix(0, 0)
	l := newLimiter(began, 60, 5, limiterKeys)
	allowed := 0
	for ms := range 60_000 {
		if l.take(limiterKey{backend: "b"}, began.Add(time.Duration(ms)*time.Millisecond)) == 0 {
			allowed++
		}
	}
	if allowed != 64 {
		t.Errorf("%d in a minute, want the burst of 5 and then one a second", allowed)
	}
}

func TestLimiterForgetsIdleKeysFirst(t *testing.T) {
	began := time.Unix(0, 0)
	l := newLimiter(began, 60, 2, shardCount*32)
	busy := limiterKey{backend: "busy"}
	now := began
	for i := range 20_000 {
		// The busy key is never idle: it spends all it has, all the time.
		for l.take(busy, now) == 0 {
		}
		l.take(limiterKey{backend: fmt.Sprint(i)}, now)
		if i%50 == 0 {
			now = now.Add(time.Second)
		}
	}
	if n := l.keys(); n > shardCount*32 {
		t.Errorf("%d keys are remembered", n)
	}
	if l.take(busy, now) == 0 {
		t.Error("a busy key was forgotten while others were idle")
	}
}

func TestLimiterStaysBoundedWhenNoKeyIsIdle(t *testing.T) {
	began := time.Unix(0, 0)
	l := newLimiter(began, 1, 5, 1)
	for i := range 10_000 {
		if wait := l.take(limiterKey{backend: fmt.Sprint(i)}, began); wait != 0 {
			t.Fatalf("a new key has to wait %s", wait)
		}
	}
	if n := l.keys(); n != shardCount {
		t.Errorf("%d keys are remembered, want one in each shard", n)
	}
}

func TestLimiterIsExactUnderContention(t *testing.T) {
	began := time.Unix(0, 0)
	l := newLimiter(began, 60, 100, limiterKeys)
	var mu sync.Mutex
	var wg sync.WaitGroup
	allowed := 0
	for range 20 {
		wg.Go(func() {
			for range 50 {
				if l.take(limiterKey{backend: "b", who: ask.Addressee{Principal: ada}}, began) == 0 {
					mu.Lock()
					allowed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if allowed != 100 {
		t.Errorf("%d were let in, want 100", allowed)
	}
}
