package desk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/ask"
)

// TestTwoHundredAnswersOneWins holds P2 for simultaneous answers.
func TestTwoHundredAnswersOneWins(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	var won, late atomic.Int64
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 200 {
		wg.Go(func() {
			<-begin
			switch err := k.Answer(id, fromAda, accept); ask.CodeOf(err) {
			case "":
				won.Add(1)
			case ask.TooLate:
				late.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	if won.Load() != 1 || late.Load() != 199 || r.count.Load() != 1 {
		t.Errorf("%d won, %d late, settled %d times", won.Load(), late.Load(), r.count.Load())
	}
	if s := k.Stats(); s.Late != 199 {
		t.Errorf("%d audited as late", s.Late)
	}
}

// TestEachAnswerFindsItsOwnQuestion holds E9.
func TestEachAnswerFindsItsOwnQuestion(t *testing.T) {
	k := newKit(t, nil)
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			a, r := question(), newResult(t)
			a.Session = fmt.Sprintf("s%d", i%7)
			a.Backend = fmt.Sprintf("b%d", i%5)
			id := k.Ask(a, Ways{Client: &client{}}, r.asker())
			want := fmt.Sprintf(`{"n":%d}`, i)
			if err := k.Answer(id, From{Principal: ada, Session: a.Session}, ask.Answer{Result: []byte(want)}); err != nil {
				t.Error(err)
			}
			if out := r.now(); string(out.Answer.Result) != want {
				t.Errorf("question %d got %s", i, out.Answer.Result)
			}
		})
	}
	wg.Wait()
	if k.Open() != 0 {
		t.Errorf("%d open", k.Open())
	}
}

func TestCloseSettlesWhatIsOpen(t *testing.T) {
	k, c := newKit(t, nil), &client{}
	results := make([]*result, 200)
	ids := make([]string, len(results))
	for i := range results {
		results[i] = newResult(t)
		ids[i] = k.Ask(question(), Ways{Client: c}, results[i].asker())
	}
	if err := k.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if out := r.now(); out.Ending != ask.Abandoned || out.Err.Code != ask.ShuttingDown || c.withdrawal(ids[i]) != ask.ShuttingDown {
			t.Fatalf("outcome %+v, withdrawn with %q", out, c.withdrawal(ids[i]))
		}
	}
	after := newResult(t)
	k.Ask(question(), Ways{Client: c}, after.asker())
	if out := after.now(); out.Ending != ask.Refused || out.Err.Code != ask.ShuttingDown {
		t.Errorf("outcome after Close: %+v", out)
	}
	if k.Open() != 0 {
		t.Errorf("%d open", k.Open())
	}
	if err := k.Close(context.Background()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestCloseWaitsForCallbacks(t *testing.T) {
	k := newKit(t, nil)
	release := make(chan struct{})
	k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: func(ask.Outcome) error { <-release; return nil }})
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("out of patience")
	cancel(gone)
	if err := k.Close(ctx); !errors.Is(err, gone) || ask.CodeOf(err) != ask.Internal {
		t.Errorf("Close gave %v", err)
	}
	close(release)
	if err := k.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestCloseMissesNothing: an ask that comes while the desk closes is refused
// or settled, never forgotten.
func TestCloseMissesNothing(t *testing.T) {
	for range 50 {
		k := newKit(t, nil)
		var settled atomic.Int64
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: func(ask.Outcome) error { settled.Add(1); return nil }})
			})
		}
		if err := k.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if settled.Load() != 20 || k.Open() != 0 {
			t.Fatalf("%d of 20 settled, %d open", settled.Load(), k.Open())
		}
	}
}
