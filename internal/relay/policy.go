package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/wire"
)

// Schemas says what becomes of a form whose requestedSchema is not in the
// subset that MCP allows.
type Schemas uint8

// RejectSchemas refuses such a form, WarnOfSchemas passes it on and puts that
// on record, PassSchemas passes it on.
const (
	RejectSchemas Schemas = iota
	WarnOfSchemas
	PassSchemas
)

// Secrets says what becomes of a form that asks for a secret.
type Secrets uint8

// SecretsToPage puts such a form on a page, so that the value passes no
// client, and refuses it where no page can be opened; RefuseSecrets refuses it.
const (
	SecretsToPage Secrets = iota
	RefuseSecrets
)

// posed is a question as it is put to people, by the rules of its backend.
type posed struct {
	params []byte
	form   *form.Form // of a question with a formDefinition, else nil
	// apart says why the client's own form may not show it, nil where it may.
	// Then a page must, and where none can be opened this is the refusal.
	apart *ask.Error
	note  ask.Code   // what the audit notes of it, "" for nothing
	odd   *ask.Error // why MCP does not allow it, where that is to be put on record
}

// pose holds a question to the rules of its backend. The error is what the
// backend is told where it may not ask that.
func (r *Relay) pose(e *Entry, kind ask.Kind, params []byte) (posed, *ask.Error) {
	p := posed{params: params}
	if kind == ask.Form {
		var err *ask.Error
		if p.params, p.form, err = question.Define(params, r.forms); err != nil {
			return p, err
		}
	}
	if err := era.CheckShape(kind, p.params); err != nil || kind != ask.Form {
		return p, err
	}
	var rules Entry
	if e != nil {
		rules = *e
	}
	if p.form == nil {
		if err := era.CheckSchema(p.params); err != nil {
			switch rules.Schemas {
			case RejectSchemas:
				return p, err
			case WarnOfSchemas:
				p.note, p.odd = err.Code, err
			}
		}
	} else if _, err := p.form.Requested(); err != nil {
		p.apart = pageOnly(err)
	}
	if secrets := question.Read(p.params).Secrets(r.forms); len(secrets) > 0 {
		p.apart, p.note = asksForSecret(secrets), ask.AsksForSecret
		if rules.Secrets == RefuseSecrets {
			return p, p.apart
		}
	}
	return p, nil
}

// weigh says how a question is put to people, or what its backend is told that
// may not ask it: because nobody could be asked that, or by the backend's rules.
func (a asker) weigh(e *Entry, q *contract.Question, kind ask.Kind, params []byte) (posed, *ask.Error) {
	if q.Kind != 0 {
		return posed{params: params}, nil // the gateway asks for itself
	}
	r := a.relay
	if err := era.CheckCaps(kind, params, r.told(e, a.who, a.caps, a.version)); err != nil {
		return posed{}, err
	}
	p, err := r.pose(e, kind, params)
	r.warnOf(a.backend, &p)
	return p, err
}

// warnOf logs that a form is passed on which MCP does not allow.
func (r *Relay) warnOf(backend string, p *posed) {
	if p.odd != nil {
		r.log.Warn("a form that MCP does not allow is passed on", "backend", backend, "code", p.odd.Code, "reason", p.odd.Message)
	}
}

// keepsApart reports whether a reply between two modern peers has a question
// in it that the client's own form may not show, or not as it stands, and that
// somebody can be reached with otherwise.
func (rd *round) keepsApart(e *Entry, m *wire.Message) bool {
	if rd.relay.desk == nil || m.Kind != wire.Result || m.Text(m.ResultType) != "input_required" {
		return false
	}
	for q := range wire.Members(m.Raw, m.InputRequests) {
		method, _ := wire.Unquote(wire.Get(m.Raw, q.Value, "method").Of(m.Raw))
		asked := wire.Get(m.Raw, q.Value, "params").Of(m.Raw)
		_, params := era.Canonical(method, asked)
		if kind, ok := era.KindOf(method, params); !ok || kind != ask.Form {
			continue
		}
		p, err := rd.relay.pose(e, ask.Form, params)
		if err != nil || p.apart == nil && p.form == nil && bytes.Equal(params, asked) {
			continue
		}
		s := rd.relay.standing(e, rd.who, p.of(rd.caps))
		s.Kind, s.Live, s.Call, s.Takes = ask.Form, true, true, p.of(rd.caps).Form
		if len(exchange.Ladder(s.Reach())) > 0 {
			return true
		}
	}
	return false
}

