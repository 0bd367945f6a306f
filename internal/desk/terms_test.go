package desk

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

// attempt fails to answer an ask, as ada at a page.
func (k *kit) attempt(t *testing.T, id string, want Attempts) {
	t.Helper()
	if got, err := k.Attempted(id, adaAtPage, "page"); err != nil || got != want {
		t.Errorf("attempts %+v, %v, want %+v", got, err, want)
	}
}

func TestOneAttemptTooManyEndsTheAsk(t *testing.T) { // F9
	k := newKit(t, nil)
	c, r := &client{}, newResult(t)
	id := k.Ask(question(), Ways{Client: c}, r.asker())
	if _, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		k.attempt(t, id, Attempts{Count: n, Limit: 3})
		if got := (Attempts{n, 3}); got.Over() || got.Last() != (n == 3) {
			t.Errorf("%+v: over %v, last %v", got, got.Over(), got.Last())
		}
	}
	r.none()
	k.attempt(t, id, Attempts{Count: 4, Limit: 3})
	if !(Attempts{4, 3}).Over() {
		t.Error("the fourth is not over")
	}
	if out := r.now(); out.Ending != ask.Abandoned || out.Err.Code != ask.FormInvalidated || out.Answer.Action != ask.NoAction {
		t.Errorf("outcome %+v, %v", out, out.Err)
	}
	if c.withdrawal(id) != ask.FormInvalidated || k.Open() != 0 {
		t.Errorf("withdrawn with %q, %d open", c.withdrawal(id), k.Open())
	}
	want := []string{"asked", "shown", "shown", "opened", "attempted", "attempted", "attempted", "attempted", "settled", "delivered"}
	if got := k.transitions(id); !slices.Equal(got, want) {
		t.Errorf("audit %v", got)
	}
	if rec := k.record(t, id, "attempted"); rec.By != ada || rec.Surface != "page" {
		t.Errorf("record %+v", rec)
	}
	v, err := k.Look(t.Context(), id, adaAtPage, "page")
	if err != nil || v.Attempts != 4 || v.Outcome == nil || v.Outcome.Abandonment() != ask.Invalidated {
		t.Errorf("looked at %+v, %v", v, err)
	}
	_, err = k.Attempted(id, adaAtPage, "page")
	wantCode(t, err, ask.TooLate)
	_, err = k.Submit(id, adaAtPage, "page", accept)
	wantCode(t, err, ask.TooLate)
}

// The last attempt that is allowed may be a good one.
func TestAnAnswerIsTakenAfterAttempts(t *testing.T) { // F9
	k := newKit(t, nil)
	r := newResult(t)
	id := kept(t, k, r)
	for n := 1; n <= 3; n++ {
		k.attempt(t, id, Attempts{Count: n, Limit: 3})
	}
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	if out := r.now(); out.Ending != ask.Answered {
		t.Errorf("outcome %+v", out)
	}
}

// Nobody uses up the attempts of somebody else.
func TestAttackAttemptsOfSomebodyElse(t *testing.T) { // F9
	k := newKit(t, nil)
	r := newResult(t)
	id := kept(t, k, r)
	for range 5 {
		_, err := k.Attempted(id, bobAtPage, "page")
		wantCode(t, err, ask.NotYours)
	}
	if rec := k.record(t, id, "not_yours"); rec.By != bob {
		t.Errorf("record %+v", rec)
	}
	_, err := k.Attempted("no-id", adaAtPage, "page")
	wantCode(t, err, ask.Unknown)
	model := question()
	model.Kind = ask.Sampling
	of := newResult(t)
	_, err = k.Attempted(k.Ask(model, Ways{Client: &client{}}, of.asker()), adaAtPage, "page")
	wantCode(t, err, ask.Unknown)
	r.none()
	of.none()
	k.attempt(t, id, Attempts{Count: 1, Limit: 3})
}

func TestAttemptsCountAcrossARestart(t *testing.T) { // F9
	k := newKit(t, nil)
	id := kept(t, k, newResult(t))
	k.attempt(t, id, Attempts{Count: 1, Limit: 3})
	k.attempt(t, id, Attempts{Count: 2, Limit: 3})
	r := newResult(t)
	next := again(t, k, waits(r))
	next.attempt(t, id, Attempts{Count: 3, Limit: 3})
	r.none()
	next.attempt(t, id, Attempts{Count: 4, Limit: 3})
	if out := r.now(); out.Err.Code != ask.FormInvalidated {
		t.Errorf("outcome %+v", out)
	}
}

