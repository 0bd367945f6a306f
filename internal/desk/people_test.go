package desk

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/ask"
)

var (
	adaAtPage = Viewer{Principal: ada}
	bobAtPage = Viewer{Principal: bob}
)

func TestSubmitSettlesAndWithdrawsAtTheClient(t *testing.T) {
	k := newKit(t, nil)
	c, r := &client{}, newResult(t)
	id := k.Ask(question(), Ways{Client: c}, r.asker())

	v, err := k.Look(t.Context(), id, adaAtPage, "page")
	if err != nil || v.Ask.ID != id || len(v.Ask.Params) == 0 {
		t.Fatalf("looked at %+v, %v", v, err)
	}
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	out := r.now()
	if out.Ending != ask.Answered || out.By != ada || out.Surface != "page" {
		t.Errorf("outcome %+v", out)
	}
	if got := c.withdrawal(id); got != ask.TooLate {
		t.Errorf("the client was told %q", got)
	}
	want := []string{"asked", "shown", "shown", "opened", "settled", "delivered"}
	if got := k.transitions(id); !slices.Equal(got, want) {
		t.Errorf("audit %v, want %v", got, want)
	}
	v, err = k.Look(t.Context(), id, adaAtPage, "page")
	if err != nil || v.Outcome == nil || v.Outcome.Ending != ask.Answered {
		t.Errorf("looked at what has ended: %+v, %v", v, err)
	}
	_, err = k.Submit(id, adaAtPage, "page", accept)
	wantCode(t, err, ask.TooLate)
	wantCode(t, k.Answer(id, fromAda, accept), ask.TooLate)
}

func TestAttackSomebodyElseAtThePage(t *testing.T) {
	group := func(a *ask.Ask) { a.Addressee = ask.Addressee{Group: "approvers"}; a.Session = "" }
	approver := Viewer{Principal: bob, Groups: []string{"other", "approvers"}}
	for _, tt := range []struct {
		name      string
		change    func(*ask.Ask)
		attacker  Viewer
		addressee Viewer
	}{
		{"another person", nil, bobAtPage, adaAtPage},
		{"same subject, other issuer", nil, Viewer{Principal: ask.Principal{Issuer: "https://other.example", Subject: "ada"}}, adaAtPage},
		{"same issuer, no subject", nil, Viewer{Principal: ask.Principal{Issuer: ada.Issuer}}, adaAtPage},
		{"nobody", nil, Viewer{}, adaAtPage},
		{"member of a group that was not asked", nil, approver, adaAtPage},
		{"the caller, where a group was asked", group, adaAtPage, approver},
		{"member of another group", group, Viewer{Principal: bob, Groups: []string{"approver", "approvers2", ""}}, approver},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, nil)
			a := question()
			if tt.change != nil {
				tt.change(&a)
			}
			r := newResult(t)
			id := k.Ask(a, Ways{Client: &client{}}, r.asker())

			if got := k.Waiting(tt.attacker, 10); len(got) != 0 {
				t.Errorf("listed %d asks", len(got))
			}
			_, err := k.Look(t.Context(), id, tt.attacker, "page")
			wantCode(t, err, ask.NotYours)
			_, err = k.Submit(id, tt.attacker, "page", accept)
			wantCode(t, err, ask.NotYours)
			r.none()
			if rec := k.record(t, id, "not_yours"); rec.By != tt.attacker.Principal || rec.Surface != "page" {
				t.Errorf("record %+v", rec)
			}

			if got := k.Waiting(tt.addressee, 10); len(got) != 1 || got[0].Ask.ID != id {
				t.Errorf("the addressee was listed %v", got)
			}
			if _, err := k.Submit(id, tt.addressee, "page", accept); err != nil {
				t.Fatal(err)
			}
			if out := r.now(); out.By != tt.addressee.Principal {
				t.Errorf("answered by %v", out.By)
			}
			if got := k.Waiting(tt.addressee, 10); len(got) != 0 {
				t.Errorf("settled, and still listed: %v", got)
			}
		})
	}
}

func TestPagesSeeOnlyWhatPeopleAnswer(t *testing.T) {
	k := newKit(t, nil)
	for _, kind := range []ask.Kind{ask.Sampling, ask.Roots} {
		a := question()
		a.Kind = kind
		r := newResult(t)
		id := k.Ask(a, Ways{Client: &client{}}, r.asker())
		if got := k.Waiting(adaAtPage, 10); len(got) != 0 {
			t.Errorf("%v listed", kind)
		}
		_, err := k.Look(t.Context(), id, adaAtPage, "page")
		wantCode(t, err, ask.Unknown)
		_, err = k.Submit(id, adaAtPage, "page", accept)
		wantCode(t, err, ask.Unknown)
		if err := k.Answer(id, fromAda, accept); err != nil {
			t.Errorf("control: the client itself: %v", err)
		}
		r.now()
	}
	_, err := k.Look(t.Context(), "no-id", adaAtPage, "page")
	wantCode(t, err, ask.Unknown)
	_, err = k.Submit("ask-1", adaAtPage, "page", ask.Answer{})
	wantCode(t, err, ask.BadMessage)
}

func TestWaitingIsOldestFirstAndLimited(t *testing.T) {
	k := newKit(t, nil)
	var ids []string
	var results []*result
	for range 5 {
		r := newResult(t)
		ids, results = append(ids, k.Ask(question(), Ways{Client: &client{}}, r.asker())), append(results, r)
	}
	got := k.Waiting(adaAtPage, 3)
	if len(got) != 3 || got[0].Ask.ID != ids[0] || got[2].Ask.ID != ids[2] {
		t.Errorf("waiting %v", got)
	}
	for i, id := range ids {
		if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
			t.Fatal(err)
		}
		results[i].now()
	}
}

func TestTwoHundredPeopleAnswerAtOnce(t *testing.T) {
	k := newKit(t, nil)
	a := question()
	a.Addressee, a.Session = ask.Addressee{Group: "approvers"}, ""
	r := newResult(t)
	id := k.Ask(a, Ways{Client: &client{}}, r.asker())
	var won, late atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			switch _, err := k.Submit(id, Viewer{Principal: bob, Groups: []string{"approvers"}}, "page", accept); ask.CodeOf(err) {
			case "":
				won.Add(1)
			case ask.TooLate:
				late.Add(1)
			}
		})
	}
	wg.Wait()
	r.now()
	if won.Load() != 1 || late.Load() != 199 {
		t.Errorf("%d won and %d were told that they came late", won.Load(), late.Load())
	}
}
