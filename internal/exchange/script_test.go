package exchange

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/cockroachdb/datadriven"
)

// The scripts in testdata tell what happens to one ask or one call after
// another. A command is an event, "at" is the time since the story began and
// stays until the next "at"; below the line stand the effects in their order
// and the state that the event led to. Run with -rewrite to regenerate, and
// read the difference as prose before keeping it.

// start is when every story begins.
var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// rungNames gives scripts more rungs than the program has so far: the machine
// does not care what a rung is.
var rungNames = map[string]Rung{"client": RungClient, "second": 2, "third": 3, "none": NoRung}

func TestScripts(t *testing.T) {
	told := map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if filepath.Ext(path) != ".txt" {
			return // rapid keeps its failures beside the scripts
		}
		var a Ask
		var c Call
		now := start
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				a, c, now = Ask{}, Call{}, start
				return ""
			}
			if d.HasArg("at") {
				now = start.Add(argDuration(t, d, "at"))
			}
			var b strings.Builder
			if strings.Contains(path, "call") {
				next, effects := StepCall(c, now, callEvent(t, d))
				told[transition(c.Phase, d.Cmd, next.Phase, effects)] = true
				for _, e := range effects {
					fmt.Fprintln(&b, "  "+effectText(e))
				}
				c = next
				fmt.Fprintln(&b, callText(c, now))
				return b.String()
			}
			next, effects := StepAsk(a, now, askEvent(t, d))
			told[transition(a.Phase, d.Cmd, next.Phase, effects)] = true
			for _, e := range effects {
				fmt.Fprintln(&b, "  "+effectText(e))
			}
			a = next
			fmt.Fprintln(&b, askText(a))
			return b.String()
		})
	})

	// Whatever the machines can do, a script must show (A14). Random play
	// finds what they can do.
	found := map[string]bool{}
	for seed := range uint64(500) {
		playAsk(seeded(seed), 200, found, t.Fatalf)
		playCall(seeded(seed), 200, found, t.Fatalf)
	}
	for _, tr := range slices.Sorted(maps.Keys(found)) {
		if !told[tr] {
			t.Errorf("no script tells of this transition: %s", tr)
		}
	}
	if len(found) < 60 {
		t.Errorf("random play found only %d transitions", len(found))
	}
}

// transition names a step by the phases around it, its event and its effects.
func transition[P fmt.Stringer, E any](from P, event string, to P, effects []E) string {
	kinds := make([]string, len(effects))
	for i, e := range effects {
		kinds[i] = strings.TrimPrefix(fmt.Sprintf("%T", e), "exchange.")
	}
	return fmt.Sprintf("%s --%s--> %s [%s]", from, event, to, strings.Join(kinds, " "))
}

func askEvent(t *testing.T, d *datadriven.TestData) AskEvent {
	switch d.Cmd {
	case "asked":
		ev := Asked{Deadline: start.Add(argDuration(t, d, "deadline")), Refuse: argError(t, d, "refuse")}
		for _, name := range argList(d, "rungs") {
			ev.Rungs = append(ev.Rungs, rungNamed(t, d, name))
		}
		return ev
	case "shown":
		return Shown{Rung: argRung(t, d)}
	case "show-failed":
		return ShowFailed{Rung: argRung(t, d), Why: argError(t, d, "why")}
	case "submitted":
		var by, action string
		d.ScanArgs(t, "by", &by)
		d.ScanArgs(t, "action", &action)
		actions := map[string]ask.Action{"accept": ask.Accept, "decline": ask.Decline, "cancel": ask.Cancel}
		return Submitted{Rung: argRung(t, d), By: ask.Principal{Subject: by}, Surface: "mcp",
			Answer: ask.Answer{Action: actions[action], Result: []byte(`{}`)}}
	case "withdrawn":
		return Withdrawn{Why: argError(t, d, "why")}
	case "abandoned":
		return Abandoned{Why: argError(t, d, "why")}
	case "tick":
		return Tick{}
	}
	d.Fatalf(t, "unknown event %q", d.Cmd)
	return nil
}

