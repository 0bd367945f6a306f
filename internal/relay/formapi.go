package relay

import (
	"context"
	"encoding/json"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/wire"
)

// A client may create forms for its own principal, and submit and extend them.
// In MCP elicitation/create is a request from servers to clients, so the same
// method in the other direction has no other meaning. A client opts in by the
// content of its request; the extension is optional.

// ownsForm reports whether the gateway answers a request itself: the creation
// of a form, and every submission and extension. A submission is never
// forwarded to a backend, whatever form it names, because it can contain
// secrets. Any other elicitation/create is forwarded, unless the client
// declared the extension.
func (r *Relay) ownsForm(msg *wire.Message, declared func(*wire.Message) bool) bool {
	if r.office == nil {
		return false
	}
	switch msg.Method() {
	case "elicitation/submit", "elicitation/extend_timeout":
		return true
	case "elicitation/create":
		mode := textIn(msg, "mode")
		return declared(msg) ||
			mode == "form" && !wire.Get(msg.Raw, msg.Params, "formDefinition").IsZero() ||
			mode == "inline" && !wire.Get(msg.Raw, msg.Params, "prompt").IsZero()
	}
	return false
}

// textIn gives a text among the params of a request, "" for anything else.
func textIn(msg *wire.Message, key string) string {
	s, _ := wire.Unquote(wire.Get(msg.Raw, msg.Params, key).Of(msg.Raw))
	return s
}

// formsFor reports whether the sender of a modern request declared that it
// creates forms.
func (r *Relay) formsFor(msg *wire.Message) bool {
	return r.office != nil && era.ExtendsForms(msg.Field(msg.MetaCapabilities))
}

// formCall serves a request about a form of the client's own.
func (r *Relay) formCall(ctx context.Context, by office.Creator, msg *wire.Message, in era.Era) contract.Response {
	id := msg.Field(msg.ID)
	by = r.creator(by)
	body, err := r.formResult(ctx, by, msg)
	if err != nil {
		fault := office.Fault(err, func(e *ask.Error) int { return era.Number(e, in) })
		return fail(id, fault, in)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fail(id, err, in)
	}
	if in == era.Modern {
		raw = append([]byte(`{"resultType":"complete",`), raw[1:]...)
	}
	return result(id, raw)
}

// creator completes a creator with the rules for MCP clients.
func (r *Relay) creator(by office.Creator) office.Creator {
	by.Via, by.Secrets = contract.MCP, r.secrets
	return by
}

