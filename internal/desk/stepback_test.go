package desk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/answerback/answerback/ask"
)

// stepBack marks what is stored of an ask, as a restore does.
func stepBack(t *testing.T, k *kit, id string) {
	t.Helper()
	key, _ := k.cfg.Key(id)
	r, err := k.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	r.Body = StepBack(r.Body)
	if _, err := k.store.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// An open ask of a restored backup is open again, its asker is told that it
// comes from one, and what its person answers is as good as any answer.
func TestAnOpenAskOfABackupIsAnsweredAnew(t *testing.T) {
	k := newKit(t, nil)
	id, other := waitsOn(k, "restored"), waitsOn(k, "beside")
	closeKit(t, k)
	stepBack(t, k, id)
	marks := map[string]bool{}
	seen := make(chan Stored, 2)
	got := map[string]*result{id: newResult(t), other: newResult(t)}
	next := again(t, k, func(_ context.Context, group []Stored) []Revived {
		seen <- group[0]
		return []Revived{{Asker: got[group[0].Ask.ID].asker(), Ways: Ways{Page: true}}}
	})
	for range 2 {
		s := <-seen
		marks[s.Ask.ID] = s.Restored
		if !s.Open {
			t.Errorf("%s is not open", s.Ask.ID)
		}
	}
	if !marks[id] || marks[other] {
		t.Errorf("restored: %v", marks)
	}
	for _, id := range []string{id, other} {
		if _, err := next.Submit(id, adaAtPage, "page", accept); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if out := got[id].now(); out.Ending != ask.Answered {
			t.Errorf("%s: %+v", id, out)
		}
	}
}

// An answer of before the backup is not collected after a restore, not even
// after a further start, although its delivery is noted then.
func TestAnAnswerOfABackupIsNotCollected(t *testing.T) {
	k := newKit(t, nil)
	id := answered(t, k)
	stepBack(t, k, id)
	for range 2 {
		next := again(t, k, lost)
		_, err := next.Collect(t.Context(), id, adaAtPage, "api", taking)
		wantCode(t, err, ask.Collected)
	}
}

// An answer that was stored and not delivered in the backup is marked: its
// asker is told so and decides, and it stays marked whatever becomes of it.
func TestAnUndeliveredAnswerOfABackupIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		dies := make(chan struct{})
		id := k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: func(ask.Outcome) error {
			<-dies
			return errors.New("too late for this gateway")
		}})
		if _, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil {
			t.Fatal(err)
		}
		go k.Submit(id, adaAtPage, "page", accept)
		synctest.Wait()
		stepBack(t, k, id)

		gone := ask.Errorf(ask.OutcomeUnknown, "The gateway was restored from a backup.")
		taken := 0
		for range 2 {
			next := again(t, k, func(_ context.Context, group []Stored) []Revived {
				taken++
				if len(group) != 1 || !group[0].Restored || group[0].Open {
					t.Errorf("the asker is told %+v", group)
				}
				return []Revived{{Lost: gone}}
			})
			synctest.Wait()
			v, err := next.Look(t.Context(), id, adaAtPage, "page")
			if err != nil || v.Delivered || v.Undelivered == nil || v.Undelivered.Code != ask.OutcomeUnknown {
				t.Errorf("%+v %v", v, err)
			}
		}
		if taken != 1 {
			t.Errorf("it was taken up %d times, want once", taken)
		}
		key, _ := k.cfg.Key(id)
		if r, err := k.store.Get(t.Context(), key); err != nil || !steppedBack(r.Body) {
			t.Errorf("the mark is gone: %v", err)
		}
		close(dies)
		synctest.Wait()
	})
}
