package exchange

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
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
			switch d.Cmd {
			case "new":
				a, c, now = Ask{}, Call{}, start
				return ""
			case "crash":
				// What is not in the store is gone.
				a, c.pending = Restore(Snapshot(a)), nil
				return "restored: " + askText(a) + "\n"
			}
			if d.HasArg("at") {
				now = start.Add(argDuration(t, d, "at"))
			}
			var b strings.Builder
			if strings.Contains(path, "call") {
				next, effects := StepCall(c, now, callEvent(t, d))
				told["call "+callPhase(c)+" "+d.Cmd] = true
				told["call "+callPhase(c)+" "+d.Cmd+" -> "+callPhase(next)] = true
				for _, e := range effects {
					fmt.Fprintln(&b, "  "+effectText(e))
				}
				c = next
				fmt.Fprintln(&b, callText(c, now))
				return b.String()
			}
			next, effects := StepAsk(a, now, askEvent(t, d))
			told["ask "+askPhase(a)+" "+d.Cmd] = true
			told["ask "+askPhase(a)+" "+d.Cmd+" -> "+askPhase(next)] = true
			for _, e := range effects {
				fmt.Fprintln(&b, "  "+effectText(e))
			}
			a = next
			fmt.Fprintln(&b, askText(a))
			return b.String()
		})
	})

	// Every event in every phase (A14), and wherever random play finds that it
	// can lead.
	want := map[string]bool{}
	for _, phase := range []string{"new", "open", "shown", "active", "warned", "settled", "persisting"} {
		for event := range askEventNames {
			want["ask "+phase+" "+event] = true
		}
	}
	for _, phase := range []string{"new", "attached", "away", "uncollected", "done", "shelving"} {
		for event := range callEventNames {
			want["call "+phase+" "+event] = true
		}
	}
	pairs := len(want)
	for seed := range uint64(500) {
		playAsk(seeded(seed), 200, StepAsk, want, t.Fatalf)
		playCall(seeded(seed), 200, want, t.Fatalf)
	}
	missing := 0
	for _, step := range slices.Sorted(maps.Keys(want)) {
		if !told[step] {
			t.Errorf("no script tells of %s", step)
			missing++
		}
	}
	t.Logf("%d pairs of phase and event, %d ways in which they go on, %d untold", pairs, len(want)-pairs, missing)
	if pairs != 7*19+6*15 || len(want)-pairs < 250 {
		t.Errorf("the list of what must be told is too short: %d and %d", pairs, len(want)-pairs)
	}
}

// askEventNames and callEventNames name every event as the scripts do.
var askEventNames = map[string]AskEvent{
	"asked": Asked{}, "shown": Shown{}, "show-failed": ShowFailed{}, "reachable": Reachable{},
	"opened": Opened{}, "promised": Promised{}, "extend": Extend{}, "attempted": Attempted{},
	"submitted": Submitted{}, "withdrawn": Withdrawn{}, "abandoned": Abandoned{},
	"delivered": Delivered{}, "undeliverable": Undeliverable{},
	"persisted": Persisted{}, "persist-failed": PersistFailed{}, "learned": Learned{},
	"restarted": Restarted{}, "adopted": Adopted{}, "tick": Tick{},
}

var callEventNames = map[string]CallEvent{
	"began": Began{}, "ask-opened": AskOpened{}, "ask-settled": AskSettled{},
	"stream-lost": StreamLost{}, "stream-back": StreamBack{},
	"became-task": BecameTask{}, "told": Told{}, "called-again": CalledAgain{},
	"shelved": Shelved{}, "shelve-failed": ShelveFailed{}, "restarted": CallRestarted{},
	"finished": Finished{}, "collected": Collected{}, "cancelled": Cancelled{}, "tick": Tick{},
}

// askPhase and callPhase give the phase, or what the machine waits for.
func askPhase(a Ask) string {
	if a.Persisting() {
		return "persisting"
	}
	return a.Phase.String()
}

func callPhase(c Call) string {
	if c.pending != nil {
		return "shelving"
	}
	return c.Phase.String()
}