func (r *Relay) formResult(ctx context.Context, by office.Creator, msg *wire.Message) (any, error) {
	params := msg.Field(msg.Params)
	if msg.Method() == "elicitation/create" {
		return r.office.Create(by, append([]byte(nil), params...))
	}
	var p struct {
		ElicitationID     string          `json:"elicitationId"`
		Responses         json.RawMessage `json:"responses"`
		FormID            json.RawMessage `json:"form_id"`
		Metadata          json.RawMessage `json:"metadata"`
		ExtensionDuration int64           `json:"extensionDuration"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.ElicitationID == "" {
		return nil, ask.Wrap(ask.BadMessage, "The params must name the form by its elicitationId.", err)
	}
	who := desk.Viewer{Principal: by.Principal}
	if msg.Method() == "elicitation/submit" {
		if err := r.office.Submit(ctx, who, contract.MCP, p.ElicitationID, office.Submission{Responses: p.Responses, FormID: p.FormID, Metadata: p.Metadata}); err != nil {
			return nil, err
		}
		return struct {
			Status string `json:"status"`
		}{office.Completed}, nil
	}
	longer := time.Duration(p.ExtensionDuration) * time.Millisecond
	if p.ExtensionDuration < 0 || p.ExtensionDuration > office.MaxExtension.Milliseconds() {
		return nil, ask.Errorf(ask.BadMessage, "extensionDuration must be a number of milliseconds, at most an hour.")
	}
	return r.office.Extend(ctx, who, contract.MCP, p.ElicitationID, longer)
}

// formCall serves a request about a form for a session, which is told what
// becomes of the forms that it creates.
func (s *Session) formCall(ctx context.Context, msg *wire.Message) contract.Response {
	return s.relay.formCall(ctx, office.Creator{Principal: s.who, Session: s.id, Client: s.client, Tell: s.teller()}, msg, era.Legacy)
}

// teller tells a client of its forms: a session, or a subscription.
type teller struct {
	notify func([]byte)
	of     *Session // nil for a subscription
	meta   []byte   // what the params of its notifications have as _meta, nil for nothing
}

func (s *Session) teller() *teller {
	return &teller{notify: func(b []byte) { s.peer.Notify(b) }, of: s}
}

// teller tells the client of a question what only our extension has; nil where
// it does not know it.
func (k *carried) teller() *teller {
	if s := k.asker.of; s != nil && s.forms {
		return s.teller()
	}
	return nil
}

// warn is Warn for a question. On a nil teller it does nothing.
func (t *teller) warn(a *ask.Ask, extensions int) {
	if t != nil {
		t.Warn(a.ID, time.Until(a.Deadline), a.Terms.Extension, extensions)
	}
}

// Created says that a form waits. It ends with the session.
func (t *teller) Created(id string) {
	if t.of == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.of.created == nil {
		t.of.created = make(map[string]struct{})
	}
	t.of.created[id] = struct{}{}
}

// Complete says that a form has ended.
func (t *teller) Complete(f office.Form) {
	if t.of != nil {
		t.of.mu.Lock()
		delete(t.of.created, f.ElicitationID)
		t.of.mu.Unlock()
	}
	t.send("complete", struct {
		Meta          json.RawMessage `json:"_meta,omitempty"`
		ElicitationID string          `json:"elicitationId"`
		Status        string          `json:"status"`
		Result        json.RawMessage `json:"result,omitempty"`
		Metadata      json.RawMessage `json:"metadata,omitempty"`
		Uncollected   []string        `json:"uncollected,omitempty"`
	}{t.meta, f.ElicitationID, f.Status, f.Result, f.Metadata, f.Uncollected})
}

// Warn says that the time of a form is nearly up.
func (t *teller) Warn(id string, remaining, extension time.Duration, extensions int) {
	t.send("timeout_warning", struct {
		Meta              json.RawMessage `json:"_meta,omitempty"`
		ElicitationID     string          `json:"elicitationId"`
		RemainingMs       int64           `json:"remainingMs"`
		ExtensionAllowed  bool            `json:"extensionAllowed"`
		ExtensionDuration int64           `json:"extensionDuration"`
	}{t.meta, id, max(0, remaining.Milliseconds()), extensions > 0, extension.Milliseconds()})
}

func (t *teller) send(what string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		return // there is nothing in it that cannot be written
	}
	b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/elicitation/`+what+`","params":`), raw...)
	t.notify(append(b, '}'))
}

// leaveForms ends the forms of a session that is over, unless the gateway goes
// on with them after a restart.
func (s *Session) leaveForms(why *ask.Error) {
	s.mu.Lock()
	created := s.created
	s.created = nil
	s.mu.Unlock()
	if len(created) == 0 || why.Code == ask.ShuttingDown {
		return
	}
	for id := range created {
		s.relay.office.Leave(id, why)
	}
}

// advertise adds the extension to what a server says that it can: in the
// result of an initialize or a server/discover, for a client that knows it.
func advertise(r *Relay, reply contract.Reply, in era.Era) (contract.Reply, error) {
	m := &reply.Msg
	caps := wire.Get(m.Raw, m.Result, "capabilities")
	if m.Kind != wire.Result || caps.IsZero() {
		return reply, nil
	}
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, wire.Edit{Span: caps, With: era.WithForms(caps.Of(m.Raw), in)}), r.limits.Scan)
	reply.Msg = msg
	return reply, err
}
