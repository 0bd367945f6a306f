package exchange

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLadder(t *testing.T) {
	for reach, want := range map[Reach][]Rung{
		{}:                                     nil,
		{Client: true}:                         {RungClient},
		{Link: true, Page: true}:               {RungLink, RungPage},
		{Client: true, Page: true}:             {RungClient, RungPage},
		{Client: true, Link: true, Page: true}: {RungClient, RungLink, RungPage},
	} {
		if got := Ladder(reach); !slices.Equal(got, want) {
			t.Errorf("%+v gives %v, want %v", reach, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		NoRung.String():                  "none",
		RungClient.String():              "client",
		RungLink.String():                "link",
		RungPage.String():                "page",
		Rung(200).String():               "unknown",
		TransitionAsked.String():         "asked",
		TransitionShown.String():         "shown",
		TransitionShowFailed.String():    "show_failed",
		TransitionSettled.String():       "settled",
		TransitionUndeliverable.String(): "undeliverable",
		Transition(0).String() + "?":     "unknown?",
		Transition(99).String() + "!":    "unknown!",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStepLeavesItsInputAlone: a state can be kept, stored and stepped again.
func TestStepLeavesItsInputAlone(t *testing.T) {
	rungs := []Rung{RungClient, RungLink, RungPage, NoRung, 77}
	a, _ := StepAsk(Ask{}, start, Asked{Deadline: start.Add(time.Minute), Rungs: rungs})
	failed := ShowFailed{Rung: RungClient, Why: ask.Errorf(ask.ClientGone, "Because.")}
	first, _ := StepAsk(a, start, failed)
	second, _ := StepAsk(a, start, failed)
	first, one := StepAsk(first, start, Persisted{})
	second, two := StepAsk(second, start, Persisted{})
	if first != second || !reflect.DeepEqual(one, two) || !a.Coming.Has(RungClient) || a.Persisting() {
		t.Errorf("the same step twice gave %+v and %+v from %+v", first, second, a)
	}
	if !slices.Equal(rungs, []Rung{RungClient, RungLink, RungPage, NoRung, 77}) {
		t.Errorf("the ladder was written to: %v", rungs)
	}
}

// TestAPassingAskCostsNothing: one between two live connections is never stored.
func TestAPassingAskCostsNothing(t *testing.T) {
	var a Ask
	for _, ev := range []AskEvent{
		Asked{Deadline: start.Add(time.Minute), Rungs: Ladder(Reach{Client: true})},
		Shown{Rung: RungClient}, Opened{Rung: RungClient}, Extend{For: time.Minute, Limit: 1},
		Submitted{Rung: RungClient, Answer: ask.Answer{Action: ask.Accept}}, Delivered{},
	} {
		var effects []AskEffect
		a, effects = StepAsk(a, start, ev)
		for _, e := range effects {
			switch e.(type) {
			case Persist, Note, Forget:
				t.Errorf("%T gives %T", ev, e)
			}
		}
	}
	if a.Phase != PhaseSettled || a.Delivery != DeliveryDone {
		t.Errorf("it came to %+v", a)
	}
}

// TestSnapshotAndRestore: nothing that must be durable is left out.
func TestSnapshotAndRestore(t *testing.T) {
	k := Kept{
		Deadline: start, Warn: time.Minute, Phase: PhaseSettled, Extensions: 2, Attempts: 3,
		Outcome:  &ask.Outcome{Ending: ask.Answered},
		Delivery: DeliveryFailed, Undelivered: ask.Errorf(ask.BackendLost, "Because."),
	}
	if got := Snapshot(Restore(k)); got != k {
		t.Errorf("%+v came back as %+v", k, got)
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
