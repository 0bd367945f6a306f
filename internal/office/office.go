// Package office runs the forms that clients and programs of the gateway
// create themselves: it puts a form before its creator's own person, takes
// what is submitted for it, and says what became of it.
//
// A form is an ask of the desk like a server's question: its person finds it
// in their list and on its page, its time runs out, it survives a restart. Its
// creator is told at once that it waits, and fetches or is told the rest. The
// values of sensitive fields stay sealed in the stored answer until the creator
// collects them, once.
//
// It knows no transport: MCP and /v1 write its answers in their own ways.
package office

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/question"
)

// Desk runs asks. *desk.Desk is one.
type Desk interface {
	Ask(a ask.Ask, ways desk.Ways, by desk.Asker) (id string)
	Peek(ctx context.Context, id string, who desk.Viewer, surface string) (desk.View, error)
	Submit(id string, who desk.Viewer, surface string, answer ask.Answer) (desk.Receipt, error)
	Attempted(id string, who desk.Viewer, surface string) (desk.Attempts, error)
	Extend(id string, who desk.Viewer, surface string, by time.Duration, least int) (desk.View, error)
	Collect(ctx context.Context, id string, who desk.Viewer, surface string, take desk.Take) (desk.View, error)
	End(id string, ending ask.Ending, why *ask.Error)
}

// Office runs forms. Safe for concurrent use.
type Office struct {
	desk     Desk
	forms    *form.Cache
	names    question.Names
	watchers watchers
}

// New makes an Office over a desk. Forms is where forms are kept ready; names
// judges the names in answers to URL fields, nil judges none.
func New(d Desk, forms *form.Cache, names question.Names) (*Office, error) {
	if d == nil || forms == nil {
		return nil, errors.New("office: it needs a desk and a cache of forms")
	}
	return &Office{desk: d, forms: forms, names: names}, nil
}

// Creator is who creates a form. Its principal is whom the form is for.
type Creator struct {
	Principal ask.Principal
	Session   string // the client session it belongs to, "" for none
	Client    string // what the creator calls itself, "" where unknown
	Via       string // the surface that it came by
	Tell      Teller // nil where nobody can be told
	// Secrets says that the creator may get the values of sensitive fields.
	// Without it the office refuses a form that has any, so that a person does
	// not type a secret in vain.
	Secrets bool
}

// Teller takes what becomes of a form that its client created. It is called
// from many goroutines.
type Teller interface {
	// Created says that the form waits. It comes first.
	Created(id string)
	// Complete says that the form has ended.
	Complete(Form)
	// Warn says that its time is nearly up.
	Warn(id string, remaining, extension time.Duration, extensions int)
}

// Create puts a form before its creator's person and returns at once. Params
// are those of elicitation/create: formDefinition, and a message where the
// form's own words are not enough; or the prompt of the inline mode, which
// becomes a form with one text field. The error's code is BadSchema if the
// params have no valid form, AsksForSecret if the creator may not get the
// form's secrets, or the code of the desk's refusal.
func (o *Office) Create(by Creator, params []byte) (Form, error) {
	params, f, err := o.define(params)
	if err != nil {
		return Form{}, err
	}
	if secrets := sensitive(f); len(secrets) > 0 && !by.Secrets {
		return Form{}, noSecrets(secrets)
	}
	var refused *ask.Error
	var to *shown
	var known atomic.Value // its id; before it is set the form has no watchers
	asker := o.asker(func(out ask.Outcome) {
		switch {
		case out.Ending == ask.Refused:
			refused = out.Err // before Ask returns: it was never shown
			return
		case to != nil:
			to.tell.Complete(o.ended(by, to.id, f, out))
		}
		if id, ok := known.Load().(string); ok {
			o.watchers.ended(id)
		}
	})
	a := ask.Ask{
		Kind: ask.Form, Method: "elicitation/create", Params: params, Client: by.Client, Session: by.Session,
		Addressee: ask.Addressee{Principal: by.Principal}, Terms: question.Terms(f),
	}
	ways := desk.Ways{Page: true}
	if by.Tell != nil {
		to = &shown{tell: by.Tell}
		ways.Link = to
	}
	id := o.desk.Ask(a, ways, asker)
	known.Store(id)
	if refused != nil {
		return Form{}, refused
	}
	return o.Look(context.Background(), desk.Viewer{Principal: by.Principal}, id)
}

// define reads the form from the params of a creation.
func (o *Office) define(params []byte) ([]byte, *form.Form, error) {
	q := question.Read(params)
	if q.Definition == nil && q.Mode == "inline" {
		var err error
		if params, err = inline(q.Message); err != nil {
			return nil, nil, err
		}
	}
	params, f, err := question.Define(params, o.forms)
	switch {
	case err != nil:
		return nil, nil, err
	case f == nil:
		return nil, nil, ask.Errorf(ask.BadSchema, "There is no formDefinition to make a form of.")
	}
	return params, f, nil
}