func TestAttemptsThatCannotBeStoredDoNotCount(t *testing.T) { // F9
	store := &faulty{}
	k := newKit(t, func(c *Config) { store.Journal = c.Journal.(journal.Journal); c.Journal = store })
	r := newResult(t)
	id := kept(t, k, r)
	store.failing.Store(true)
	for range 5 {
		_, err := k.Attempted(id, adaAtPage, "page")
		wantCode(t, err, ask.StoreFull)
	}
	store.failing.Store(false)
	k.attempt(t, id, Attempts{Count: 1, Limit: 3})
	r.none()
}

// An ask may say itself how long it waits; what it leaves open, and what goes
// too far, is the gateway's to say.
func TestTerms(t *testing.T) { // F10
	usual := ask.Terms{Timeout: 5 * time.Minute, Warn: time.Minute, Extension: 5 * time.Minute, Extensions: 2, Attempts: 3}
	for name, tt := range map[string]struct {
		kind ask.Kind
		of   ask.Terms
		want ask.Terms
	}{
		"none": {ask.Form, ask.Terms{}, usual},
		"all": {
			ask.Form,
			ask.Terms{Timeout: 10 * time.Minute, Warn: 2 * time.Minute, Extension: time.Minute, Extensions: 7, Attempts: 1},
			ask.Terms{Timeout: 10 * time.Minute, Warn: 2 * time.Minute, Extension: time.Minute, Extensions: 7, Attempts: 1},
		},
		"too much": {
			ask.URL,
			ask.Terms{Timeout: math.MaxInt64, Extension: math.MaxInt64},
			ask.Terms{Timeout: time.Hour, Warn: time.Minute, Extension: time.Hour, Extensions: 2, Attempts: 3},
		},
		"less than nothing": {ask.Form, ask.Terms{Timeout: -1, Warn: -1, Extension: -1, Extensions: -1, Attempts: -1}, usual},
		"no extension": {
			ask.Form,
			ask.Terms{NoExtension: true, Extensions: 9},
			ask.Terms{Timeout: 5 * time.Minute, Warn: time.Minute, Extension: 5 * time.Minute, NoExtension: true, Attempts: 3},
		},
		"shorter than the warning": {
			ask.Form,
			ask.Terms{Timeout: 50 * time.Second},
			ask.Terms{Timeout: 50 * time.Second, Warn: 10 * time.Second, Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		},
		"a model's": {
			ask.Sampling,
			ask.Terms{},
			ask.Terms{Timeout: 5 * time.Minute, Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(c *Config) { c.Terms.Warn = time.Minute })
				a, c, r := question(), &client{}, newResult(t)
				a.Kind, a.Terms = tt.kind, tt.of
				id := k.Ask(a, Ways{Client: c}, r.asker())
				if got := c.shown[0]; got.Terms != tt.want || got.Deadline.Sub(got.Asked) != tt.want.Timeout {
					t.Errorf("shown with %+v, %s; want %+v", got.Terms, got.Deadline.Sub(got.Asked), tt.want)
				}
				if tt.kind.ForPeople() {
					if v, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil || v.Ask.Terms != tt.want || !v.Active || v.Extendable() != tt.want.Extensions {
						t.Errorf("looked at %+v, %v", v, err)
					}
					next := again(t, k, waits(newResult(t)))
					if v, err := next.Look(t.Context(), id, adaAtPage, "page"); err != nil || v.Ask.Terms != tt.want {
						t.Errorf("after a restart: %+v, %v", v, err)
					}
				}
				k.End(id, ask.Abandoned, nil)
			})
		})
	}
}

