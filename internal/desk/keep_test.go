package desk

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

// again is a desk over the store of another, as after a restart.
func again(t *testing.T, k *kit, revive Revive) *kit {
	t.Helper()
	next := newKit(t, func(c *Config) { c.Journal = k.store })
	if _, err := next.Restore(t.Context(), "home", revive); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := next.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return next
}

// waits revives every asker as one that waits for its outcome.
func waits(r *result) Revive {
	return func(context.Context, []Stored) []Revived { return []Revived{{Asker: r.asker()}} }
}

func lost(context.Context, []Stored) []Revived {
	return []Revived{{Lost: ask.Errorf(ask.BackendLost, "The backend is gone.")}}
}

func TestWhatOnlyPassesThroughIsNotStored(t *testing.T) {
	// A store without anything behind it: whoever calls it is found out.
	k := newKit(t, func(c *Config) { c.Journal = struct{ journal.Asks }{} })
	for _, end := range []func(id string) error{
		func(id string) error { return k.Answer(id, fromAda, accept) },
		func(id string) error { k.End(id, ask.Withdrawn, nil); return nil },
	} {
		r := newResult(t)
		if err := end(k.Ask(question(), Ways{Client: &client{}}, r.asker())); err != nil {
			t.Fatal(err)
		}
		r.now()
	}
	// The control: one that is kept does call it.
	defer func() {
		if recover() == nil {
			t.Error("an ask that is kept did not touch the store: this test shows nothing")
		}
	}()
	k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: newResult(t).settled, Kept: true})
}

func TestAnAskThatWasLookedAtIsAnsweredAfterARestart(t *testing.T) {
	k := newKit(t, nil)
	a := question()
	before := newResult(t)
	id := k.Ask(a, Ways{Client: &client{}}, Asker{Settled: before.settled, Resume: func() []byte { return []byte("handle") }})
	if _, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil {
		t.Fatal(err)
	}

	after := newResult(t)
	next := again(t, k, func(_ context.Context, group []Stored) []Revived {
		got := group[0].Ask
		if len(group) != 1 || got.ID != id || string(got.Params) != string(a.Params) || string(group[0].Resume) != "handle" || got.Session != "s1" || !group[0].Open {
			t.Errorf("revived %+v", group)
		}
		return []Revived{{Asker: after.asker()}}
	})
	if v := next.Waiting(adaAtPage, 10); len(v) != 1 || v[0].Ask.ID != id {
		t.Fatalf("waiting: %v", v)
	}
	_, err := next.Look(t.Context(), id, bobAtPage, "page")
	wantCode(t, err, ask.NotYours)
	if _, err := next.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	if out := after.now(); string(out.Answer.Result) != string(accept.Result) || out.By != ada {
		t.Errorf("outcome %+v", out)
	}
	before.none()

	third := again(t, k, func(context.Context, []Stored) []Revived {
		t.Error("an ask that was answered and delivered came back")
		return []Revived{{}}
	})
	_, err = third.Submit(id, adaAtPage, "page", accept)
	wantCode(t, err, ask.TooLate)
	v, err := third.Look(t.Context(), id, adaAtPage, "page")
	if err != nil || v.Outcome == nil || v.Outcome.By != ada || len(v.Outcome.Answer.Result) != 0 || len(v.Ask.Params) == 0 {
		t.Errorf("what is remembered: %+v of %s, %v", v.Outcome, v.Ask.Params, err)
	}
	_, err = third.Look(t.Context(), id, bobAtPage, "page")
	wantCode(t, err, ask.Unknown)
}

func TestAnAskWhoseAskerIsGoneIsAbandonedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		id := k.Ask(question(), Ways{Client: &client{}}, newResult(t).asker())
		if _, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil {
			t.Fatal(err)
		}
		next := again(t, k, lost)
		synctest.Wait()
		v, err := next.Look(t.Context(), id, adaAtPage, "page")
		if err != nil || v.Outcome == nil || v.Outcome.Ending != ask.Abandoned || v.Outcome.Err.Code != ask.BackendLost {
			t.Errorf("looked at %+v, %v", v.Outcome, err)
		}
		if k.End(id, ask.Abandoned, nil); k.Close(t.Context()) != nil {
			t.Error("not closed")
		}
	})
}

func TestADeadlineHoldsAcrossARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		id := k.Ask(question(), Ways{Client: &client{}}, newResult(t).asker())
		if _, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil {
			t.Fatal(err)
		}
		if err := k.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Minute)
		r := newResult(t)
		next := again(t, k, waits(r))
		time.Sleep(time.Minute - time.Second)
		r.none()
		time.Sleep(2 * time.Second)
		if out := r.now(); out.Ending != ask.Expired {
			t.Errorf("outcome %+v", out)
		}
		if next.Open() != 0 {
			t.Errorf("%d open", next.Open())
		}
	})
}

// A gateway that dies between storing an answer and giving it to the asker
// gives it afterwards.
func TestAnAnswerThatWasStoredIsDeliveredAfterARestart(t *testing.T) {
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

		r := newResult(t)
		again(t, k, waits(r))
		synctest.Wait()
		if out := r.now(); out.Ending != ask.Answered || string(out.Answer.Result) != string(accept.Result) {
			t.Errorf("outcome %+v", out)
		}
		close(dies)
		synctest.Wait()
	})
}

// faulty is a store that fails when it is told to.
type faulty struct {
	journal.Journal
	failing atomic.Bool
}

func (f *faulty) fault() error {
	if f.failing.Load() {
		return &journal.Error{Reason: journal.Full, Message: "the disk is full"}
	}
	return nil
}

func (f *faulty) Create(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if err := f.fault(); err != nil {
		return journal.Rev{}, err
	}
	return f.Journal.Create(ctx, r)
}

