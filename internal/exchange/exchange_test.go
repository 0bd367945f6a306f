package exchange

import (
	"slices"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLadder(t *testing.T) {
	if got := Ladder(Reach{Client: true}); !slices.Equal(got, []Rung{RungClient}) {
		t.Errorf("a connected client gives %v", got)
	}
	if got := Ladder(Reach{}); len(got) != 0 {
		t.Errorf("nobody to reach gives %v", got)
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		NoRung.String():               "none",
		RungClient.String():           "client",
		Rung(200).String():            "unknown",
		TransitionAsked.String():      "asked",
		TransitionShown.String():      "shown",
		TransitionShowFailed.String(): "show_failed",
		TransitionSettled.String():    "settled",
		Transition(0).String() + "?":  "unknown?",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStepLeavesItsInputAlone: a state can be kept, stored and stepped again.
func TestStepLeavesItsInputAlone(t *testing.T) {
	rungs := []Rung{RungClient, 2, 3}
	a, _ := StepAsk(Ask{}, start, Asked{Deadline: start.Add(time.Minute), Rungs: rungs})
	failed := ShowFailed{Rung: RungClient, Why: ask.Errorf(ask.ClientGone, "Because.")}
	first, _ := StepAsk(a, start, failed)
	second, _ := StepAsk(a, start, failed)
	if first.Rung != second.Rung || !slices.Equal(first.Rungs, second.Rungs) || a.Rung != RungClient {
		t.Errorf("the same step twice gave %+v and %+v from %+v", first, second, a)
	}
	if !slices.Equal(rungs, []Rung{RungClient, 2, 3}) {
		t.Errorf("the ladder was written to: %v", rungs)
	}
}

// TestWhatIsLeftUnsaidIsStillAReason: an outcome without an answer has an error.
func TestWhatIsLeftUnsaidIsStillAReason(t *testing.T) {
	a, _ := StepAsk(Ask{}, start, Asked{Deadline: start.Add(time.Minute), Rungs: []Rung{RungClient}})
	_, effects := StepAsk(a, start, Withdrawn{})
	reply, ok := effects[len(effects)-1].(Reply)
	if !ok || reply.Outcome.Err == nil || reply.Outcome.Err.Code != ask.Internal {
		t.Errorf("a withdrawal without a reason gave %+v", effects)
	}
}

// TestNobodyThereSaysSo holds E3 and S3.
func TestNobodyThereSaysSo(t *testing.T) {
	_, effects := StepAsk(Ask{}, start, Asked{Deadline: start.Add(time.Minute)})
	out := effects[len(effects)-1].(Reply).Outcome
	if out.Ending != ask.Refused || out.Err.Code != ask.NoClient || out.Err.Message != "No client is available to answer the question." {
		t.Errorf("%+v, %v", out, out.Err)
	}
}
