package exchange

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"pgregory.net/rapid"
)

// seedCount is how many histories are played: as many as the environment says,
// else 10,000, or a few under the race detector.
func seedCount(t *testing.T) uint64 {
	if s := os.Getenv("ANSWERBACK_SEEDS"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if raced {
		return 500
	}
	return 10_000
}

// fixedSeeds are played by every run, however few it plays.
var fixedSeeds = []uint64{
	11, 1987, 2025, 4711, 65537, 70001, 86028121, 99991, 104729, 314159,
	271828, 500009, 611953, 746773, 832003, 999983, 1299709, 15485863, 32452843, 49979687,
}

func seeds(t *testing.T) func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for _, seed := range fixedSeeds {
			if !yield(seed) {
				return
			}
		}
		for seed := range seedCount(t) {
			if !yield(seed) {
				return
			}
		}
	}
}

// TestSimulation holds P2, P3 and P4, and that what is told is stored first,
// for any interleaving of events, restarts and failures of the store.
func TestSimulation(t *testing.T) {
	for seed := range seeds(t) {
		playAsk(seeded(seed), 200, StepAsk, nil, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
	}
}

// TestCallSimulation holds that a call ends, is released once, is charged only
// for its own work, and is promised to nobody before it is stored.
func TestCallSimulation(t *testing.T) {
	for seed := range seeds(t) {
		playCall(seeded(seed), 200, nil, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
	}
}

// TestModelsShrinking plays the same games with a generator that finds the
// shortest failing one.
func TestModelsShrinking(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
		playAsk(pick, 30, StepAsk, nil, rt.Fatalf)
		playCall(pick, 30, nil, rt.Fatalf)
	})
}

// TestModelCatches plants bugs: a model that finds nothing wrong with them
// would prove nothing about the rest.
func TestModelCatches(t *testing.T) {
	// drop leaves out effects.
	drop := func(which func(ev AskEvent, e AskEffect) bool) stepper {
		return func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			next, effects := StepAsk(a, now, ev)
			var left []AskEffect
			for _, e := range effects {
				if !which(ev, e) {
					left = append(left, e)
				}
			}
			return next, left
		}
	}
	// early gives what waits for a Persist beside it.
	early := func(which func(Persist) bool) stepper {
		return func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			next, effects := StepAsk(a, now, ev)
			for _, e := range effects {
				if p, ok := e.(Persist); ok && which(p) {
					return next, append(effects, next.pending.effects...)
				}
			}
			return next, effects
		}
	}
	for name, broken := range map[string]stepper{
		"double settle": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			if _, ok := ev.(Submitted); ok && a.Phase == PhaseSettled && a.pending == nil {
				a.Phase, a.Outcome, a.Deadline = PhaseShown, nil, now.Add(time.Minute)
			}
			return StepAsk(a, now, ev)
		},
		"reply before persist": early(func(p Persist) bool { return p.Kept.Outcome != nil }),
		"show before persist":  early(func(p Persist) bool { return p.New }),
		"acknowledge what could not be stored": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			if _, ok := ev.(PersistFailed); ok {
				ev = Persisted{}
			}
			return StepAsk(a, now, ev)
		},
		"forget what could not be stored": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			if _, ok := ev.(PersistFailed); ok && a.pending != nil {
				a.pending = nil
				return a, nil
			}
			return StepAsk(a, now, ev)
		},
		"no persist": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			next, effects := StepAsk(a, now, ev)
			if next.pending != nil && a.pending == nil && a.Kept {
				return next.pending.next, next.pending.effects
			}
			return next, effects
		},
		"lost timer": drop(func(ev AskEvent, e AskEffect) bool { _, arm := e.(Arm); return arm && isRestart(ev) }),
		"lost retry": drop(func(ev AskEvent, e AskEffect) bool {
			_, arm := e.(Arm)
			_, failed := ev.(PersistFailed)
			return arm && failed
		}),
		"late answer delivered": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			if _, ok := ev.(Submitted); ok && a.live() && !now.Before(a.Deadline) {
				now = a.Deadline.Add(-time.Nanosecond)
			}
			return StepAsk(a, now, ev)
		},
		"consent taken for an answer": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			if s, ok := ev.(Submitted); ok && s.Rung == RungLink {
				s.Rung = NoRung
				ev = s
			}
			return StepAsk(a, now, ev)
		},
		"answer nobody is told of": drop(func(_ AskEvent, e AskEffect) bool { _, late := e.(Late); return late }),
		"showing left up":          drop(func(_ AskEvent, e AskEffect) bool { _, is := e.(Withdraw); return is }),
		"expired by a vanished person": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			next, effects := StepAsk(a, now, ev)
			for i, e := range effects {
				if au, ok := e.(Audit); ok && au.Transition == TransitionSettled && au.Outcome.Ending == ask.Expired {
					au.Outcome.Answer.Action = ask.Cancel
					effects[i] = au
				}
			}
			return next, effects
		},
		"second reply after a restart": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			if isRestart(ev) && a.Phase == PhaseSettled {
				a.Delivery, a.restored = 0, true
			}
			return StepAsk(a, now, ev)
		},
		"older knowledge kept": func(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
			if _, ok := ev.(Learned); ok && a.pending != nil {
				ev = Persisted{}
			}
			return StepAsk(a, now, ev)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(500) {
				if why := caught(seed, broken); why != "" {
					t.Logf("seed %d: %s", seed, why)
					return
				}
			}
			t.Error("no seed of 500 finds it")
		})
	}
}

// caught plays one history with a broken machine and returns what the model
// says of it.
func caught(seed uint64, broken stepper) (why string) {
	type found string
	defer func() {
		switch r := recover().(type) {
		case nil:
		case found:
			why = string(r)
		default:
			panic(r)
		}
	}()
	playAsk(seeded(seed), 200, broken, nil, func(format string, args ...any) {
		panic(found(fmt.Sprintf(format, args...)))
	})
	return ""
}
