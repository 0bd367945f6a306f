package desk

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

// kept opens an ask that is stored from the start.
func (k *kit) kept(r *result, change func(*ask.Ask)) string {
	a := question()
	if change != nil {
		change(&a)
	}
	by := r.asker()
	by.Kept = true
	return k.Ask(a, Ways{Client: &client{}, Page: true}, by)
}

// endedIDs are the ids of what somebody is given of what has ended.
func (k *kit) endedIDs(t *testing.T, who Viewer, limit int) []string {
	t.Helper()
	views, err := k.Ended(t.Context(), who, limit)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, v := range views {
		ids = append(ids, v.Ask.ID)
	}
	return ids
}

func TestEndedTellsHowItWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, nil)
		r := newResult(t)
		answered := k.kept(r, nil)
		if got := k.endedIDs(t, adaAtPage, 10); len(got) != 0 {
			t.Errorf("an open ask has ended: %v", got)
		}
		if _, err := k.Submit(answered, adaAtPage, "page", accept); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r = newResult(t)
		r.fail = ask.Errorf(ask.BackendLost, "The server is gone.")
		failed := k.kept(r, nil)
		if err := k.Answer(failed, fromAda, ask.Answer{Action: ask.Decline, Result: []byte(`{"action":"decline","note":"4712"}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		withdrawn := k.kept(newResult(t), nil)
		k.End(withdrawn, ask.Withdrawn, nil)
		expired := k.kept(newResult(t), nil)
		time.Sleep(5 * time.Minute)
		synctest.Wait()

		views, err := k.Ended(t.Context(), adaAtPage, 10)
		if err != nil || len(views) != 4 {
			t.Fatalf("%d asks have ended, %v", len(views), err)
		}
		for i, want := range []struct {
			id        string
			ending    ask.Ending
			action    ask.Action
			surface   string
			delivered bool
		}{
			{expired, ask.Expired, ask.NoAction, "", true},
			{withdrawn, ask.Withdrawn, ask.NoAction, "", true},
			{failed, ask.Answered, ask.Decline, "mcp", false},
			{answered, ask.Answered, ask.Accept, "page", true},
		} {
			v := views[i]
			if out := v.Outcome; v.Ask.ID != want.id || out.Ending != want.ending || out.Answer.Action != want.action || out.Surface != want.surface || v.Delivered != want.delivered {
				t.Errorf("ask %d is %s: %+v, delivered %v", i, v.Ask.ID, out, v.Delivered)
			}
			if !bytes.Equal(v.Ask.Params, question().Params) || v.Ask.Backend != "bank" || v.Ask.Name != "pay" {
				t.Errorf("ask %d has become %+v", i, v.Ask)
			}
			if out := v.Outcome; out.Answer.Result != nil || out.Answer.Error != nil {
				t.Errorf("ask %d tells what was answered: %s", i, out.Answer.Result)
			}
		}
		if u := views[2].Undelivered; u == nil || u.Code != ask.BackendLost {
			t.Errorf("why it was not delivered: %v", u)
		}
		// The control: the store still has the answer that nobody took.
		if v, err := k.Look(t.Context(), failed, adaAtPage, "page"); err != nil || !bytes.Contains(v.Outcome.Answer.Result, []byte("4712")) {
			t.Errorf("the answer is not in the store: %+v, %v", v.Outcome, err)
		}
		if got := k.endedIDs(t, adaAtPage, 2); !slices.Equal(got, []string{expired, withdrawn}) {
			t.Errorf("the newest two are %v", got)
		}
		time.Sleep(time.Hour)
		if got := k.endedIDs(t, adaAtPage, 10); len(got) != 0 {
			t.Errorf("what was to be forgotten is still there: %v", got)
		}
	})
}

func TestAttackWhatHasEndedForSomebodyElse(t *testing.T) {
	k := newKit(t, nil)
	// The twin has the same shard as bob, as strangers with the same hash do.
	twin := Viewer{Principal: ask.Principal{Issuer: bob.Issuer, Subject: "bobob"}}
	approver := Viewer{Principal: bob, Groups: []string{"others", "approvers"}}
	colleague := Viewer{Principal: ada, Groups: []string{"approvers"}}
	toGroup := func(a *ask.Ask) { a.Addressee, a.Session = ask.Addressee{Group: "approvers"}, "" }
	toBob := func(a *ask.Ask) { a.Addressee, a.Session = ask.Addressee{Principal: bob}, "" }

	var ids []string
	for _, change := range []func(*ask.Ask){toBob, toGroup} {
		id := k.kept(newResult(t), change)
		if _, err := k.Submit(id, approver, "page", accept); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	unanswered := k.kept(newResult(t), toGroup)
	k.End(unanswered, ask.Withdrawn, nil)
	model := k.kept(newResult(t), func(a *ask.Ask) { toBob(a); a.Kind = ask.Sampling })
	k.End(model, ask.Withdrawn, nil)
	if shardOf(ask.Addressee{Principal: bob}) != shardOf(ask.Addressee{Principal: twin.Principal}) {
		t.Fatal("the twin has a shard of its own: this test shows nothing")
	}
	for name, attacker := range map[string]Viewer{
		"another person":                           adaAtPage,
		"another person of the same shard":         twin,
		"a member of the group who did not answer": colleague,
		"a member of a group with a similar name":  {Principal: ada, Groups: []string{"approver", ""}},
		"nobody":                                    {},
		"nobody of the group":                       {Groups: []string{"approvers"}},
		"the same subject of another issuer":        {Principal: ask.Principal{Issuer: "https://other.example", Subject: "bob"}},
		"the same issuer without a subject":         {Principal: ask.Principal{Issuer: bob.Issuer}},
		"who has the group's name as their subject": {Principal: ask.Principal{Subject: "approvers"}},
	} {
		if got := k.endedIDs(t, attacker, 10); len(got) != 0 {
			t.Errorf("%s is given %v", name, got)
		}
	}
	got := k.endedIDs(t, approver, 10)
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("the control: who answered is given %v, want %v", got, ids)
	}
	if got := k.endedIDs(t, bobAtPage, 10); len(got) != 1 {
		t.Errorf("who left the group is given %v", got)
	}
}

func TestEndedIsWhatTheStoreCanTell(t *testing.T) {
	k, store := newHooked(t)
	id := k.kept(newResult(t), nil)
	k.End(id, ask.Withdrawn, nil)
	key, _ := k.cfg.Key(id)
	good, err := k.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	foreign, refused := good, good
	foreign.ID = "ask-of-another-ring"
	refused.Body = nil
	records := func(all ...journal.Record) iter.Seq2[journal.Record, error] {
		return func(yield func(journal.Record, error) bool) {
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
	store.settled = func(string) iter.Seq2[journal.Record, error] {
		return records(foreign, refused, good, good) // a record may come twice
	}
	if got := k.endedIDs(t, adaAtPage, 10); !slices.Equal(got, []string{id}) {
		t.Errorf("given %v", got)
	}
	if log := k.logged(); !strings.Contains(log, "ask not read") || !strings.Contains(log, foreign.ID) {
		t.Errorf("the log does not name what could not be read:\n%s", log)
	}
	// What is sealed says whose it is, whatever it was filed under.
	if got := k.endedIDs(t, bobAtPage, 10); len(got) != 0 {
		t.Errorf("somebody else is given %v", got)
	}

	down := func(yield func(journal.Record, error) bool) {
		yield(journal.Record{}, &journal.Error{Reason: journal.Unavailable, Message: "reading"})
	}
	for _, failing := range []ask.Addressee{{Principal: ada}, {Group: "approvers"}} {
		store.settled = func(addressee string) iter.Seq2[journal.Record, error] {
			if addressee == addresseeKey(failing) {
				return down
			}
			return records(good)
		}
		_, err := k.Ended(t.Context(), Viewer{Principal: ada, Groups: []string{"approvers"}}, 10)
		wantCode(t, err, ask.JournalUnavailable)
	}
}

func TestEndedHoldsNoMoreThanItsLimit(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	l := latest{limit: 3}
	for _, n := range []int{5, 1, 9, 3, 7, 9, 2} {
		l.add(View{Ask: ask.Ask{ID: fmt.Sprint(n)}, Outcome: &ask.Outcome{At: at.Add(time.Duration(n) * time.Second)}})
		if len(l.views) > 3 {
			t.Fatalf("%d are held", len(l.views))
		}
	}
	for i, want := range []string{"9", "7", "5"} {
		if got := l.views[i].Ask.ID; got != want {
			t.Errorf("number %d is %s, want %s", i, got, want)
		}
	}
}
