package desk

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

// hooked is a store in which a test gets between a call and its end.
type hooked struct {
	journal.Journal
	created func(error) error                // what Create says, after it was done
	update  func()                           // before an Update
	get     func() error                     // in place of a Get
	all     iter.Seq2[journal.Record, error] // in place of what Open gives
	settled func(addressee string) iter.Seq2[journal.Record, error]
}

func (h *hooked) Settled(ctx context.Context, shard uint16, addressee string) iter.Seq2[journal.Record, error] {
	if h.settled != nil {
		return h.settled(addressee)
	}
	return h.Journal.Settled(ctx, shard, addressee)
}

func (h *hooked) Create(ctx context.Context, r journal.Record) (journal.Rev, error) {
	rev, err := h.Journal.Create(ctx, r)
	if h.created != nil {
		err = h.created(err)
	}
	return rev, err
}

func (h *hooked) Update(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if h.update != nil {
		h.update()
	}
	return h.Journal.Update(ctx, r)
}

func (h *hooked) Get(ctx context.Context, k journal.Key) (journal.Record, error) {
	if h.get != nil {
		return journal.Record{}, h.get()
	}
	return h.Journal.Get(ctx, k)
}

func (h *hooked) Open(ctx context.Context, home string) iter.Seq2[journal.Record, error] {
	if h.all != nil {
		return h.all
	}
	return h.Journal.Open(ctx, home)
}

func newHooked(t *testing.T) (*kit, *hooked) {
	h := &hooked{}
	k := newKit(t, func(c *Config) { h.Journal = c.Journal.(journal.Journal); c.Journal = h })
	return k, h
}

// over is a desk over the store of another that was not restored: another
// gateway's.
func over(t *testing.T, k *kit) *kit {
	return newKit(t, func(c *Config) { c.Journal = k.store })
}

// kept opens an ask that ada has looked at.
func kept(t *testing.T, k *kit, r *result) string {
	t.Helper()
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	if _, err := k.Look(t.Context(), id, adaAtPage, "page"); err != nil {
		t.Fatal(err)
	}
	return id
}

// Of two gateways that hold one ask, the store decides whose answer counts;
// the other learns of it.
func TestAnswerGivenAtAnotherGatewayCounts(t *testing.T) {
	k := newKit(t, nil)
	here, there := newResult(t), newResult(t)
	there.fail = errors.New("the asker is at the other gateway")
	id := kept(t, k, here)
	other := again(t, k, waits(there))
	if _, err := other.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	_, err := k.Submit(id, adaAtPage, "page", ask.Answer{Action: ask.Decline, Result: []byte(`{"action":"decline"}`)})
	wantCode(t, err, ask.TooLate)
	if out := here.now(); string(out.Answer.Result) != string(accept.Result) {
		t.Errorf("this gateway's asker was given %+v", out)
	}
	there.now()
}

func TestAnAskOfAnotherGatewayIsNotServedHere(t *testing.T) {
	k := newKit(t, nil)
	id := kept(t, k, newResult(t))
	other := over(t, k)
	_, err := other.Look(t.Context(), id, adaAtPage, "page")
	wantCode(t, err, ask.Internal)
	_, err = other.Look(t.Context(), id, Viewer{Principal: ask.Principal{Issuer: ada.Issuer, Subject: "adaa"}}, "page")
	if code := ask.CodeOf(err); code != ask.NotYours && code != ask.Unknown {
		t.Errorf("a stranger: %v", err)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsStoredAndUnreadableIsNotAnswered(t *testing.T) {
	k := newKit(t, nil)
	r := newResult(t)
	id := kept(t, k, r)
	key, _ := k.cfg.Key(id)
	for what, body := range map[string]string{
		"another's": "\x02\x00sealed for ask-x:",
		"no body":   "\x02\x00sealed for " + id + ":[]",
		"a format":  "\x63\x00sealed for " + id + ":",
	} {
		rec, err := k.store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		rec.Body = []byte(body)
		if _, err := k.store.Update(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		if _, err := k.Submit(id, adaAtPage, "page", accept); err == nil || ask.CodeOf(err) == ask.TooLate {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := over(t, k).Look(t.Context(), id, adaAtPage, "page"); ask.CodeOf(err) != ask.Internal {
			t.Errorf("%s, looked at: %v", what, err)
		}
	}
	r.none()
	k.End(id, ask.Abandoned, nil)
}

// A new ask of which it is not known whether it was stored is refused, and
// does not come back.
func TestAnAskThatWasRefusedDoesNotComeBack(t *testing.T) {
	k, h := newHooked(t)
	h.created = func(error) error { return &journal.Error{Reason: journal.Unavailable, Message: "no word"} }
	r := newResult(t)
	id := k.Ask(question(), Ways{Page: true}, r.asker())
	if out := r.now(); out.Ending != ask.Refused || out.Err.Code != ask.JournalUnavailable {
		t.Errorf("outcome %+v", out)
	}
	next := newKit(t, func(c *Config) { c.Journal = k.store })
	if n, err := next.Restore(t.Context(), "home", lost); n != 0 || err != nil {
		t.Errorf("%d came back, %v", n, err)
	}
	_, err := next.Look(t.Context(), id, adaAtPage, "page")
	if err == nil {
		t.Error("it can be looked at")
	}
	if err := next.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	// Where not even that can be stored, the log says so.
	h.update = func() { h.Journal = &faulty{Journal: h.Journal}; h.Journal.(*faulty).failing.Store(true) }
	r = newResult(t)
	k.Ask(question(), Ways{Page: true}, r.asker())
	r.now()
	if !strings.Contains(k.logged(), "still in the store") {
		t.Error("nobody is told of what is left behind")
	}
}

// Whatever happens to an ask while it is being stored waits for that.
func TestEventsWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, h := newHooked(t)
		r := newResult(t)
		id := kept(t, k, r)
		storing := make(chan struct{})
		h.update = func() { <-storing }
		taken := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := k.Submit(id, adaAtPage, "page", accept)
				taken <- err
			}()
		}
		looked := make(chan error, 1)
		synctest.Wait()
		go func() {
			v, err := k.Look(t.Context(), id, adaAtPage, "page")
			if err == nil && v.Outcome == nil {
				err = errors.New("it is open")
			}
			looked <- err
		}()
		closed := make(chan error, 1)
		go func() { closed <- k.Close(t.Context()) }()
		synctest.Wait()
		r.none()
		h.update = nil
		close(storing)
		a, b := <-taken, <-taken
		if (a == nil) == (b == nil) {
			t.Errorf("both were told the same: %v, %v", a, b)
		}
		if err := <-looked; err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if out := r.now(); out.Ending != ask.Answered {
			t.Errorf("outcome %+v", out)
		}
	})
}

