package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/ask"
)

// backend is somebody to fetch from: it counts, takes a while, and may fail.
type backend struct {
	mu    sync.Mutex
	calls int
	takes time.Duration
	err   error
	size  int
}

func (b *backend) fetch(ctx context.Context, key Key) (*View, error) {
	b.mu.Lock()
	b.calls++
	n, takes, err, size := b.calls, b.takes, b.err, b.size
	b.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	// The number of the fetch is in the list, to tell views apart.
	return NewView(key.Backend, key.List, page(key.List, fmt.Sprint(n)+strings.Repeat("x", size)))
}

func (b *backend) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

func testConfig() Config {
	return Config{Max: 10, Bytes: 1 << 20, Age: time.Hour, Timeout: 30 * time.Second, Now: time.Now}
}

func newCache(t testing.TB, change func(*Config)) *Cache {
	t.Helper()
	cfg := testConfig()
	if change != nil {
		change(&cfg)
	}
	c, err := NewCache(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantFetch checks that a Get gives the view of the n-th fetch.
func wantFetch(t *testing.T, c *Cache, key Key, b *backend, n int) {
	t.Helper()
	v, err := c.Get(t.Context(), key, b.fetch)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(v.items[0].key, fmt.Sprint(n)) || b.count() != n {
		t.Fatalf("view %.10s after %d fetches, want that of fetch %d", v.items[0].key, b.count(), n)
	}
}

var toolsOfA = Key{Backend: "a", List: Tools}

func TestCacheNeedsAWholeConfig(t *testing.T) {
	for i, change := range []func(*Config){
		func(c *Config) { c.Max = 0 }, func(c *Config) { c.Bytes = 0 }, func(c *Config) { c.Age = 0 },
		func(c *Config) { c.Timeout = 0 }, func(c *Config) { c.Now = nil },
	} {
		cfg := testConfig()
		change(&cfg)
		if _, err := NewCache(cfg); err == nil {
			t.Errorf("case %d is taken", i)
		}
	}
}

func TestAHundredCallersFetchOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, nil), &backend{takes: time.Second}
		var views [100]*View
		var wg sync.WaitGroup
		for i := range views {
			wg.Go(func() {
				v, err := c.Get(t.Context(), toolsOfA, b.fetch)
				if err != nil {
					t.Error(err)
				}
				views[i] = v
			})
		}
		wg.Wait()
		for _, v := range views {
			if v != views[0] {
				t.Fatal("callers have different views")
			}
		}
		if b.count() != 1 {
			t.Fatalf("%d fetches", b.count())
		}
		wantFetch(t, c, toolsOfA, b, 1)
		c.Close()
	})
}

func TestKeysThatDifferShareNothing(t *testing.T) {
	c, b := newCache(t, nil), &backend{}
	defer c.Close()
	for i, key := range []Key{
		toolsOfA,
		{Backend: "b", List: Tools},
		{Backend: "a", List: Prompts},
		{Backend: "a", List: Tools, Caps: "form"},
		{Backend: "a", List: Tools, Version: "2025-11-25"},
		{Backend: "a", List: Tools, Principal: ask.Principal{Issuer: "i", Subject: "s"}},
		{Backend: "a", List: Tools, Principal: ask.Principal{Issuer: "is", Subject: ""}},
	} {
		wantFetch(t, c, key, b, i+1)
	}
}

func TestACallerThatGoesAwayLeavesTheFetchToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, nil), &backend{takes: 10 * time.Second}
		why := errors.New("went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			start := time.Now()
			if _, err := c.Get(ctx, toolsOfA, b.fetch); !errors.Is(err, why) || time.Since(start) != time.Second {
				t.Errorf("error %v after %v", err, time.Since(start))
			}
		})
		synctest.Wait() // the fetch is that of the caller who leaves
		wg.Go(func() {
			if _, err := c.Get(t.Context(), toolsOfA, b.fetch); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		cancel(why)
		wg.Wait()
		wantFetch(t, c, toolsOfA, b, 1)
		c.Close()
	})
}

func TestAFetchNobodyWaitsForIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, nil), &backend{takes: time.Second}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Get(ctx, toolsOfA, b.fetch); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		wantFetch(t, c, toolsOfA, b, 1)
		c.Close()
	})
}

func TestAFetchHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, nil), &backend{takes: time.Hour}
		start := time.Now()
		_, err := c.Get(t.Context(), toolsOfA, b.fetch)
		wantCode(t, err, ask.BackendTimeout)
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("it took %v", took)
		}
		if msg := ask.From(err).Message; !strings.Contains(msg, "Backend a") || !strings.Contains(msg, "tools") {
			t.Errorf("the message %q does not say who and what", msg)
		}
		c.Close()
	})
}

func TestViewsGrowOldFromTheStartOfTheirFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, func(cfg *Config) { cfg.Age = time.Minute }), &backend{takes: 10 * time.Second}
		wantFetch(t, c, toolsOfA, b, 1)
		time.Sleep(50*time.Second - time.Nanosecond)
		wantFetch(t, c, toolsOfA, b, 1)
		time.Sleep(time.Nanosecond)
		wantFetch(t, c, toolsOfA, b, 2)
		c.Close()
	})
}

func TestFailuresCoolForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, nil), &backend{takes: time.Minute / 6, err: ask.Errorf(ask.BackendUnreachable, "down")}
		for range 3 {
			_, err := c.Get(t.Context(), toolsOfA, b.fetch)
			wantCode(t, err, ask.BackendUnreachable)
		}
		time.Sleep(time.Second - time.Nanosecond)
		if _, err := c.Get(t.Context(), toolsOfA, b.fetch); !errors.Is(err, b.err) || b.count() != 1 {
			t.Fatalf("%v after %d fetches", err, b.count())
		}
		b.err = nil
		time.Sleep(time.Nanosecond)
		wantFetch(t, c, toolsOfA, b, 2)
		c.Close()
	})
}

func TestANilViewIsAFailure(t *testing.T) {
	c := newCache(t, nil)
	defer c.Close()
	_, err := c.Get(t.Context(), toolsOfA, func(context.Context, Key) (*View, error) { return nil, nil })
	wantCode(t, err, ask.Internal)
}

func TestTheLeastRecentlyUsedLeaves(t *testing.T) {
	c, b := newCache(t, func(cfg *Config) { cfg.Max = 2 }), &backend{}
	defer c.Close()
	first, second, third := Key{Backend: "1", List: Tools}, Key{Backend: "2", List: Tools}, Key{Backend: "3", List: Tools}
	get := func(key Key, fetches int) {
		t.Helper()
		if _, err := c.Get(t.Context(), key, b.fetch); err != nil || b.count() != fetches {
			t.Fatalf("%d fetches, want %d: %v", b.count(), fetches, err)
		}
	}
	get(first, 1)
	get(second, 2)
	get(first, 2)
	get(third, 3) // second leaves
	get(first, 3)
	get(second, 4) // third leaves
	get(first, 4)
	get(third, 5)
}

func TestViewsAreBoundedByBytes(t *testing.T) {
	c, b := newCache(t, func(cfg *Config) { cfg.Bytes = 10_000 }), &backend{size: 1500} // about 3 KB each
	defer c.Close()
	for i := range 10 {
		if _, err := c.Get(t.Context(), Key{Backend: fmt.Sprint(i), List: Tools}, b.fetch); err != nil {
			t.Fatal(err)
		}
	}
	if c.used.Len() != 3 || c.bytes > 10_000 || len(c.byName) != 3 {
		t.Fatalf("%d views of %d bytes are kept for %d backends", c.used.Len(), c.bytes, len(c.byName))
	}
	// One that is too large alone is given out and not kept.
	b.size = 20_000
	if v, err := c.Get(t.Context(), toolsOfA, b.fetch); err != nil || v.Len() != 1 {
		t.Fatal(err)
	}
	if c.used.Len() != 0 || c.bytes != 0 {
		t.Fatalf("%d views of %d bytes are kept", c.used.Len(), c.bytes)
	}
}

func TestFetchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, func(cfg *Config) { cfg.Max = 2 }), &backend{takes: time.Second}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := c.Get(t.Context(), toolsOfA, b.fetch); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			c.Forget("a", 0) // a forgotten fetch counts as long as it runs
		}
		_, err := c.Get(t.Context(), toolsOfA, b.fetch)
		wantCode(t, err, ask.RateLimited)
		wg.Wait()
		wantFetch(t, c, toolsOfA, b, 3)
		c.Close()
	})
}