func askEvent(t *testing.T, d *datadriven.TestData) AskEvent {
	by, surface := ask.Principal{Subject: argString(t, d, "by", "")}, "page"
	switch d.Cmd {
	case "asked":
		return Asked{
			Deadline: start.Add(argDuration(t, d, "deadline")),
			Warn:     argDuration(t, d, "warn"),
			Kept:     d.HasArg("kept"),
			Rungs:    argRungs(t, d),
			Refuse:   argError(t, d, "refuse"),
		}
	case "shown":
		return Shown{Rung: argRung(t, d)}
	case "show-failed":
		return ShowFailed{Rung: argRung(t, d), Why: argError(t, d, "why")}
	case "reachable":
		return Reachable{Rungs: argRungs(t, d)}
	case "opened":
		return Opened{Rung: argRung(t, d), By: by, Surface: surface}
	case "extend":
		return Extend{For: argDuration(t, d, "for"), Limit: argCount(t, d, "limit"), By: by, Surface: surface}
	case "attempted":
		return Attempted{Limit: argCount(t, d, "limit"), By: by, Surface: surface}
	case "submitted":
		return Submitted{Rung: argRung(t, d), By: by, Surface: surface, Answer: argAnswer(t, d), Instant: d.HasArg("instant") || d.HasArg("doubted"), Doubted: d.HasArg("doubted")}
	case "withdrawn":
		return Withdrawn{Why: argError(t, d, "why")}
	case "abandoned":
		return Abandoned{Why: argError(t, d, "why")}
	case "undeliverable":
		return Undeliverable{Why: argError(t, d, "why")}
	case "persist-failed":
		return PersistFailed{Why: argError(t, d, "why")}
	case "learned":
		k := Kept{Phase: PhaseOpen, Deadline: start.Add(argDuration(t, d, "deadline")), Extensions: argCount(t, d, "extensions"), Attempts: argCount(t, d, "attempts")}
		if d.HasArg("by") {
			k.Outcome = &ask.Outcome{Ending: ask.Answered, Answer: argAnswer(t, d), By: by, Surface: surface, At: start.Add(argDuration(t, d, "answered"))}
		}
		if d.HasArg("expired") {
			k.Outcome = &ask.Outcome{Ending: ask.Expired, Err: ask.Errorf(ask.Timeout, "Because."), At: k.Deadline}
		}
		return Learned{Kept: k}
	case "restarted":
		return Restarted{Lost: argError(t, d, "lost"), Rungs: argRungs(t, d)}
	case "adopted":
		return Adopted{Lost: argError(t, d, "lost"), Rungs: argRungs(t, d)}
	}
	ev, ok := askEventNames[d.Cmd]
	if !ok {
		d.Fatalf(t, "unknown event %q", d.Cmd)
	}
	return ev
}

func callEvent(t *testing.T, d *datadriven.TestData) CallEvent {
	switch d.Cmd {
	case "began":
		return Began{Started: start.Add(argDuration(t, d, "started")), Limits: Limits{
			Work:  argDuration(t, d, "work"),
			Total: argDuration(t, d, "total"),
			Away:  argDuration(t, d, "away"),
		}}
	case "became-task":
		return BecameTask{TTL: argDuration(t, d, "ttl")}
	case "told":
		return Told{TTL: argDuration(t, d, "ttl")}
	case "restarted":
		return CallRestarted{Lost: argError(t, d, "lost"), Asks: int(argCount(t, d, "asks"))}
	}
	ev, ok := callEventNames[d.Cmd]
	if !ok {
		d.Fatalf(t, "unknown event %q", d.Cmd)
	}
	return ev
}

func argString(t *testing.T, d *datadriven.TestData, key, unless string) string {
	if d.HasArg(key) {
		d.ScanArgs(t, key, &unless)
	}
	return unless
}

func argDuration(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	v, err := time.ParseDuration(argString(t, d, key, "0s"))
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return v
}

func argCount(t *testing.T, d *datadriven.TestData, key string) int32 {
	n, err := strconv.ParseInt(argString(t, d, key, "0"), 10, 32)
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return int32(n)
}

func argAnswer(t *testing.T, d *datadriven.TestData) ask.Answer {
	action := argString(t, d, "action", "")
	for _, a := range []ask.Action{ask.NoAction, ask.Accept, ask.Decline, ask.Cancel} {
		if a.String() == action {
			return ask.Answer{Action: a, Result: []byte(`{}`)}
		}
	}
	d.Fatalf(t, "unknown action %q", action)
	return ask.Answer{}
}

