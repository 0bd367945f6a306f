package desk

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
)

func TestAnswerReachesTheAsker(t *testing.T) {
	k, c, r := newKit(t, nil), &client{}, newResult(t)
	id := k.Ask(question(), Ways{Client: c}, r.asker())
	r.none()
	if k.Open() != 1 {
		t.Errorf("%d open, want 1", k.Open())
	}
	if len(c.shown) != 1 || c.shown[0].ID != id || string(c.shown[0].Params) != string(question().Params) {
		t.Fatalf("shown %+v", c.shown)
	}
	if a := c.shown[0]; a.Asked.IsZero() || a.Deadline.Sub(a.Asked) != 5*time.Minute {
		t.Errorf("asked %s, deadline %s", a.Asked, a.Deadline)
	}
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Fatal(err)
	}
	out := r.now()
	if out.Ending != ask.Answered || string(out.Answer.Result) != string(accept.Result) || out.Answer.Action != ask.Accept ||
		out.By != ada || out.Surface != "mcp" || out.At.IsZero() || out.Err != nil {
		t.Errorf("outcome %+v", out)
	}
	if k.Open() != 0 || c.withdrawal(id) != "" {
		t.Errorf("%d open, withdrawn: %q", k.Open(), c.withdrawal(id))
	}
	if got := k.transitions(id); !slices.Equal(got, []string{"asked", "shown", "settled", "delivered"}) {
		t.Errorf("audited %v", got)
	}
}

// TestAcceptDeclineAndCancelStayApart holds A9, and passes a client's own
// error on as it came.
func TestAcceptDeclineAndCancelStayApart(t *testing.T) {
	k := newKit(t, nil)
	for _, answer := range []ask.Answer{
		{Action: ask.Accept, Result: []byte(`{"action":"accept"}`)},
		{Action: ask.Decline, Result: []byte(`{"action":"decline"}`)},
		{Action: ask.Cancel, Result: []byte(`{"action":"cancel"}`)},
		{Error: []byte(`{"code":-1,"message":"User rejected sampling request"}`)},
	} {
		r := newResult(t)
		id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
		if err := k.Answer(id, fromAda, answer); err != nil {
			t.Fatal(err)
		}
		out := r.now()
		if out.Answer.Action != answer.Action || string(out.Answer.Result) != string(answer.Result) ||
			string(out.Answer.Error) != string(answer.Error) {
			t.Errorf("%+v became %+v", answer, out.Answer)
		}
		if got := k.record(t, id, "settled").Action; got != answer.Action {
			t.Errorf("audited as %s", got)
		}
	}
}

func TestAnswerBeforeShowReturns(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	c := &client{}
	c.onShow = func(a *ask.Ask) {
		if err := k.Answer(a.ID, fromAda, accept); err != nil {
			t.Error(err)
		}
	}
	id := k.Ask(question(), Ways{Client: c}, r.asker())
	if out := r.now(); out.Ending != ask.Answered {
		t.Errorf("outcome %+v", out)
	}
	if c.withdrawal(id) != "" {
		t.Error("an answered question was withdrawn")
	}
	if got := k.transitions(id); !slices.Equal(got, []string{"asked", "shown", "settled", "delivered"}) {
		t.Errorf("audited %v", got)
	}
}

// TestNobodyElseCanAnswer holds A1 and P5.
func TestNobodyElseCanAnswer(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	for _, from := range []From{
		{Principal: bob, Session: "s1"},
		{Principal: ada, Session: "s2"},
		{Principal: ada},
		{Session: "s1"},
		{Principal: ask.Principal{Issuer: "https://other.example", Subject: "ada"}, Session: "s1"},
	} {
		wantCode(t, k.Answer(id, from, accept), ask.NotYours)
	}
	r.none()
	if got := k.record(t, id, "not_yours"); got.By != bob || got.Code != ask.NotYours || got.Addressee.Principal != ada {
		t.Errorf("audited as %+v", got)
	}
	if !strings.Contains(k.logged(), "level=WARN msg=\"ask not_yours\"") {
		t.Errorf("not logged as a warning:\n%s", k.logged())
	}

	group := question()
	group.Addressee = ask.Addressee{Group: "ops"}
	r2 := newResult(t)
	id2 := k.Ask(group, Ways{Client: &client{}}, r2.asker())
	wantCode(t, k.Answer(id2, From{Session: "s1"}, accept), ask.NotYours)
	r2.none()
	k.End(id, ask.Withdrawn, nil)
	k.End(id2, ask.Withdrawn, nil)
}

func TestAnswersThatCannotBeTaken(t *testing.T) {
	k, r, c := newKit(t, nil), newResult(t), &client{}
	id := k.Ask(question(), Ways{Client: c}, r.asker())
	wantCode(t, k.Answer("forged", fromAda, accept), ask.Unknown)
	wantCode(t, k.Answer(id, fromAda, ask.Answer{Action: ask.Accept}), ask.BadMessage)
	wantCode(t, k.Answer(id, fromAda, ask.Answer{Result: []byte(`{}`), Error: []byte(`{}`)}), ask.BadMessage)
	r.none()
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Fatal(err)
	}
	wantCode(t, k.Answer(id, fromAda, accept), ask.TooLate)
	late := k.record(t, id, "late")
	if late.By != ada || late.Surface != "mcp" || late.Code != ask.TooLate || len(late.Digest) != 64 {
		t.Errorf("audited as %+v", late)
	}
	if s := k.Stats(); s.Late != 1 {
		t.Errorf("%d late", s.Late)
	}
}