func callEvent(t *testing.T, d *datadriven.TestData) CallEvent {
	if d.Cmd == "began" {
		ev := Began{Started: start, Limits: Limits{
			Work:  argDuration(t, d, "work"),
			Total: argDuration(t, d, "total"),
			Away:  argDuration(t, d, "away"),
		}}
		if d.HasArg("started") {
			ev.Started = start.Add(argDuration(t, d, "started"))
		}
		return ev
	}
	ev, ok := map[string]CallEvent{
		"ask-opened": AskOpened{}, "ask-settled": AskSettled{},
		"stream-lost": StreamLost{}, "stream-back": StreamBack{},
		"finished": Finished{}, "collected": Collected{}, "cancelled": Cancelled{}, "tick": Tick{},
	}[d.Cmd]
	if !ok {
		d.Fatalf(t, "unknown event %q", d.Cmd)
	}
	return ev
}

func argDuration(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	var s string
	d.ScanArgs(t, key, &s)
	v, err := time.ParseDuration(s)
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return v
}

func argRung(t *testing.T, d *datadriven.TestData) Rung {
	var s string
	d.ScanArgs(t, "on", &s)
	return rungNamed(t, d, s)
}

func rungNamed(t *testing.T, d *datadriven.TestData, name string) Rung {
	r, ok := rungNames[name]
	if !ok {
		d.Fatalf(t, "unknown rung %q", name)
	}
	return r
}

func argError(t *testing.T, d *datadriven.TestData, key string) *ask.Error {
	if !d.HasArg(key) {
		return nil
	}
	var s string
	d.ScanArgs(t, key, &s)
	return ask.Errorf(ask.Code(s), "Because.")
}

func argList(d *datadriven.TestData, key string) []string {
	for _, arg := range d.CmdArgs {
		if arg.Key == key {
			return arg.Vals
		}
	}
	return nil
}

func rungText(r Rung) string {
	for name, v := range rungNames {
		if v == r {
			return name
		}
	}
	return "?"
}

func effectText(e any) string {
	switch e := e.(type) {
	case Audit:
		s := "audit " + e.Transition.String()
		switch e.Transition {
		case TransitionShown:
			s += " on " + rungText(e.Rung)
		case TransitionShowFailed:
			s += " on " + rungText(e.Rung) + ": " + string(ask.CodeOf(e.Why))
		case TransitionSettled:
			s += ": " + outcomeText(e.Outcome)
		}
		return s
	case Arm:
		return "arm " + e.At.Sub(start).String()
	case Show:
		return "show on " + rungText(e.Rung)
	case Withdraw:
		return "withdraw on " + rungText(e.Rung) + ": " + string(e.Why.Code)
	case Reply:
		return "reply " + outcomeText(e.Outcome)
	case Late:
		return "late " + e.Answer.Action.String() + " by " + e.By.Subject
	case CancelUpstream:
		return "cancel upstream: " + string(e.Why.Code)
	case Deliver:
		return "deliver"
	case Keep:
		return "keep until " + e.Until.Sub(start).String()
	case Release:
		return "release"
	}
	return fmt.Sprintf("%T", e)
}

func outcomeText(o ask.Outcome) string {
	if o.Ending == ask.Answered {
		return fmt.Sprintf("%s %s by %s at %s", o.Ending, o.Answer.Action, o.By.Subject, o.At.Sub(start))
	}
	return fmt.Sprintf("%s %s at %s", o.Ending, o.Err.Code, o.At.Sub(start))
}

func askText(a Ask) string {
	s := a.Phase.String()
	if a.Phase == PhaseSettled {
		s += ": " + a.Ending.String()
	}
	switch {
	case a.Up:
		s += ", up on " + rungText(a.Rung)
	case a.Rung != NoRung:
		s += ", on its way to " + rungText(a.Rung)
	}
	return s
}

func callText(c Call, now time.Time) string {
	s := c.Phase.String()
	if !c.running() {
		return s
	}
	if c.Stopped {
		return s + ", stopped"
	}
	clock := "running"
	if _, runs := c.Work.Deadline(); !runs {
		clock = "standing still"
	}
	return fmt.Sprintf("%s, asks %d, clock %s with %s left", s, c.Asks, clock, c.Work.Remaining(now))
}
