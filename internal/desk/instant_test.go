package desk

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
)

// Whoever shows nothing has nothing to answer: an ask that waits on its page
// is told of, and a client that learned its id there cannot answer it.
func TestClientCannotAnswerWhatWaitsOnItsPage(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	told := ""
	id := k.Ask(question(), Ways{Page: true, Waits: func(a *ask.Ask) { told = a.ID }}, r.asker())
	if told != id {
		t.Errorf("told of %q, want %q", told, id)
	}
	for _, answer := range []ask.Answer{accept, {Action: ask.Decline, Result: []byte(`{"action":"decline"}`)}, {Error: []byte(`{"code":-1}`)}} {
		wantCode(t, k.Answer(id, fromAda, answer), ask.NotYours)
	}
	r.none()
	if _, err := k.Submit(id, Viewer{Principal: ada}, "page", accept); err != nil {
		t.Fatal(err)
	}
	if out := r.now(); out.Answer.Action != ask.Accept {
		t.Errorf("the outcome is %+v", out)
	}
}

// A refusal that is quicker than a person is on record, and is taken all the
// same, unless its client is doubted.
func TestInstantRefusals(t *testing.T) {
	decline := ask.Answer{Action: ask.Decline, Result: []byte(`{"action":"decline"}`)}
	for name, tt := range map[string]struct {
		after, doubt time.Duration
		noted, taken bool
	}{
		"a person":            {2 * time.Second, 0, false, true},
		"too quick":           {20 * time.Millisecond, 0, true, true},
		"too quick, doubted":  {20 * time.Millisecond, time.Second, true, false},
		"a person, doubted":   {2 * time.Second, time.Second, false, true},
		"within longer doubt": {700 * time.Millisecond, time.Second, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, r := newKit(t, nil), newResult(t)
				waits := false
				id := k.Ask(question(), Ways{Client: &client{}, Page: true, Waits: func(*ask.Ask) { waits = true }, Doubt: tt.doubt}, r.asker())
				time.Sleep(tt.after)
				if err := k.Answer(id, fromAda, decline); err != nil {
					t.Fatal(err)
				}
				if noted := slices.Contains(k.transitions(id), "instant"); noted != tt.noted {
					t.Errorf("on record %t: %v", noted, k.transitions(id))
				}
				if waits == tt.taken {
					t.Errorf("it waits on its page: %t", waits)
				}
				if tt.taken {
					if out := r.now(); out.Answer.Action != ask.Decline {
						t.Errorf("the outcome is %+v", out)
					}
				} else {
					r.none()
					k.End(id, ask.Withdrawn, nil)
				}
			})
		})
	}
}
