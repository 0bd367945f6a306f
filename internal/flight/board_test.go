package flight_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/flight"
)

func TestDrainWaitsForWorkAndNotForKeptQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept atomic.Bool
		b := flight.New(func(id string) bool { return id == "kept" || id == "later" && kept.Load() })
		works, waits, passing, later := b.Begin(), b.Begin(), b.Begin(), b.Begin()
		works.Calls("one", "work")
		waits.Calls("one", "ask")
		waits.Asked("kept")
		passing.Calls("", "two__ask")
		passing.Asked("passing")
		later.Asked("later")
		if got, want := fmt.Sprint(bare(b.Calls())), "[a request: false one/ask: true one/work: false two__ask: false]"; got != want {
			t.Errorf("%v, want %s", got, want)
		}

		done := make(chan error, 1)
		go func() { done <- b.Drain(t.Context()) }()
		still := func(what string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("it does not wait for %s: %v", what, err)
			default:
			}
		}
		still("a call that works")
		if b.Begin() != nil {
			t.Error("a call begins while the board drains")
		}
		works.End()
		still("a question that is not kept")
		passing.Settled("passing")
		still("a call whose question was answered")
		passing.End()
		still("a question that may yet be kept")
		kept.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("it waits for kept questions")
		}
		waits.Settled("kept") // it works again, when nobody waits any more
		waits.End()
		later.End()
		later.End()
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	b := flight.New(nil)
	trip := b.Begin()
	trip.Asked("anything")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b.Drain(ctx) == nil {
		t.Error("a call in flight is not waited for")
	}
}

func TestTripOfNobody(t *testing.T) {
	trip := flight.Of(t.Context())
	trip.Calls("a", "b")
	trip.Asked("x")
	trip.Settled("x")
	trip.End()
	b := flight.New(nil)
	if got := b.Begin(); flight.Of(flight.With(t.Context(), got)) != got {
		t.Error("a trip is lost on its way")
	}
}

// bare gives names, and whether each waits.
func bare(calls []flight.Call) []string {
	var all []string
	for _, c := range calls {
		all = append(all, fmt.Sprintf("%s: %v", c, c.Waits))
	}
	return all
}