// passable says why a question may not pass between two modern peers as it
// stands, nil where it may.
func (r *Relay) passable(backend string, kind ask.Kind, params []byte) *ask.Error {
	p, err := r.pose(r.table.Load().byName[backend], kind, params)
	switch {
	case err != nil:
		return err
	case p.apart != nil:
		return p.apart
	}
	r.warnOf(backend, &p)
	return nil
}

// of gives the capabilities of a client that the question may make use of.
func (p *posed) of(caps era.Caps) era.Caps {
	if p.apart != nil {
		caps.Form = false
	}
	return caps
}

// fit is posed.of for an ask from before a restart, with its form, if it has
// one of its own.
func (r *Relay) fit(e *Entry, a *ask.Ask, caps era.Caps) (era.Caps, *form.Form) {
	p, err := r.pose(e, a.Kind, a.Params)
	if err != nil && p.apart == nil {
		p.apart = err // the rules have changed since it was asked
	}
	return p.of(caps), p.form
}

// maxNamed is how many fields an error names.
const maxNamed = 5

func asksForSecret(fields []string) *ask.Error {
	named := fields[:min(len(fields), maxNamed)]
	return &ask.Error{
		Code: ask.AsksForSecret,
		Message: "The form asks for a secret (" + strings.ToValidUTF8(strings.Join(named, ", "), "?") + "), which may not pass through a client. " +
			"Ask for it in url mode, or leave it out.",
	}
}

// pageOnly refuses a form that the client cannot show, where its page cannot
// be offered either.
func pageOnly(cause error) *ask.Error {
	because := "it says more than MCP's forms can"
	if not, ok := errors.AsType[*form.NotRepresentable](cause); ok {
		because = not.Error()
	}
	return &ask.Error{
		Code:    ask.ModeNotDeclared,
		Message: "The form can be answered on a page only (" + because + "), and the client did not declare the url mode of elicitation.",
		Data:    map[string]any{"requiredCapabilities": json.RawMessage(era.RequiredCaps(ask.URL))},
	}
}

// plain is a client that is shown a question as MCP has it, without the form
// of our own that came with it.
type plain struct {
	contract.Peer
	tell *teller // where the client knows our extension
}

// Show puts the question before the client.
func (p plain) Show(a *ask.Ask) error {
	shown := *a
	shown.Params = question.Plain(a.Params)
	return p.Peer.Show(&shown)
}

// Warn tells the client that time is nearly up.
func (p plain) Warn(a *ask.Ask, extensions int) { warn(p.Peer, p.tell, a, extensions) }

// warn tells a client that time is nearly up: in the words of its surface, or
// in those of our extension where it knows that.
func warn(to contract.Peer, tell *teller, a *ask.Ask, extensions int) {
	if w, ok := to.(desk.Warner); ok {
		w.Warn(a, extensions)
	}
	tell.warn(a, extensions)
}

// conform reads a client's answer to a form of our own, of which the client
// has seen no more than MCP can say. The error's code is FormInvalidated, and
// says all that is wrong.
func conform(f *form.Form, answer ask.Answer) ([]byte, *ask.Error) {
	if answer.Action != ask.Accept {
		return answer.Result, nil
	}
	content := wire.Get(answer.Result, wire.Whole(answer.Result), "content").Of(answer.Result)
	if len(content) == 0 {
		content = []byte("{}")
	}
	values, errs := f.Decode(content, nil)
	if len(errs) > 0 {
		return nil, &ask.Error{
			Code: ask.FormInvalidated, Message: "The client's answer does not fit the form.",
			Data: map[string]any{"type": "validation", "errors": errs},
		}
	}
	return append(append([]byte(`{"action":"accept","content":`), f.Encode(values)...), '}'), nil
}