// TestLateWhileItIsBeingSettled: the ask is still held while its end is being
// put on record, and an answer that comes then is late all the same.
func TestLateWhileItIsBeingSettled(t *testing.T) {
	var k *kit
	tried := false
	k = newKit(t, func(cfg *Config) {
		audit := cfg.Audit
		cfg.Audit = func(r Record) {
			audit(r)
			if r.Transition == "settled" && !tried {
				tried = true
				wantCode(t, k.Answer(r.Ask, fromAda, accept), ask.TooLate)
			}
		}
	})
	r := newResult(t)
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	k.End(id, ask.Withdrawn, ask.Errorf(ask.BackendWithdrew, "Taken back."))
	if out := r.now(); out.Ending != ask.Withdrawn {
		t.Errorf("outcome %+v", out)
	}
	if late := k.record(t, id, "late"); late.Backend != "bank" || late.Code != ask.TooLate {
		t.Errorf("audited as %+v", late)
	}
}

// TestEndWithoutAnAnswer holds E6, E7 and S6: the end is told to both sides
// and is nobody's answer.
func TestEndWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		ending, want ask.Ending
		code         ask.Code
	}{
		{ask.Withdrawn, ask.Withdrawn, ask.BackendWithdrew},
		{ask.Withdrawn, ask.Withdrawn, ask.BackendLost},
		{ask.Abandoned, ask.Abandoned, ask.ClientGone},
		{ask.Abandoned, ask.Abandoned, ask.ClientCancelled},
		{ask.Answered, ask.Abandoned, ask.Internal},
	} {
		k, r, c := newKit(t, nil), newResult(t), &client{}
		id := k.Ask(question(), Ways{Client: c}, r.asker())
		k.End(id, tt.ending, ask.Errorf(tt.code, "Because."))
		k.End(id, tt.ending, ask.Errorf(tt.code, "Because."))
		out := r.now()
		if out.Ending != tt.want || out.Err == nil || out.Err.Code != tt.code || out.Answer.Action != ask.NoAction || out.Answer.Result != nil {
			t.Errorf("%s %s gave %+v", tt.ending, tt.code, out)
		}
		if c.withdrawal(id) != tt.code {
			t.Errorf("withdrawn with %q, want %q", c.withdrawal(id), tt.code)
		}
		if got := k.record(t, id, "settled"); got.Code != tt.code || got.Ending != tt.want || got.Digest != "" {
			t.Errorf("audited as %+v", got)
		}
	}
}

// TestWhoeverCannotBeShownTheQuestion holds E3, S3 and A4: refused at once.
func TestWhoeverCannotBeShownTheQuestion(t *testing.T) {
	for name, tt := range map[string]struct {
		to   Showing
		code ask.Code
	}{
		"nobody there":   {nil, ask.NoClient},
		"write fails":    {&client{fail: errors.New("broken pipe")}, ask.NoClient},
		"not declared":   {&client{fail: ask.Errorf(ask.ClientLacksCapability, "No.")}, ask.ClientLacksCapability},
		"wrapped reason": {&client{fail: fmt.Errorf("x: %w", ask.Errorf(ask.ModeNotDeclared, "No."))}, ask.ModeNotDeclared},
	} {
		k, r := newKit(t, nil), newResult(t)
		k.Ask(question(), Ways{Client: tt.to}, r.asker())
		out := r.now()
		if out.Ending != ask.Refused || out.Err.Code != tt.code {
			t.Errorf("%s: %+v, %v", name, out, out.Err)
		}
		if tt.code == ask.NoClient && !strings.Contains(out.Err.Message, "No client is available") {
			t.Errorf("%s: message %q", name, out.Err.Message)
		}
		if k.Open() != 0 {
			t.Errorf("%s: %d open", name, k.Open())
		}
		if name == "write fails" && !strings.Contains(k.logged(), "broken pipe") {
			t.Error("the cause is not in the log")
		}
	}
}

// TestEndedOnItsWay: what ended before it was sent is withdrawn once it was,
// and leaves no timer behind.
func TestEndedOnItsWay(t *testing.T) {
	var k *kit
	k = newKit(t, func(cfg *Config) {
		audit := cfg.Audit
		cfg.Audit = func(r Record) {
			audit(r)
			if r.Transition == "asked" {
				k.End(r.Ask, ask.Withdrawn, ask.Errorf(ask.BackendWithdrew, "Taken back."))
			}
		}
	})
	r, c := newResult(t), &client{}
	id := k.Ask(question(), Ways{Client: c}, r.asker())
	if out := r.now(); out.Ending != ask.Withdrawn {
		t.Errorf("outcome %+v", out)
	}
	if c.withdrawal(id) != ask.BackendWithdrew || len(c.shown) != 1 {
		t.Errorf("shown %d times, withdrawn with %q", len(c.shown), c.withdrawal(id))
	}
}