func argRung(t *testing.T, d *datadriven.TestData) Rung {
	return rungNamed(t, d, argString(t, d, "on", ""))
}

func argRungs(t *testing.T, d *datadriven.TestData) (rungs []Rung) {
	for _, arg := range d.CmdArgs {
		if arg.Key == "rungs" {
			for _, name := range arg.Vals {
				rungs = append(rungs, rungNamed(t, d, name))
			}
		}
	}
	return rungs
}

func rungNamed(t *testing.T, d *datadriven.TestData, name string) Rung {
	for r := NoRung; r <= RungPage; r++ {
		if r.String() == name {
			return r
		}
	}
	d.Fatalf(t, "unknown rung %q", name)
	return NoRung
}

func argError(t *testing.T, d *datadriven.TestData, key string) *ask.Error {
	if !d.HasArg(key) {
		return nil
	}
	return ask.Errorf(ask.Code(argString(t, d, key, "")), "Because.")
}

func effectText(e any) string {
	switch e := e.(type) {
	case Persist:
		if e.New {
			return "persist new: " + keptText(e.Kept)
		}
		return "persist: " + keptText(e.Kept)
	case Note:
		return "note: " + keptText(e.Kept)
	case Audit:
		s := "audit " + e.Transition.String()
		if e.Rung != NoRung {
			s += " on " + e.Rung.String()
		}
		if e.By != (ask.Principal{}) {
			s += " by " + e.By.Subject
		}
		if e.Why != nil {
			s += ": " + string(e.Why.Code)
		}
		if e.Transition == TransitionSettled {
			s += ": " + outcomeText(e.Outcome)
		}
		return s
	case Arm:
		return "arm " + e.At.Sub(start).String()
	case Show:
		return "show on " + e.Rung.String()
	case Withdraw:
		return "withdraw on " + e.Rung.String() + ": " + string(e.Why.Code)
	case Warn:
		return "warn of " + e.Deadline.Sub(start).String()
	case Reply:
		return "reply " + outcomeText(e.Outcome)
	case Late:
		return "late " + e.Answer.Action.String() + " by " + e.By.Subject
	case NotDone:
		return strings.TrimPrefix(fmt.Sprintf("%T", e.Event), "exchange.") + " not done: " + string(e.Why.Code)
	case CancelUpstream:
		return "cancel upstream: " + string(e.Why.Code)
	case Fail:
		return "fail: " + string(e.Why.Code)
	case Shelve:
		return "shelve until " + e.Call.Expires.Sub(start).String()
	case Dismiss:
		if e.Task {
			return "dismiss with the task's id"
		}
		return "dismiss with the words to call again"
	case Keep:
		return "keep until " + e.Until.Sub(start).String()
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e), "exchange."))
}

func outcomeText(o ask.Outcome) string {
	if o.Ending == ask.Answered {
		return fmt.Sprintf("%s %s by %s at %s", o.Ending, o.Answer.Action, o.By.Subject, o.At.Sub(start))
	}
	return fmt.Sprintf("%s %s at %s", o.Ending, o.Err.Code, o.At.Sub(start))
}

func keptText(k Kept) string {
	s := fmt.Sprintf("%s until %s", k.Phase, k.Deadline.Sub(start))
	if k.Outcome != nil {
		s = k.Phase.String() + ", " + outcomeText(*k.Outcome)
	}
	if k.Attempts > 0 {
		s += fmt.Sprintf(", attempts: %d", k.Attempts)
	}
	switch k.Delivery {
	case DeliveryDone:
		s += ", delivered"
	case DeliveryFailed:
		s += ", undeliverable: " + string(k.Undelivered.Code)
	}
	return s
}

func askText(a Ask) string {
	s := a.Phase.String()
	if a.Phase == PhaseSettled {
		s += ": " + a.Outcome.Ending.String()
	}
	if a.Kept {
		s += ", kept"
	}
	for r := NoRung; r <= RungPage; r++ {
		if a.Up.Has(r) {
			s += ", up on " + r.String()
		}
		if a.Coming.Has(r) {
			s += ", on its way to " + r.String()
		}
	}
	if a.doom != nil {
		s += ", doomed"
	}
	if a.Persisting() {
		s += ", persisting"
	}
	return s
}

func callText(c Call, now time.Time) string {
	s := callPhase(c)
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
