package desk

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/journal"
)

// start is a further start over a store, with the list of what was set aside.
func start(t *testing.T, store journal.Journal, revive Revive) (*kit, *aside.List) {
	t.Helper()
	var list *aside.List
	next := newKit(t, func(c *Config) {
		var err error
		list, err = aside.Open(t.Context(), aside.Config{
			Shelf: store.Shelf("aside"), Home: "home", Epoch: 1, Now: time.Now, Log: slog.New(slog.DiscardHandler), Count: func(aside.Kind) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Journal, c.Aside = store, list
	})
	if _, err := next.Restore(t.Context(), "home", revive); err != nil {
		t.Fatalf("the gateway does not start: %v", err)
	}
	return next, list
}

// waitsOn is a question that waits on its page, asked by a group.
func waitsOn(k *kit, group string) string {
	return k.Ask(question(), Ways{Page: true}, Asker{Settled: func(ask.Outcome) error { return nil }, Group: group, Kept: true, Resume: func() []byte { return []byte(group) }})
}

// A record that cannot be read is set aside by its name, and what is beside it
// goes on. That nothing is done to it is seen at a start that can read it.
func TestAForeignRecordIsSetAside(t *testing.T) {
	k := newKit(t, nil)
	bad, good := waitsOn(k, "bad"), waitsOn(k, "good")
	key, _ := k.cfg.Key(bad)
	rec, err := k.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	whole := rec.Body
	closeKit(t, k)
	for what, c := range map[string]struct {
		body []byte
		want string
	}{
		"a newer format":     {append([]byte{99}, whole[1:]...), "has the format 99, and this version reads 2"},
		"a header cut off":   {whole[:1], "cannot be read"},
		"a body cut off":     {whole[:len(whole)-1], "cannot be read"},
		"sealed for another": {append(whole[:headerSize:headerSize], "sealed for ask-x:"...), "cannot be opened with the keys at hand"},
		"garbage":            {[]byte("garbage"), "has the format"},
	} {
		t.Run(what, func(t *testing.T) {
			rec.Body = c.body
			if rec.Rev, err = k.store.Update(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				r := newResult(t)
				next, list := start(t, k.store, waits(r))
				all := list.All()
				if len(all) != 1 || all[0].Kind != aside.Ask || all[0].Name != bad || !strings.Contains(all[0].Reason, c.want) {
					t.Errorf("set aside: %+v, want %s with %q", all, bad, c.want)
				}
				if _, err := next.Look(t.Context(), good, adaAtPage, "page"); err != nil {
					t.Errorf("the other ask: %v", err)
				}
				closeKit(t, next)
				r.now() // it goes on after the next start
			}
			rec.Body = whole
			if rec.Rev, err = k.store.Update(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
			next, list := start(t, k.store, waitsAll)
			if all := list.All(); len(all) != 0 || next.Open() != 2 {
				t.Errorf("once it can be read %d asks are open, and set aside: %+v", next.Open(), all)
			}
			closeKit(t, next)
		})
	}
}

func waitsAll(_ context.Context, group []Stored) []Revived {
	revived := make([]Revived, len(group))
	for i := range revived {
		revived[i].Asker = Asker{Settled: func(ask.Outcome) error { return nil }}
	}
	return revived
}

// A store that cannot be read is no matter of single records.
func TestADamagedStoreStopsTheRestore(t *testing.T) {
	k, h := newHooked(t)
	h.all = func(yield func(journal.Record, error) bool) {
		yield(journal.Record{}, &journal.Error{Reason: journal.Corrupt, Message: "block 1"})
	}
	if _, err := k.Restore(t.Context(), "home", lost); !errors.Is(err, journal.Corrupt) {
		t.Errorf("restored: %v", err)
	}
}

// A panic while one group is taken up does not touch another. The questions of
// the group can be answered all the same; the answer waits in the store, and is
// given when a later start takes the group up.
func TestAPanicIsContainedToItsGroup(t *testing.T) {
	k := newKit(t, nil)
	bad, open, good := waitsOn(k, "bad"), waitsOn(k, "bad"), waitsOn(k, "good")
	closeKit(t, k)
	tried := 0
	panics := func(ctx context.Context, group []Stored) []Revived {
		if string(group[0].Resume) == "bad" {
			tried++
			var none []Revived
			return none[1:2]
		}
		return waitsAll(ctx, group)
	}
	next, list := start(t, k.store, panics)
	all := list.All()
	if len(all) != 1 || all[0].Kind != aside.Call || all[0].Name != "bad" || len(all[0].Asks) != 2 || !strings.Contains(all[0].Reason, "out of range") || !strings.Contains(all[0].Stack, "aside_test.go") {
		t.Fatalf("set aside: %+v", all)
	}
	if got, err := next.Submit(good, adaAtPage, "page", accept); err != nil || got.Undelivered != nil {
		t.Errorf("the answer to the other group: %+v, %v", got, err)
	}
	if got, err := next.Submit(bad, adaAtPage, "page", accept); err != nil || got.Undelivered == nil || !strings.Contains(got.Undelivered.Message, "set aside") {
		t.Errorf("the answer to the group that was set aside: %+v, %v", got, err)
	}
	_, err := next.Submit(bad, adaAtPage, "page", accept)
	wantCode(t, err, ask.TooLate)
	closeKit(t, next)

	// The second start fails over it again, the third leaves it alone.
	for range 2 {
		next, list = start(t, k.store, panics)
		if _, err := next.Look(t.Context(), open, adaAtPage, "page"); err != nil {
			t.Errorf("the open question: %v", err)
		}
		closeKit(t, next)
	}
	if all := list.All(); tried != 2 || len(all) != 1 || all[0].Failures != 2 {
		t.Errorf("it was tried %d times in three starts: %+v", tried, all)
	}
	if _, err := list.Retry(all[0].Key); err != nil {
		t.Fatal(err)
	}
	given := make(chan ask.Outcome, 2)
	next, list = start(t, k.store, func(_ context.Context, group []Stored) []Revived {
		settled := func(out ask.Outcome) error { given <- out; return nil }
		return []Revived{{Asker: Asker{Settled: settled}}, {Asker: Asker{Settled: settled}}}
	})
	if out := <-given; string(out.Answer.Result) != string(accept.Result) {
		t.Errorf("the answer that was held back: %+v", out)
	}
	if all := list.All(); len(all) != 0 {
		t.Errorf("what was taken up is still listed: %+v", all)
	}
	closeKit(t, next)
}

// The deadline of a question holds although its group was set aside, and the
// end is kept for the asker.
func TestAQuestionThatWasSetAsideExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		id := waitsOn(k, "bad")
		closeKit(t, k)
		cannot := func(_ context.Context, group []Stored) []Revived {
			return []Revived{{Aside: errors.New("the thread cannot be read")}}
		}
		next, list := start(t, k.store, cannot)
		if all := list.All(); len(all) != 1 || all[0].Reason != "the thread cannot be read" || all[0].Stack != "" {
			t.Errorf("set aside: %+v", all)
		}
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		if v, err := next.Look(t.Context(), id, adaAtPage, "page"); err != nil || v.Outcome == nil || v.Outcome.Ending != ask.Expired || v.Delivered {
			t.Errorf("after its deadline: %+v, %v", v, err)
		}
		closeKit(t, next)
		r := newResult(t)
		next, _ = start(t, k.store, waits(r))
		if out := r.now(); out.Ending != ask.Expired {
			t.Errorf("the asker hears %+v", out)
		}
		closeKit(t, next)
	})
}

