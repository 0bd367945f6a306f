package events

import (
	"errors"
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/wire"
)

// respond takes the answer to a question of a call.
func (s *Surface) respond(w http.ResponseWriter, r *http.Request, c *call) error {
	raw, err := entry.ReadJSON(w, r, int64(s.cfg.MaxBody))
	if err != nil {
		return err
	}
	members, err := wire.Object(raw, "type", "id", "action", "content", "result", "error")
	if err != nil {
		return err
	}
	id, _ := wire.Unquote(members["id"])
	session, q := c.answer(id)
	if q == nil {
		return errTooLate
	}
	defer c.answering.Done()
	settled := settledEvent{ID: id, Outcome: ask.Answered.String()}
	var body []byte
	if q.kind == ask.Sampling {
		body, err = readSampled(members)
	} else {
		settled.Action, body, err = q.readAnswer(members)
	}
	if err != nil {
		return s.attempted(c, id, err)
	}
	msg, err := wire.Scan(append(append(wire.AppendString([]byte(`{"jsonrpc":"2.0","id":`), id), body...), '}'), s.scan())
	if err != nil {
		return err
	}
	if err := session.Answer(&msg); err != nil {
		return err
	}
	if !q.link || settled.Action != ask.Accept.String() {
		c.settled(settled)
	}
	entry.WriteJSON(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"taken"})
	return nil
}

// attempted counts an answer that does not fit its question, and says whether
// there may be another. Other mistakes are not the person's.
func (s *Surface) attempted(c *call, id string, wrong error) error {
	p, ok := errors.AsType[*problem](wrong)
	if !ok || p.Code != invalidContent || s.cfg.Attempts == nil {
		return wrong
	}
	tries, err := s.cfg.Attempts.Attempted(id, desk.Viewer{Principal: c.who.Principal}, surfaceName)
	if err != nil {
		return err
	}
	p.Retry = &retry{Allowed: !tries.Over(), Limit: tries.Limit, Count: tries.Count}
	if tries.Over() {
		p.Message = "The answer does not fit the question, and there were too many of these: the question is over."
	}
	return p
}

// answer finds a question that is open, and counts its answer in: the caller
// owes answering.Done where there is one.
func (c *call) answer(id string) (Session, *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.open[id]
	if q == nil || c.session == nil || c.ending {
		return nil, nil
	}
	c.answering.Add(1)
	return c.session, q
}

// readAnswer reads an elicitation-response, and gives its action and the
// member of a JSON-RPC response that says it.
func (q *question) readAnswer(members map[string][]byte) (string, []byte, error) {
	if err := wants(members, answerElicitation, "result", "error"); err != nil {
		return "", nil, err
	}
	action, err := readAction(members["action"])
	if err != nil {
		return "", nil, err
	}
	content, given := members["content"]
	body := []byte(`,"result":{"action":"` + action.String() + `"`)
	switch {
	case action == ask.Accept && q.kind == ask.Form:
		if !given {
			content = []byte("{}")
		}
		if content, err = q.read(content); err != nil {
			return "", nil, err
		}
		body = append(append(body, `,"content":`...), content...)
	case given:
		return "", nil, bad("Only the accept of a form has content.")
	}
	return action.String(), append(body, '}'), nil
}

// read holds what was filled in to its form, and writes it as the form's
// types have it: a number that came as text from an input becomes one.
func (q *question) read(content []byte) ([]byte, error) {
	schema := q.schema
	if len(schema) == 0 {
		schema = []byte(`{"type":"object","properties":{}}`)
	}
	f, err := form.FromRequested(schema, q.message)
	if err != nil {
		return nil, ask.Wrap(ask.BadSchema, "The question asks for values in a way that cannot be read here. It can be declined.", err)
	}
	values, errs := f.Decode(content, nil)
	if len(errs) > 0 {
		p := newProblem(http.StatusUnprocessableEntity, invalidContent, "The answer does not fit the question. It is still open.")
		p.Errors = errs
		return nil, p
	}
	return f.Encode(values), nil
}

// readSampled reads a sampling-response.
func readSampled(members map[string][]byte) ([]byte, error) {
	if err := wants(members, answerSampling, "action", "content"); err != nil {
		return nil, err
	}
	result, failure := members["result"], members["error"]
	switch {
	case (result == nil) == (failure == nil):
		return nil, bad("A sampling-response has either a result or an error.")
	case result != nil && result[0] == '{':
		return append([]byte(`,"result":`), result...), nil
	case failure != nil && failure[0] == '{':
		return append([]byte(`,"error":`), failure...), nil
	}
	return nil, bad("result and error are objects.")
}

// wants checks that a response is of the type that its question needs. The
// type may be left out, for the id says it.
func wants(members map[string][]byte, kind string, not ...string) error {
	if t, given := members["type"]; given {
		if word, _ := wire.Unquote(t); word != kind {
			return bad("This question takes the type " + kind + ".")
		}
	}
	for _, name := range not {
		if members[name] != nil {
			return bad("The type " + kind + " has no " + name + ".")
		}
	}
	return nil
}

// readAction reads one of the three words. Anything else is no action: least
// of all is it a yes.
func readAction(raw []byte) (ask.Action, error) {
	word, _ := wire.Unquote(raw)
	for _, a := range []ask.Action{ask.Accept, ask.Decline, ask.Cancel} {
		if word == a.String() {
			return a, nil
		}
	}
	return ask.NoAction, bad("action must be accept, decline or cancel.")
}
