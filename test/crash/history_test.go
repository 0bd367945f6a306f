//go:build crash

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

const (
	historyAsks = 250
	historyOps  = 20 // of each ask
)

// deed is what somebody does to an ask.
type deed struct {
	what  string // submit, look, end, expire, or settled: what its asker hears
	value string // of submit
}

// An ask is a register that is written once. Its state is what it was written
// with: "" while it is open, else a value or how it ended.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		is, in, got := state.(string), input.(deed), output.(string)
		switch in.what {
		case "submit":
			if got == "taken" {
				return is == "", in.value
			}
			return is != "", is
		case "end", "expire":
			if is == "" {
				return true, in.what
			}
			return in.what == "end", is // only the first end of all is heard of as an expiry
		}
		// A look at an ask that was never kept, or whose value was delivered,
		// tells that it is over, not how.
		return is == got || got == "over" && is != "", is
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v -> %v", input, output) },
}

// history is the operations of one ask, as they were called and returned.
type history struct {
	mu    sync.Mutex
	began time.Time
	ops   []porcupine.Operation
}

func (h *history) add(client int, in deed, called time.Time, out string) {
	returned := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: called.Sub(h.began).Nanoseconds(), Output: out, Return: returned})
}

// People answer, look and take back at once, deadlines come in between, and
// what everybody was told can be put in one order: that of a register which is
// written once.
func TestHistoriesAreLinearizable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	store := openStore(t, dir+"/journal")
	d, _ := newDesk(t, dir, store, func(desk.Record) {})
	all := make([]*history, historyAsks)
	room := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i := range all {
		all[i] = &history{began: time.Now()}
		mine := rand.New(rand.NewPCG(rng.Uint64(), 0))
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			all[i].play(t, d, mine)
		})
	}
	wg.Wait()
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := store.Close(context.Background()); err != nil {
		t.Error(err)
	}
	ops, ends := 0, map[string]int{}
	for i, h := range all {
		ops += len(h.ops)
		if !porcupine.CheckOperations(register, h.ops) {
			slices.SortFunc(h.ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			var b strings.Builder
			for _, o := range h.ops {
				fmt.Fprintf(&b, "\n%10d to %10d: %s", o.Call, o.Return, register.DescribeOperation(o.Input, o.Output))
			}
			t.Errorf("ask %d has a history that no order explains:%s", i, b.String())
		}
		for _, o := range h.ops {
			if in := o.Input.(deed); in.what == "settled" {
				ends[strings.TrimRight(o.Output.(string), "0123456789")]++
			}
		}
	}
	t.Logf("%d operations on %d asks, which ended %v", ops, len(all), ends)
	if ops < historyAsks*historyOps || ends["value-"] == 0 || ends["expire"] == 0 || ends["end"] == 0 {
		t.Errorf("too little happened to show anything: %d operations, %v", ops, ends)
	}
}

// play asks, and lets many do something to the ask at once.
func (h *history) play(t *testing.T, d *desk.Desk, rng *rand.Rand) {
	a := ask.Ask{Kind: ask.Form, Method: "elicitation/create", Params: []byte(`{}`), Backend: "one", Addressee: ask.Addressee{Principal: ada}}
	deadline := time.Now().Add(time.Hour)
	if rng.IntN(3) == 0 {
		deadline = time.Now().Add(time.Duration(rng.Int64N(int64(8 * time.Millisecond))))
	}
	a.Deadline = deadline
	over := make(chan struct{})
	id := d.Ask(a, desk.Ways{Client: nobody{}}, desk.Asker{Settled: func(out ask.Outcome) error {
		how := "end"
		switch out.Ending {
		case ask.Answered:
			how = string(out.Answer.Result)
		case ask.Expired:
			how = "expire"
			h.add(-1, deed{what: "expire"}, deadline, "")
		}
		h.add(-2, deed{what: "settled"}, time.Now(), how)
		close(over)
		return nil
	}})
	var wg sync.WaitGroup
	for i := range historyOps {
		kind, after := rng.IntN(20), time.Duration(rng.Int64N(int64(10*time.Millisecond)))
		wg.Go(func() {
			<-time.After(after) // when it happens is part of what is played
			h.act(t, d, id, i, kind)
		})
	}
	wg.Wait()
	// Whatever is open still is ended.
	began := time.Now()
	d.End(id, ask.Withdrawn, nil)
	h.add(historyOps, deed{what: "end"}, began, "")
	<-over
}

func (h *history) act(t *testing.T, d *desk.Desk, id string, i, kind int) {
	who := desk.Viewer{Principal: ada}
	began := time.Now()
	switch {
	case kind == 0:
		d.End(id, ask.Withdrawn, nil)
		h.add(i, deed{what: "end"}, began, "")
	case kind < 6:
		view, err := d.Look(t.Context(), id, who, "page")
		got := ""
		switch {
		case ask.CodeOf(err) == ask.TooLate:
			got = "over"
		case err != nil:
			t.Error(err)
		case view.Outcome == nil:
		case view.Outcome.Ending == ask.Answered && len(view.Outcome.Answer.Result) == 0:
			got = "over" // once the asker has the value, nobody else does
		case view.Outcome.Ending == ask.Answered:
			got = string(view.Outcome.Answer.Result)
		case view.Outcome.Ending == ask.Expired:
			got = "expire"
		default:
			got = "end"
		}
		h.add(i, deed{what: "look"}, began, got)
	default:
		value := fmt.Sprintf("value-%d", i)
		_, err := d.Submit(id, who, "page", ask.Answer{Action: ask.Accept, Result: []byte(value)})
		got := "taken"
		if err != nil {
			if got = "late"; ask.CodeOf(err) != ask.TooLate {
				t.Error(err)
			}
		}
		h.add(i, deed{"submit", value}, began, got)
	}
}