// A group of which fewer asks came back than it has is set aside whole: which
// asker belongs to which ask is not known.
func TestAGroupThatCameBackInPartIsSetAside(t *testing.T) {
	k := newKit(t, nil)
	waitsOn(k, "bad")
	waitsOn(k, "bad")
	closeKit(t, k)
	next, list := start(t, k.store, func(ctx context.Context, group []Stored) []Revived { return waitsAll(ctx, group)[:1] })
	defer closeKit(t, next)
	if all := list.All(); len(all) != 1 || len(all[0].Asks) != 2 || !strings.Contains(all[0].Reason, "1 of 2 asks were taken up") {
		t.Errorf("set aside: %+v", all)
	}
}

// An ask is said to go on after the next start where that is so: it is kept, and
// has not ended.
func TestKeeps(t *testing.T) {
	k := newKit(t, nil)
	defer closeKit(t, k)
	kept := waitsOn(k, "kept")
	passing := k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: func(ask.Outcome) error { return nil }})
	if !k.Keeps(kept) || k.Keeps(passing) || k.Keeps("unknown") {
		t.Errorf("kept %t, passing %t, unknown %t", k.Keeps(kept), k.Keeps(passing), k.Keeps("unknown"))
	}
	if _, err := k.Submit(kept, adaAtPage, "page", accept); err != nil || k.Keeps(kept) {
		t.Errorf("after its answer: %t, %v", k.Keeps(kept), err)
	}
}

func TestStepBackOfNoBody(t *testing.T) {
	if got := StepBack([]byte{1}); string(got) != "\x01" || steppedBack(got) {
		t.Errorf("what is no body became %v", got)
	}
}