// TestAskAgainWhenSettled: the place is free before the asker is told.
func TestAskAgainWhenSettled(t *testing.T) {
	k := newKit(t, func(cfg *Config) { cfg.MaxOpen, cfg.MaxOpenPerSession, cfg.MaxOpenPerPrincipal = 1, 1, 1 })
	second := newResult(t)
	var next string
	id := k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: func(ask.Outcome) error { next = k.Ask(question(), Ways{Client: &client{}}, second.asker()); return nil }})
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Fatal(err)
	}
	second.none()
	if err := k.Answer(next, fromAda, accept); err != nil {
		t.Fatal(err)
	}
	if out := second.now(); out.Ending != ask.Answered {
		t.Errorf("outcome %+v", out)
	}
}

func TestAnIDMintedTwiceIsRefused(t *testing.T) {
	k := newKit(t, func(cfg *Config) { cfg.Mint = func(ask.Addressee) string { return "ask-same" } })
	first, second := newResult(t), newResult(t)
	k.Ask(question(), Ways{Client: &client{}}, first.asker())
	k.Ask(question(), Ways{Client: &client{}}, second.asker())
	if out := second.now(); out.Ending != ask.Refused || out.Err.Code != ask.Internal {
		t.Errorf("outcome %+v, %v", out, out.Err)
	}
	first.none()
	if err := k.Answer("ask-same", fromAda, accept); err != nil {
		t.Error(err)
	}
	if k.Open() != 0 {
		t.Errorf("%d open", k.Open())
	}
}

// TestAuditHoldsNoContents holds that neither parameters nor values get into
// the audit or the log, and that the measures are there.
func TestAuditHoldsNoContents(t *testing.T) {
	k, r := newKit(t, nil), newResult(t)
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	if err := k.Answer(id, fromAda, accept); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%+v", k.records) + k.logged()
	for _, secret := range []string{"PIN", "4711"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is on record:\n%s", secret, all)
		}
	}
	got := k.record(t, id, "settled")
	if got.Kind != ask.Form || got.Backend != "bank" || got.Name != "pay" || got.Addressee.Principal != ada || got.By != ada ||
		got.Ending != ask.Answered || got.Action != ask.Accept || got.Surface != "mcp" || got.Code != "" || got.Since < 0 || got.At.IsZero() {
		t.Errorf("audited as %+v", got)
	}
	if got.Digest != "613c7a86091c901b7020743933a73f6e0a0fe55eb3527f5135bc4210dfb9178f" {
		t.Errorf("digest %s", got.Digest)
	}
	if k.record(t, id, "shown").Rung != "client" {
		t.Error("the shown record does not say where")
	}
	for _, want := range []string{"ask=" + id, "kind=form", "backend=bank", "name=pay", "ending=answered", "action=accept", "surface=mcp", "dur="} {
		if !strings.Contains(k.logged(), want) {
			t.Errorf("%q is not in the log:\n%s", want, k.logged())
		}
	}
}

func TestQuietLog(t *testing.T) {
	k, r := newKit(t, func(cfg *Config) { cfg.Log = slog.New(slog.DiscardHandler) }), newResult(t)
	id := k.Ask(question(), Ways{Client: &client{}}, r.asker())
	k.End(id, ask.Withdrawn, nil)
	if got := k.transitions(id); len(got) != 4 || k.logged() != "" {
		t.Errorf("audited %v, logged %q", got, k.logged())
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := New(Config{})
	for _, field := range []string{"Now", "Log", "Mint", "Shard", "Key", "Timeout", "Journal", "Seal", "Unseal", "Keep", "Digest", "Audit", "MaxTimeout", "Terms.Extension", "Terms.Attempts", "MaxOpen", "MaxOpenPerSession", "MaxOpenPerPrincipal", "RatePerMinute", "Burst"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field+" ") {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
	cfg := newKit(t, nil).cfg
	cfg.Burst = maxBurst + 1
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "Burst") {
		t.Errorf("too large a burst gave %v", err)
	}
}

func TestStats(t *testing.T) {
	k := newKit(t, nil)
	ids := make([]string, 4)
	for i := range ids {
		ids[i] = k.Ask(question(), Ways{Client: &client{}}, Asker{Settled: func(ask.Outcome) error { return nil }})
	}
	k.Ask(question(), Ways{}, Asker{Settled: func(ask.Outcome) error { return nil }})
	if err := k.Answer(ids[0], fromAda, accept); err != nil {
		t.Fatal(err)
	}
	k.End(ids[1], ask.Withdrawn, nil)
	k.End(ids[2], ask.Abandoned, nil)
	want := Stats{Open: 1, RateKeys: 1, Asked: 5, Answered: 1, Withdrawn: 1, Abandoned: 1, Refused: 1}
	if got := k.Stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	k.End(ids[3], ask.Abandoned, nil)
}