// A client that answers before its asker was taken up waits for that, and so
// does a gateway that stops.
func TestAnAnswerWaitsForItsAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		id := kept(t, k, newResult(t))
		stopped := kept(t, k, newResult(t))
		r, up := newResult(t), make(chan struct{})
		let := newResult(t)
		next := newKit(t, func(c *Config) { c.Journal = k.store })
		restored := make(chan error, 1)
		go func() {
			_, err := next.Restore(t.Context(), "home", func(_ context.Context, group []Stored) []Revived {
				<-up
				if group[0].Ask.ID == stopped {
					return []Revived{{Asker: let.asker()}}
				}
				return []Revived{{Asker: r.asker(), Ways: Ways{Client: &client{}}}}
			})
			restored <- err
		}()
		synctest.Wait()
		answered := make(chan error, 1)
		go func() { answered <- next.Answer(id, fromAda, accept) }()
		synctest.Wait()
		r.none()
		closed := make(chan error, 1)
		close(up)
		if err := <-restored; err != nil {
			t.Error(err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if out := r.now(); out.Ending != ask.Answered {
			t.Errorf("outcome %+v", out)
		}
		go func() { closed <- next.Close(t.Context()) }()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if out := let.now(); out.Ending != 0 {
			t.Errorf("an ask that is kept ended with its gateway: %+v", out)
		}
		if err := k.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAStoreThatCannotBeReadStopsTheRestore(t *testing.T) {
	k, h := newHooked(t)
	h.all = func(yield func(journal.Record, error) bool) {
		yield(journal.Record{}, &journal.Error{Reason: journal.Corrupt, Message: "block 3"})
	}
	if _, err := k.Restore(t.Context(), "home", lost); !errors.Is(err, journal.Corrupt) {
		t.Errorf("restored: %v", err)
	}
}

func TestPastAsksAreGivenToTheirAddressee(t *testing.T) {
	k, h := newHooked(t)
	r := newResult(t)
	id := kept(t, k, r)
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	r.now()
	// Two people whose asks are in one part of the store.
	twin := Viewer{Principal: ask.Principal{Issuer: "https://issuer.exampla", Subject: "eva"}}
	if k.cfg.Shard(ask.Addressee{Principal: twin.Principal}) != k.cfg.Shard(ask.Addressee{Principal: ada}) {
		t.Fatal("the twin is none")
	}
	_, err := k.Look(t.Context(), id, twin, "page")
	wantCode(t, err, ask.NotYours)
	h.get = func() error { return &journal.Error{Reason: journal.Unavailable, Message: "away"} }
	_, err = k.Look(t.Context(), id, adaAtPage, "page")
	wantCode(t, err, ask.JournalUnavailable)
	if k.Timeout(ask.Form) != 5*time.Minute {
		t.Error("the timeout is another")
	}
}

func TestAskThatPassedThroughIsForgotten(t *testing.T) {
	k := newKit(t, nil)
	r := newResult(t)
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	e := k.find(id)
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Fatal(err)
	}
	r.now()
	_, err := k.Look(t.Context(), id, adaAtPage, "page")
	wantCode(t, err, ask.TooLate)
	k.arm(e, 0)
	if e.timer != nil && e.timer.Stop() {
		t.Error("an alarm was set for an ask that has ended")
	}

	// What is for a client's model has no page, kept or not.
	a := question()
	a.Kind = ask.Sampling
	r = newResult(t)
	id = k.Ask(a, Ways{Client: &client{}}, Asker{Settled: r.settled, Kept: true})
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Fatal(err)
	}
	r.now()
	_, err = k.Look(t.Context(), id, adaAtPage, "page")
	wantCode(t, err, ask.Unknown)
}

func TestAsksOfOneMomentHaveAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		var results []*result
		for range 3 {
			r := newResult(t)
			k.Ask(question(), Ways{Client: &client{}}, r.asker())
			results = append(results, r)
		}
		got := k.Waiting(adaAtPage, 10)
		if len(got) != 3 || got[0].Ask.ID >= got[1].Ask.ID || got[1].Ask.ID >= got[2].Ask.ID {
			t.Errorf("waiting %v", got)
		}
		for i, v := range got {
			if _, err := k.Submit(v.Ask.ID, adaAtPage, "page", accept); err != nil {
				t.Fatal(err)
			}
			results[i].now()
		}
	})
}
