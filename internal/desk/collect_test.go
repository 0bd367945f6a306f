package desk

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

const leftOver = `{"action":"accept","content":{}}`

// taking gives out an answer that was not given out before.
func taking(v View) ([]byte, error) {
	if string(v.Outcome.Answer.Result) == leftOver {
		return nil, ask.Errorf(ask.Collected, "It was collected.")
	}
	return []byte(leftOver), nil
}

// whole keeps an answer until it is collected.
func whole(r *result) Asker {
	return Asker{Settled: r.settled, Kept: true, Keep: func(result []byte) []byte { return result }}
}

// answered is an ask for ada with her answer, which waits to be collected.
func answered(t *testing.T, k *kit) string {
	t.Helper()
	id := k.Ask(question(), Ways{Page: true}, whole(newResult(t)))
	if _, err := k.Collect(t.Context(), id, adaAtPage, "api", taking); ask.CodeOf(err) != ask.NotAnswered {
		t.Errorf("an open ask is collected with %v", err)
	}
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAnAnswerIsCollectedOnce(t *testing.T) {
	k := newKit(t, nil)
	id := answered(t, k)
	for _, who := range []Viewer{{Principal: bob}, {}} {
		if _, err := k.Collect(t.Context(), id, who, "api", taking); ask.CodeOf(err) != ask.NotYours && ask.CodeOf(err) != ask.Unknown {
			t.Errorf("%v collects with %v", who, err)
		}
	}
	_, err := k.Collect(t.Context(), "nonsense", adaAtPage, "api", taking)
	wantCode(t, err, ask.Unknown)
	v, err := k.Collect(t.Context(), id, adaAtPage, "api", taking)
	if err != nil || string(v.Outcome.Answer.Result) != string(accept.Result) {
		t.Fatalf("collected %+v, %v", v, err)
	}
	_, err = k.Collect(t.Context(), id, adaAtPage, "api", taking)
	wantCode(t, err, ask.Collected)
	r, err := k.store.Get(t.Context(), journal.Key{Home: "home", Shard: shardOf(ask.Addressee{Principal: ada}), ID: id})
	if err != nil || bytes.Contains(r.Body, []byte("4711")) {
		t.Errorf("the store has %q, %v", r.Body, err)
	}
	if rec := k.record(t, id, transitionCollected); rec.By != ada || rec.Surface != "api" || rec.Digest != "" {
		t.Errorf("the audit has %+v", rec)
	}
	if n := len(slices.DeleteFunc(k.transitions(id), func(s string) bool { return s != transitionCollected })); n != 1 {
		t.Errorf("the audit has %d collections", n)
	}
}

// A hundred collectors at once: one has it.
func TestOfManyCollectorsOneWins(t *testing.T) {
	k := newKit(t, nil)
	id := answered(t, k)
	var won, refused atomic.Int64
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 100 {
		wg.Go(func() {
			<-begin
			switch _, err := k.Collect(context.Background(), id, adaAtPage, "api", taking); ask.CodeOf(err) {
			case "":
				won.Add(1)
			case ask.Collected:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	if won.Load() != 1 || refused.Load() != 99 {
		t.Errorf("%d won, %d were refused", won.Load(), refused.Load())
	}
}

// A collector that comes second between the look of the first and its write
// wins; the first finds that out from the store.
func TestACollectionInBetween(t *testing.T) {
	k := newKit(t, nil)
	id := answered(t, k)
	inner, between := error(nil), 0
	_, err := k.Collect(t.Context(), id, adaAtPage, "api", func(v View) ([]byte, error) {
		if between++; between == 1 {
			_, inner = k.Collect(t.Context(), id, adaAtPage, "api", taking)
		}
		return taking(v)
	})
	wantCode(t, err, ask.Collected)
	if inner != nil || between != 2 {
		t.Errorf("the one in between: %v, and %d looks", inner, between)
	}
}

// An answer waits through a restart; collected before it, it is gone after it.
func TestCollectionSurvivesARestart(t *testing.T) {
	k := newKit(t, nil)
	waiting, gone := answered(t, k), answered(t, k)
	if _, err := k.Collect(t.Context(), gone, adaAtPage, "api", taking); err != nil {
		t.Fatal(err)
	}
	next := again(t, k, lost)
	v, err := next.Collect(t.Context(), waiting, adaAtPage, "api", taking)
	if err != nil || string(v.Outcome.Answer.Result) != string(accept.Result) {
		t.Errorf("collected %+v, %v", v, err)
	}
	_, err = next.Collect(t.Context(), gone, adaAtPage, "api", taking)
	wantCode(t, err, ask.Collected)
}

// The asker may collect while it is being told, before the desk has noted that
// it has the outcome: that is a delivery, and nobody has to be warned of it.
func TestTheAskerCollectsWhileItIsTold(t *testing.T) {
	k := newKit(t, nil)
	var id string
	var got View
	var err error
	by := whole(newResult(t))
	by.Settled = func(ask.Outcome) error {
		got, err = k.Collect(context.Background(), id, adaAtPage, "mcp", taking)
		return nil
	}
	id = k.Ask(question(), Ways{Page: true}, by)
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	if err != nil || string(got.Outcome.Answer.Result) != string(accept.Result) {
		t.Errorf("collected %+v, %v", got, err)
	}
	if strings.Contains(k.logged(), "not stored") {
		t.Errorf("the log: %s", k.logged())
	}
	v, err := k.Look(t.Context(), id, adaAtPage, "page")
	if err != nil || !v.Delivered || string(v.Outcome.Answer.Result) != leftOver {
		t.Errorf("afterwards it is %+v, %v", v, err)
	}
	again(t, k, func(context.Context, []Stored) []Revived {
		t.Error("its asker is told again")
		return make([]Revived, 1)
	})
}

// What was not collected in time is forgotten with its ask.
func TestWhatIsNotCollectedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		id := answered(t, k)
		time.Sleep(time.Hour + time.Minute)
		_, err := k.Collect(t.Context(), id, adaAtPage, "api", taking)
		wantCode(t, err, ask.TooLate)
	})
}

// shaky is a store whose updates fail in a way, so often: before they are
// stored, or after.
type shaky struct {
	journal.Asks
	left  atomic.Int64
	after bool
	why   journal.Reason
}

func (s *shaky) Update(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if s.left.Add(-1) < 0 {
		return s.Asks.Update(ctx, r)
	}
	if s.after {
		if _, err := s.Asks.Update(ctx, r); err != nil {
			return journal.Rev{}, err
		}
	}
	return journal.Rev{}, &journal.Error{Reason: s.why, Message: "the test says so"}
}

// A store that does not say whether it took the collection is asked: it is
// given out where it was stored by this collector, and by nobody twice.
func TestCollectionInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		times int64
		after bool
		why   journal.Reason
		want  ask.Code
		next  ask.Code
	}{
		"stored, not said":     {1, true, journal.Unavailable, "", ask.Collected},
		"not stored, not said": {1, false, journal.Unavailable, "", ask.Collected},
		"never stored":         {maxCollect, false, journal.Unavailable, ask.JournalUnavailable, ""},
		"no room":              {1, false, journal.Full, ask.StoreFull, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var s *shaky
			k := newKit(t, func(c *Config) {
				s = &shaky{Asks: c.Journal}
				c.Journal = s
				seal, unseal := c.Seal, c.Unseal
				c.Seal = func(id string, plain []byte) []byte { return append(seal(id, plain), rand.Text()[:26]...) }
				c.Unseal = func(id string, sealed []byte) ([]byte, error) { return unseal(id, sealed[:len(sealed)-26]) }
			})
			id := answered(t, k)
			s.after, s.why = c.after, c.why
			s.left.Store(c.times)
			_, err := k.Collect(t.Context(), id, adaAtPage, "api", taking)
			wantCode(t, err, c.want)
			s.left.Store(0)
			_, err = k.Collect(t.Context(), id, adaAtPage, "api", taking)
			wantCode(t, err, c.next)
		})
	}
}

// An outcome whose delivery could not be noted is in the log; one that was
// collected meanwhile is not, and neither changes who can collect.
func TestDeliveryThatIsNotNoted(t *testing.T) {
	var s *shaky
	k := newKit(t, func(c *Config) {
		s = &shaky{Asks: c.Journal, why: journal.Unavailable}
		c.Journal = s
	})
	by := whole(newResult(t))
	by.Settled = func(ask.Outcome) error { s.left.Store(1); return nil }
	id := k.Ask(question(), Ways{Page: true}, by)
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(k.logged(), "delivery of an outcome not stored") {
		t.Errorf("the log: %s", k.logged())
	}
	if _, err := k.Collect(t.Context(), id, adaAtPage, "api", taking); err != nil {
		t.Error(err)
	}
}
