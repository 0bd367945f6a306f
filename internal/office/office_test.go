package office_test

import (
	"context"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/office"
)

// full is a desk that takes nothing.
type full struct{ office.Desk }

func (full) Ask(_ ask.Ask, _ desk.Ways, by desk.Asker) string {
	_ = by.Settled(ask.Outcome{Ending: ask.Refused, Err: ask.Errorf(ask.TooManyOpen, "Too many questions are open.")})
	return "refused"
}

func TestRefusedFormIsNotPending(t *testing.T) {
	o, err := office.New(full{}, form.NewCache(nil, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := o.Create(office.Creator{}, []byte(`{"formDefinition":{"id":"f","title":"T","fields":[]}}`))
	if ask.CodeOf(err) != ask.TooManyOpen || f.Status != "" {
		t.Errorf("%+v %v", f, err)
	}
}

func TestRevive(t *testing.T) {
	o, err := office.New(full{}, form.NewCache(nil, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := o.Revive([]desk.Stored{
		{Ask: ask.Ask{Params: []byte(`{"formDefinition":{"id":"f","title":"T","fields":[{"id":"pw","type":"text","label":"PW","sensitive":true}]}}`)}},
		{Ask: ask.Ask{Params: []byte(`{"formDefinition":{}}`)}},
	})
	if got[0].Lost != nil || !got[0].Ways.Page || got[1].Lost == nil {
		t.Fatalf("%+v", got)
	}
	// It is kept whole, until it is collected.
	const answer = `{"action":"accept","content":{"pw":"x"}}`
	if kept := string(got[0].Asker.Keep([]byte(answer))); kept != answer {
		t.Errorf("kept is %s", kept)
	}
}

func TestOfficeNeedsItsParts(t *testing.T) {
	if _, err := office.New(nil, form.NewCache(nil, 1), nil); err == nil {
		t.Error("made without a desk")
	}
	if _, err := office.New(full{}, nil, nil); err == nil {
		t.Error("made without forms")
	}
}

// What a server asked is no form of anybody's, whoever it is for.
func TestServersQuestionIsNoForm(t *testing.T) {
	o, err := office.New(one{ask: ask.Ask{Kind: ask.Form, Backend: "deploy"}}, form.NewCache(nil, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Submit(context.Background(), desk.Viewer{}, "mcp", "x", office.Submission{Responses: []byte("{}")}); ask.CodeOf(err) != ask.Unknown {
		t.Errorf("%v", err)
	}
}

// one is a desk with one ask.
type one struct {
	office.Desk
	ask ask.Ask
}

func (o one) Peek(context.Context, string, desk.Viewer, string) (desk.View, error) {
	return desk.View{Ask: o.ask}, nil
}