func TestForget(t *testing.T) {
	all := []Key{
		{Backend: "a", List: Tools}, {Backend: "a", List: Tools, Version: "v"}, {Backend: "a", List: Prompts},
		{Backend: "a", List: Resources}, {Backend: "a", List: Templates}, {Backend: "b", List: Tools},
	}
	for _, tt := range []struct {
		backend string
		list    List
		want    int // views fetched again
	}{
		{"a", Tools, 2}, {"a", Prompts, 1}, {"a", Resources, 2}, {"a", Templates, 2}, {"a", 0, 5}, {"b", 0, 1}, {"b", Prompts, 0}, {"c", 0, 0},
	} {
		c, b := newCache(t, nil), &backend{}
		for range 2 {
			for _, key := range all {
				if _, err := c.Get(t.Context(), key, b.fetch); err != nil {
					t.Fatal(err)
				}
			}
			c.Forget(tt.backend, tt.list)
		}
		if got := b.count() - len(all); got != tt.want {
			t.Errorf("Forget(%q, %v): %d fetched again, want %d", tt.backend, tt.list, got, tt.want)
		}
		c.Close()
	}
}

func TestAViewForgottenOnItsWayServesOnlyThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCache(t, nil), &backend{takes: time.Second}
		var wg sync.WaitGroup
		wg.Go(func() {
			if v, err := c.Get(t.Context(), toolsOfA, b.fetch); err != nil || !v.Has("1") {
				t.Errorf("%v, %v", v, err)
			}
		})
		synctest.Wait()
		c.Forget("a", Tools)
		time.Sleep(time.Second / 2)
		wantFetch(t, c, toolsOfA, b, 2)
		wg.Wait()
		wantFetch(t, c, toolsOfA, b, 2) // the older one has not come back
		c.Close()
		if c.used.Len() != 1 {
			t.Errorf("%d views are kept", c.used.Len())
		}
	})
}

func TestCloseEndsFetchesAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(t, nil)
		ended := false
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := c.Get(t.Context(), toolsOfA, func(ctx context.Context, _ Key) (*View, error) {
				<-ctx.Done()
				time.Sleep(time.Second) // some cleaning up
				ended = true
				return nil, ctx.Err()
			})
			wantCode(t, err, ask.ShuttingDown)
		})
		synctest.Wait()
		c.Close()
		if !ended {
			t.Error("Close did not wait")
		}
		wg.Wait()
		_, err := c.Get(t.Context(), toolsOfA, new(backend).fetch)
		wantCode(t, err, ask.ShuttingDown)
		c.Close()
	})
}

// Whatever is done in whatever order, the books agree and the limits hold.
func TestCacheKeepsItsBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		c, err := NewCache(Config{Max: 4, Bytes: 3000, Age: 10 * time.Second, Timeout: time.Minute, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		b := new(backend)
		key := rapid.Custom(func(t *rapid.T) Key {
			return Key{Backend: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "backend"), List: List(rapid.IntRange(1, 4).Draw(t, "list"))}
		})
		t.Repeat(map[string]func(*rapid.T){
			"get": func(t *rapid.T) {
				b.size = rapid.IntRange(0, 800).Draw(t, "size")
				b.err = rapid.SampledFrom([]error{nil, nil, nil, errors.New("down")}).Draw(t, "err")
				_, _ = c.Get(context.Background(), key.Draw(t, "key"), b.fetch)
			},
			"forget": func(t *rapid.T) {
				k := key.Draw(t, "key")
				c.Forget(k.Backend, k.List)
			},
			"wait": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "s")) * time.Second) },
			"": func(t *rapid.T) {
				c.mu.Lock()
				defer c.mu.Unlock()
				views, size := 0, 0
				for _, m := range c.byName {
					if len(m) == 0 {
						t.Fatal("a backend without views is kept")
					}
					for _, e := range m {
						views++
						size += e.size()
					}
				}
				if views != c.used.Len() || size != c.bytes || views > 4 || size > 3000 || c.flights != 0 {
					t.Fatalf("%d views of %d bytes, but %d and %d in the books, %d fetches", views, size, c.used.Len(), c.bytes, c.flights)
				}
			},
		})
	})
}

func TestManyUsersOfOneCache(t *testing.T) {
	c := newCache(t, func(cfg *Config) { cfg.Max = 3 })
	b := new(backend)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				key := Key{Backend: fmt.Sprint((i + j) % 4), List: Tools}
				if v, err := c.Get(t.Context(), key, b.fetch); err == nil && v.Len() != 1 || err != nil && ask.CodeOf(err) != ask.RateLimited {
					t.Error(err)
				}
				if j%7 == 0 {
					c.Forget(key.Backend, 0)
				}
			}
		})
	}
	wg.Wait()
	c.Close()
}
