package desk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
)

// wantNothingHeld fails where anything is left of the asks that were open.
func (k *kit) wantNothingHeld(t *testing.T, name string) {
	t.Helper()
	held := map[string]int{"open": k.Open()}
	for i := range shardCount {
		held["asks"] += len(k.shards[i].open)
		held["inbox"] += len(k.inbox.shards[i].open)
		held["sessions"] += len(k.limits.session.shards[i].open)
		held["addressees"] += len(k.limits.addressee.shards[i].open)
	}
	for what, n := range held {
		if n != 0 {
			t.Errorf("%s: %d %s left", name, n, what)
		}
	}
	if n := k.unsettled.Load(); n != 1 {
		t.Errorf("%s: %d things are under way", name, n-1)
	}
}

// Whoever leaves a question: it ends under its name, everything that was held
// for it is released, and everybody who has it before them is told.
func TestAbandonmentReleasesEverything(t *testing.T) { // F11
	end := func(code ask.Code) func(*testing.T, *kit, string) {
		return func(_ *testing.T, k *kit, id string) { k.End(id, ask.Abandoned, ask.Errorf(code, "Because.")) }
	}
	for _, tt := range []struct {
		name   string
		do     func(*testing.T, *kit, string)
		reason ask.Abandonment
		told   ask.Code // the client; "" where it did it itself
	}{
		{"closed at the client", func(t *testing.T, k *kit, id string) {
			if err := k.Answer(id, fromAda, ask.Answer{Action: ask.Cancel, Result: []byte(`{"action":"cancel"}`)}); err != nil {
				t.Error(err)
			}
		}, ask.UserCancelled, ""},
		{"closed at the page", func(t *testing.T, k *kit, id string) {
			if _, err := k.Submit(id, adaAtPage, "page", ask.Answer{Action: ask.Cancel, Result: []byte(`{"action":"cancel"}`)}); err != nil {
				t.Error(err)
			}
		}, ask.UserCancelled, ask.TooLate},
		{"call cancelled", end(ask.ClientCancelled), ask.UserCancelled, ask.ClientCancelled},
		{"client gone", end(ask.ClientGone), ask.ClientDisconnected, ask.ClientGone},
		{"no answer", func(*testing.T, *kit, string) { time.Sleep(5 * time.Minute) }, ask.TimedOut, ask.Timeout},
		{"session over", end(ask.SessionExpired), ask.SessionOver, ask.SessionExpired},
		{"attempts used up", func(t *testing.T, k *kit, id string) {
			for range 4 {
				if _, err := k.Attempted(id, adaAtPage, "page"); err != nil {
					t.Error(err)
				}
			}
		}, ask.Invalidated, ask.FormInvalidated},
	} {
		for _, kept := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t, func(c *Config) { c.Terms.Warn = time.Minute })
				c, r := &client{}, newResult(t)
				by := r.asker()
				by.Kept = kept
				id := k.Ask(question(), Ways{Client: c}, by)
				if k.Open() != 1 {
					t.Fatalf("%s: control: %d open", tt.name, k.Open())
				}
				tt.do(t, k, id)
				synctest.Wait()
				if out := r.now(); out.Abandonment() != tt.reason {
					t.Errorf("%s: %+v is %q", tt.name, out, out.Abandonment())
				}
				if rec := k.record(t, id, "settled"); rec.Reason != tt.reason {
					t.Errorf("%s: on record as %q", tt.name, rec.Reason)
				}
				if got := c.withdrawal(id); got != tt.told {
					t.Errorf("%s: the client is told %q", tt.name, got)
				}
				k.wantNothingHeld(t, tt.name)
			})
		}
	}
}

// Before a stop, what is kept is let go of and its asker told that it goes on;
// what passes through stays until its call ends.
func TestSuspend(t *testing.T) {
	k := newKit(t, nil)
	going, passing, after := newResult(t), newResult(t), newResult(t)
	id := kept(t, k, going)
	through := k.Ask(question(), Ways{Client: &client{}}, passing.asker())
	k.Suspend()
	if out := going.now(); out.Ending != 0 {
		t.Errorf("a kept ask ended with the gateway: %+v", out)
	}
	passing.none()
	k.Ask(question(), Ways{Client: &client{}}, after.asker())
	if out := after.now(); out.Ending != ask.Refused || out.Err.Code != ask.ShuttingDown {
		t.Errorf("outcome of an ask that came later: %+v", out)
	}
	if err := k.Answer(through, fromAda, accept); err != nil {
		t.Error(err)
	}
	passing.now()
	k.wantNothingHeld(t, "in the end")

	r := newResult(t)
	next := again(t, k, waits(r))
	if _, err := next.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	if out := r.now(); out.Ending != ask.Answered {
		t.Errorf("outcome %+v", out)
	}
}