func (f *faulty) Update(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if err := f.fault(); err != nil {
		return journal.Rev{}, err
	}
	return f.Journal.Update(ctx, r)
}

func TestNothingIsAcknowledgedThatCouldNotBeStored(t *testing.T) {
	store := &faulty{}
	k := newKit(t, func(c *Config) { store.Journal = c.Journal.(journal.Journal); c.Journal = store })
	c, r := &client{}, newResult(t)
	id := k.Ask(question(), Ways{Client: c}, r.asker())

	store.failing.Store(true)
	_, err := k.Look(t.Context(), id, adaAtPage, "page")
	wantCode(t, err, ask.StoreFull)
	if v := k.Waiting(adaAtPage, 10); len(v) != 0 {
		t.Errorf("promised without a store: %v", v)
	}
	store.failing.Store(false)
	if _, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil {
		t.Fatal(err)
	}
	store.failing.Store(true)
	_, err = k.Submit(id, adaAtPage, "page", accept)
	wantCode(t, err, ask.StoreFull)
	r.none()
	if got := k.transitions(id); slices.Contains(got, "settled") {
		t.Errorf("audited %v", got)
	}
	store.failing.Store(false)
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	if out := r.now(); out.Ending != ask.Answered {
		t.Errorf("outcome %+v", out)
	}

	// An ask that must be kept from the start is refused without a store; one
	// that only passes through is not.
	store.failing.Store(true)
	r = newResult(t)
	k.Ask(question(), Ways{Page: true}, r.asker())
	if out := r.now(); out.Ending != ask.Refused || out.Err.Code != ask.StoreFull {
		t.Errorf("outcome %+v", out)
	}
	r = newResult(t)
	id = k.Ask(question(), Ways{Client: c}, r.asker())
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Error(err)
	}
	r.now()
}

func TestExtendMovesTheDeadlineWithinItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		r := newResult(t)
		id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
		first, err := k.Look(t.Context(), id, adaAtPage, "page")
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Extend(id, bobAtPage, "page", time.Minute, 2)
		wantCode(t, err, ask.NotYours)
		for n := 1; n <= 2; n++ {
			v, err := k.Extend(id, adaAtPage, "page", time.Minute, 2)
			if err != nil || v.Extensions != n || !v.Ask.Deadline.Equal(first.Ask.Deadline.Add(time.Duration(n)*time.Minute)) {
				t.Errorf("extended to %+v, %v", v, err)
			}
		}
		_, err = k.Extend(id, adaAtPage, "page", time.Minute, 2)
		wantCode(t, err, ask.NotAllowed)
		time.Sleep(7*time.Minute - time.Second)
		r.none()
		time.Sleep(2 * time.Second)
		if out := r.now(); out.Ending != ask.Expired {
			t.Errorf("outcome %+v", out)
		}
		_, err = k.Extend(id, adaAtPage, "page", time.Minute, 2)
		wantCode(t, err, ask.TooLate)
	})
}

// linking is a client that offers links.
type linking struct {
	client
	followed bool
}

func (l *linking) Followed() { l.followed = true }

func TestALinkIsConsentAndNoAnswer(t *testing.T) {
	k := newKit(t, nil)
	c, r := &linking{}, newResult(t)
	id := k.Ask(question(), Ways{Link: c}, r.asker())
	if err := k.Answer(id, fromAda, ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept"}`)}); err != nil {
		t.Fatal(err)
	}
	r.none()
	if !c.followed {
		t.Error("the client was not told that the link was followed")
	}
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	r.now()
	if got := c.withdrawal(id); got != ask.TooLate {
		t.Errorf("the client was told %q", got)
	}

	r = newResult(t)
	id = k.Ask(question(), Ways{Link: c}, r.asker())
	if err := k.Answer(id, fromAda, ask.Answer{Action: ask.Decline, Result: []byte(`{"action":"decline"}`)}); err != nil {
		t.Fatal(err)
	}
	if out := r.now(); out.Answer.Action != ask.Decline {
		t.Errorf("outcome %+v", out)
	}
}

func TestAReceiptTellsThatTheAskerIsGone(t *testing.T) {
	k := newKit(t, nil)
	r := newResult(t)
	r.fail = ask.Errorf(ask.BackendLost, "The server has gone.")
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	got, err := k.Submit(id, adaAtPage, "page", accept)
	if err != nil || got.Undelivered == nil || got.Undelivered.Code != ask.BackendLost {
		t.Errorf("receipt %+v, %v", got, err)
	}
	if rec := k.record(t, id, "undeliverable"); rec.Code != ask.BackendLost {
		t.Errorf("record %+v", rec)
	}
}

// A client that has lost an ask with the gateway is shown it again, where its
// asker says so, and is told when it ends. Others have it before them still.
func TestAnAskIsShownAgainToAClientThatLostIt(t *testing.T) {
	for _, shows := range []bool{true, false} {
		k := newKit(t, nil)
		id := k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: newResult(t).settled, Kept: true})
		after, back := newResult(t), &client{}
		next := again(t, k, func(context.Context, []Stored) []Revived {
			return []Revived{{Asker: after.asker(), Ways: Ways{Client: back}, Again: shows}}
		})
		if n := len(back.shown); n != map[bool]int{true: 1}[shows] {
			t.Errorf("with Again %v it was shown %d times", shows, n)
		}
		if _, err := next.Submit(id, adaAtPage, "page", accept); err != nil {
			t.Fatal(err)
		}
		after.now()
		if why := back.withdrawn[id]; (why != nil) != shows {
			t.Errorf("with Again %v it was withdrawn with %v", shows, why)
		}
	}
}
