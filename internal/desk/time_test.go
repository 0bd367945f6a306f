package desk

import (
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
)

// TestExpiresAtItsDeadline holds P3, E8 and S7, also for somebody who takes a
// month.
func TestExpiresAtItsDeadline(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 5 * time.Minute, 30 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t, func(c *Config) { c.Timeout = func(ask.Kind) time.Duration { return timeout } })
			r, c := newResult(t), &client{}
			id := k.Ask(question(), Ways{Client: c}, r.asker())
			time.Sleep(timeout - 1)
			synctest.Wait()
			r.none()
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			out := r.now()
			if out.Ending != ask.Expired || out.Err.Code != ask.Timeout || out.Answer.Action != ask.NoAction {
				t.Errorf("outcome %+v, %v", out, out.Err)
			}
			if c.withdrawal(id) != ask.Timeout || k.Open() != 0 {
				t.Errorf("withdrawn with %q, %d open", c.withdrawal(id), k.Open())
			}
			if got := k.record(t, id, "settled"); got.Since != timeout || got.Ending != ask.Expired {
				t.Errorf("audited as %+v", got)
			}
			wantCode(t, k.Answer(id, fromAda, accept), ask.TooLate)
		})
	}
}

func TestDeadlineOfTheAskerCanOnlyShorten(t *testing.T) {
	for _, tt := range []struct{ asked, want time.Duration }{
		{time.Minute, time.Minute},
		{time.Hour, 5 * time.Minute},
		{-time.Minute, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, r, c := newKit(t, nil), newResult(t), &client{}
			a, began := question(), time.Now()
			a.Deadline = began.Add(tt.asked)
			k.Ask(a, Ways{Client: c}, r.asker())
			out := <-r.got
			if out.Ending != ask.Expired || time.Since(began) != tt.want {
				t.Errorf("%s: %s after %s", tt.asked, out.Ending, time.Since(began))
			}
			if tt.want == 0 && len(c.shown) > 0 {
				t.Error("an expired ask was shown")
			}
		})
	}
}

// TestTimerThatRunsAhead: time is what Now says. A timer that fires early is
// set again.
func TestTimerThatRunsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var behind time.Duration
		k := newKit(t, func(c *Config) {
			c.Now = func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return time.Now().Add(-behind)
			}
		})
		r := newResult(t)
		k.Ask(question(), Ways{Client: &client{}}, r.asker())
		mu.Lock()
		behind = time.Minute
		mu.Unlock()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		r.none()
		time.Sleep(time.Minute)
		synctest.Wait()
		if out := r.now(); out.Ending != ask.Expired {
			t.Errorf("outcome %+v", out)
		}
	})
}

// TestTimerThatLags: an answer at the deadline is late, whether or not the
// timer has fired.
func TestTimerThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		now := began
		k := newKit(t, func(c *Config) { c.Now = func() time.Time { return now } })
		r, c := newResult(t), &client{}
		id := k.Ask(question(), Ways{Client: c}, r.asker())
		now = began.Add(5 * time.Minute)
		wantCode(t, k.Answer(id, fromAda, accept), ask.TooLate)
		if out := r.now(); out.Ending != ask.Expired || c.withdrawal(id) != ask.Timeout {
			t.Errorf("outcome %+v, withdrawn with %q", out, c.withdrawal(id))
		}
	})
}

// TestAnswerAgainstExpiry lets an answer and the deadline meet in the same
// instant: one of them wins, and both sides hear the same.
func TestAnswerAgainstExpiry(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			k, r := newKit(t, nil), newResult(t)
			id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
			var err error
			done := make(chan struct{})
			time.AfterFunc(5*time.Minute, func() {
				defer close(done)
				err = k.Answer(id, fromAda, accept)
			})
			out := <-r.got
			<-done
			if answered := out.Ending == ask.Answered; answered != (err == nil) {
				t.Errorf("outcome %s, the answerer heard %v", out.Ending, err)
			}
		})
	}
}

// TestPeopleOfEverySpeed plays fifty asks at once, with answers, second
// answers, withdrawals, lost clients and deadlines in any order (goal 2 of the
// reliability table).
func TestPeopleOfEverySpeed(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) { playDesk(t, seed) })
	}
}

func playDesk(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	k := newKit(t, func(c *Config) {
		c.Timeout = func(ask.Kind) time.Duration { return 24 * time.Hour }
		c.Log = slog.New(slog.DiscardHandler)
	})
	c := &client{}
	var wg sync.WaitGroup
	for range 50 {
		pause, limit := random(rng, time.Minute), random(rng, 10*time.Minute)
		first, second, ended := random(rng, 15*time.Minute), random(rng, 15*time.Minute), random(rng, 20*time.Minute)
		wg.Go(func() {
			time.Sleep(pause)
			began, r, a := time.Now(), newResult(t), question()
			a.Deadline = began.Add(limit)
			id := k.Ask(a, Ways{Client: c}, r.asker())
			var acts sync.WaitGroup
			answers := make([]error, 2)
			for i, after := range []time.Duration{first, second} {
				acts.Go(func() {
					time.Sleep(after)
					answers[i] = k.Answer(id, fromAda, accept)
				})
			}
			acts.Go(func() {
				time.Sleep(ended)
				k.End(id, ask.Withdrawn, ask.Errorf(ask.BackendWithdrew, "Taken back."))
			})
			out := <-r.got
			if took := time.Since(began); took != min(limit, first, second, ended) {
				t.Errorf("seed %d: %s after %s, limit %s, answers %s and %s, end %s", seed, out.Ending, took, limit, first, second, ended)
			}
			acts.Wait()
			taken := 0
			for _, err := range answers {
				if err == nil {
					taken++
				} else {
					wantCode(t, err, ask.TooLate)
				}
			}
			if (taken == 1) != (out.Ending == ask.Answered) || taken > 1 {
				t.Errorf("seed %d: %s, %d answers taken", seed, out.Ending, taken)
			}
			if withdrawn := c.withdrawal(id) != ""; withdrawn != (out.Ending != ask.Answered) {
				t.Errorf("seed %d: %s, withdrawn %t", seed, out.Ending, withdrawn)
			}
		})
	}
	wg.Wait()
	if s := k.Stats(); s.Open != 0 || s.Asked != 50 || s.Answered+s.Expired+s.Withdrawn != 50 {
		t.Errorf("seed %d: %+v", seed, s)
	}
}

// random is up to most, in whole seconds, so that events often coincide.
func random(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.IntN(int(most/time.Second))+1) * time.Second
}