func TestExtendKeepsToTheTerms(t *testing.T) { // F10
	for name, tt := range map[string]struct {
		terms ask.Terms
		least int
		want  int
	}{
		"the usual":                {ask.Terms{}, 0, 2},
		"where people need more":   {ask.Terms{}, 10, 10},
		"its own":                  {ask.Terms{Extensions: 12}, 10, 12},
		"more than can be counted": {ask.Terms{Extensions: math.MaxInt}, 0, 50},
		"none":                     {ask.Terms{NoExtension: true}, 10, 0},
	} {
		k := newKit(t, nil)
		a, r := question(), newResult(t)
		a.Terms = tt.terms
		id := k.Ask(a, Ways{Client: &client{}}, r.asker())
		v, err := k.Look(t.Context(), id, adaAtPage, "page")
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= tt.want; n++ {
			got, err := k.Extend(id, adaAtPage, "page", 0, tt.least)
			if err != nil || got.Ask.Deadline.Sub(v.Ask.Deadline) != time.Duration(n)*5*time.Minute {
				t.Fatalf("%s: extension %d: %+v, %v", name, n, got, err)
			}
		}
		if tt.want < 50 {
			_, err = k.Extend(id, adaAtPage, "page", 0, tt.least)
			wantCode(t, err, ask.NotAllowed)
		}
		k.End(id, ask.Abandoned, nil)
		if v, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil || v.Extendable() != 0 {
			t.Errorf("%s: what has ended can be extended: %+v, %v", name, v, err)
		}
	}
}

// warned is a client that is told when time is nearly up.
type warned struct {
	linking
	warnings []ask.Ask
	left     int
}

func (w *warned) Warn(a *ask.Ask, extensions int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warnings, w.left = append(w.warnings, *a), extensions
}

func (w *warned) heard() ([]ask.Ask, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.warnings, w.left
}

func TestClientsAreWarnedBeforeTheEnd(t *testing.T) { // F10
	for _, link := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t, func(c *Config) { c.Terms.Warn = time.Minute })
			w, r := &warned{}, newResult(t)
			ways := Ways{Client: w}
			if link {
				ways = Ways{Link: w}
			}
			id := k.Ask(question(), ways, r.asker())
			other := newResult(t)
			k.Ask(question(), Ways{Client: &client{}}, other.asker()) // does not want to know
			began := time.Now()
			time.Sleep(4*time.Minute - 1)
			synctest.Wait()
			if got, _ := w.heard(); len(got) != 0 {
				t.Fatal("warned too early")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if got, left := w.heard(); len(got) != 1 || got[0].ID != id || !got[0].Deadline.Equal(began.Add(5*time.Minute)) || left != 2 {
				t.Fatalf("warned of %+v, %d", got, left)
			}
			if k.record(t, id, "warned").Since != 4*time.Minute {
				t.Error("the warning is not on record")
			}
			if _, err := k.Extend(id, adaAtPage, "page", 0, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if got, left := w.heard(); len(got) != 2 || !got[1].Deadline.Equal(began.Add(10*time.Minute)) || left != 1 {
				t.Errorf("warned of %+v, %d", got, left)
			}
			r.none()
			time.Sleep(time.Minute)
			synctest.Wait()
			if r.now().Ending != ask.Expired || other.now().Ending != ask.Expired || w.withdrawal(id) != ask.Timeout {
				t.Error("it did not end, or the client was not told")
			}
		})
	}
}

// After a restart the clients that came back are warned, and nobody before
// that.
func TestClientsAreWarnedAfterARestart(t *testing.T) { // F10
	synctest.Test(t, func(t *testing.T) {
		warn := func(c *Config) { c.Terms.Warn = time.Minute }
		k := newKit(t, warn)
		early, later := kept(t, k, newResult(t)), kept(t, k, newResult(t))
		time.Sleep(270 * time.Second)
		if err := k.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := map[string]*warned{early: {}, later: {}}
		next := newKit(t, func(c *Config) { warn(c); c.Journal = k.store })
		_, err := next.Restore(t.Context(), "home", func(_ context.Context, group []Stored) []Revived {
			id := group[0].Ask.ID
			if id == early {
				// Somebody opens the page before the client is back.
				if _, err := next.Look(t.Context(), id, adaAtPage, "page"); err != nil {
					t.Error(err)
				}
			}
			return []Revived{{Asker: Asker{Settled: func(ask.Outcome) error { return nil }}, Ways: Ways{Client: w[id]}}}
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		first, _ := w[early].heard()
		second, _ := w[later].heard()
		if len(first) != 0 || len(second) != 1 {
			t.Errorf("warned %d and %d times", len(first), len(second))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := next.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
