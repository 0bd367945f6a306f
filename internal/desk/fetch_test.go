package desk

import (
	"bytes"
	"context"
	"testing"

	"github.com/answerback/answerback/ask"
)

// What an asker wants kept of an answer stays in the store after it was told,
// before a restart and after; of other asks nothing does.
func TestAnAskerMayKeepPartOfAnAnswer(t *testing.T) {
	for _, restart := range []bool{false, true} {
		k, r := newKit(t, nil), newResult(t)
		keep := func(result []byte) []byte { return bytes.ReplaceAll(result, []byte("secret"), []byte("withheld")) }
		by := r.asker()
		by.Keep = keep
		id := k.Ask(question(), Ways{Page: true}, by)
		if restart {
			k = again(t, k, func(_ context.Context, group []Stored) []Revived {
				by := r.asker()
				by.Keep = keep
				return []Revived{{Asker: by, Ways: Ways{Page: true}}}
			})
		}
		answer := ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":{"a":"secret","b":1}}`)}
		if _, err := k.Submit(id, adaAtPage, "page", answer); err != nil {
			t.Fatal(err)
		}
		if out := r.now(); !bytes.Equal(out.Answer.Result, answer.Result) {
			t.Errorf("the asker got %s", out.Answer.Result)
		}
		v, err := k.Peek(context.Background(), id, adaAtPage, "api")
		if err != nil || len(v.Ask.Params) == 0 || string(v.Outcome.Answer.Result) != `{"action":"accept","content":{"a":"withheld","b":1}}` {
			t.Errorf("kept are %s and %s: %v", v.Ask.Params, v.Outcome.Answer.Result, err)
		}
	}
	k, r := newKit(t, nil), newResult(t)
	id := kept(t, k, r)
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	r.now()
	if v, err := k.Peek(context.Background(), id, adaAtPage, "api"); err != nil || v.Outcome.Answer.Result != nil {
		t.Errorf("of another ask is kept: %+v, %v", v, err)
	}
}

// A program that looks after an ask does not put it before anybody.
func TestPeekOpensNothing(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	id := k.Ask(question(), Ways{Page: true}, r.asker())
	if v, err := k.Peek(context.Background(), id, adaAtPage, "api"); err != nil || v.Active {
		t.Errorf("%+v %v", v, err)
	}
	if v, err := k.Look(context.Background(), id, adaAtPage, "page"); err != nil || !v.Active {
		t.Errorf("control: %+v %v", v, err)
	}
	if _, err := k.Peek(context.Background(), id, Viewer{Principal: ask.Principal{Issuer: "x", Subject: "eve"}}, "api"); ask.CodeOf(err) != ask.NotYours {
		t.Errorf("somebody else: %v", err)
	}
	k.End(id, ask.Withdrawn, ask.Errorf(ask.BackendWithdrew, "The test is over."))
	r.now()
}

// An ask that was put to no client is not answered through one, not even
// through the session that it belongs to.
func TestAttackAnswerToWhatWasNotPutToAClient(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	id := k.Ask(question(), Ways{Page: true}, r.asker())
	for _, action := range []ask.Action{ask.Accept, ask.Decline} {
		answer := ask.Answer{Action: action, Result: []byte(`{"action":"` + action.String() + `"}`)}
		if err := k.Answer(id, fromAda, answer); ask.CodeOf(err) != ask.NotYours {
			t.Errorf("%v: %v", action, err)
		}
	}
	r.none()
	if _, err := k.Submit(id, adaAtPage, "page", accept); err != nil {
		t.Errorf("control: %v", err)
	}
	r.now()
}

// What is odd about a question is on record with it.
func TestANoteIsOnRecord(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	by := r.asker()
	by.Note = ask.AsksForSecret
	id := k.Ask(question(), Ways{Client: &client{}}, by)
	if rec := k.record(t, id, "asked"); rec.Code != ask.AsksForSecret {
		t.Errorf("on record is %q", rec.Code)
	}
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Error(err)
	}
	r.now()
}