// inline gives the parameters of a form of one text.
func inline(prompt string) ([]byte, error) {
	f, err := form.Inline(prompt)
	if err != nil {
		return nil, ask.Wrap(ask.BadSchema, "The prompt cannot be made a form of.", err)
	}
	definition, err := json.Marshal(f.Definition())
	if err != nil {
		return nil, err
	}
	return append(append([]byte(`{"mode":"form","formDefinition":`), definition...), '}'), nil
}

// sensitive names the fields of a form that ask for a secret.
func sensitive(f *form.Form) []string {
	var names []string
	for _, field := range f.Fields() {
		if field.Sensitive {
			names = append(names, field.ID)
		}
	}
	return names
}

// maxNamed is how many fields an error names.
const maxNamed = 5

// noSecrets refuses a form whose secrets its creator may not get.
func noSecrets(fields []string) *ask.Error {
	named := strings.ToValidUTF8(strings.Join(fields[:min(len(fields), maxNamed)], ", "), "?")
	return ask.Errorf(ask.AsksForSecret, "The form asks for a secret ("+named+"), and this gateway gives none to MCP clients. "+
		"Create it with POST /v1/forms, where the result can be collected, or have the operator allow asks.secrets_to_clients.")
}

// asker is the asker of a form. Told is called with the outcome. The answer is
// kept whole, sealed, until the creator collects it.
func (o *Office) asker(told func(ask.Outcome)) desk.Asker {
	return desk.Asker{
		Settled: func(out ask.Outcome) error {
			if out.Ending != 0 { // else it goes on after a restart
				told(out)
			}
			return nil
		},
		Keep: func(result []byte) []byte { return result },
		Kept: true,
	}
}

// shown is a client that has the form which it created.
type shown struct {
	tell Teller
	id   string // set when it is shown, which is before all that is told
}

func (s *shown) Show(a *ask.Ask) error {
	s.id = a.ID
	s.tell.Created(a.ID)
	return nil
}

func (s *shown) Withdraw(string, *ask.Error) {}
func (s *shown) Followed()                   {}

func (s *shown) Warn(a *ask.Ask, extensions int) {
	s.tell.Warn(a.ID, time.Until(a.Deadline), a.Terms.Extension, extensions)
}

// Created reports whether an ask is a form that a client created.
func Created(a *ask.Ask) bool { return question.Created(a) }

// Revive takes up forms after a restart. Their creators get no notification,
// except through Watch; they look at the form or collect it.
func (o *Office) Revive(group []desk.Stored) []desk.Revived {
	revived := make([]desk.Revived, len(group))
	for i, s := range group {
		if _, err := question.Read(s.Ask.Params).Form(o.forms); err != nil {
			revived[i].Lost = ask.From(err)
			continue
		}
		revived[i] = desk.Revived{Asker: o.asker(func(ask.Outcome) { o.watchers.ended(s.Ask.ID) }), Ways: desk.Ways{Page: true}}
	}
	return revived
}

// Look gives a form to whoever created it. The error's code is Unknown for
// what is no such form, or not theirs.
func (o *Office) Look(ctx context.Context, who desk.Viewer, id string) (Form, error) {
	v, err := o.peek(ctx, who, id)
	if err != nil {
		return Form{}, err
	}
	return o.formOf(&v), nil
}

// peek finds a form. What a server asked is none: it is not for programs that
// call tools to answer.
func (o *Office) peek(ctx context.Context, who desk.Viewer, id string) (desk.View, error) {
	v, err := o.desk.Peek(ctx, id, desk.Viewer{Principal: who.Principal}, surface)
	switch {
	case err != nil && (ask.CodeOf(err) == ask.NotYours || ask.CodeOf(err) == ask.TooLate):
		return desk.View{}, errUnknown
	case err != nil:
		return desk.View{}, err
	case !Created(&v.Ask):
		return desk.View{}, errUnknown
	}
	return v, nil
}

// surface is what the audit calls the way that forms are looked at by.
const surface = "api"

var errUnknown = ask.Errorf(ask.Unknown, "There is no such form.")

// Extend gives a form more time, counted from its end; what the form says
// where by is 0. A question of a server's can be given more time as well by
// the client of whoever it is for.
func (o *Office) Extend(ctx context.Context, who desk.Viewer, via, id string, by time.Duration) (Extension, error) {
	v, err := o.desk.Extend(id, who, via, by, 0)
	switch {
	case err == nil:
		return Extension{NewTimeoutAt: v.Ask.Deadline.UnixMilli(), ExtensionsRemaining: v.Extendable()}, nil
	case ask.CodeOf(err) == ask.NotYours:
		return Extension{}, errUnknown
	case ask.CodeOf(err) == ask.TooLate:
		if v, err := o.peek(ctx, who, id); err == nil && v.Outcome != nil {
			return Extension{}, over(&v)
		}
	}
	return Extension{}, err
}

// Leave ends a form whose client has gone.
func (o *Office) Leave(id string, why *ask.Error) { o.desk.End(id, ask.Abandoned, why) }
