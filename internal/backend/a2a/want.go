package a2a

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// end makes what became of a turn the reply to the round.
func (r *run) end(ctx context.Context, err error) (contract.Reply, error) {
	if said := refusalOf(err); said != nil {
		return r.failed("The agent did not take the message: " + clip(said.Error(), maxWords))
	}
	if ask.CodeOf(err) == ask.NotConnected && r.task.id != "" {
		return contract.Reply{}, r.refused(err)
	}
	if err != nil {
		return contract.Reply{}, err
	}
	switch r.task.status.State {
	case a2a.TaskStateInputRequired:
		return r.inputRequired(ctx)
	case a2a.TaskStateAuthRequired:
		return r.authRequired(ctx)
	}
	return r.complete()
}

// now is the state from which a call goes on when the task got what it wants.
func (r *run) now(w want) state {
	return state{Task: string(r.task.id), Context: r.task.context, Want: w, Asked: r.task.digest(), Message: a2a.NewMessageID()}
}

// inputRequired asks for what the agent wants to know.
func (r *run) inputRequired(ctx context.Context) (contract.Reply, error) {
	if !r.caps.Form {
		return r.unaskable(ctx)
	}
	schema, w := formOf(r.task.status.Message), wantForm
	if schema == nil {
		schema, w = []byte(textSchema), wantText
	}
	said := r.task.words()
	if said == "" {
		said = "The agent needs to know more to go on."
	}
	params := wire.AppendString([]byte(`{"mode":"form","message":`), said)
	params = append(append(append(params, `,"requestedSchema":`...), schema...), '}')
	return r.ask(params, r.now(w))
}

// authRequired sends the person to the page that the agent names, or has them
// connect another account.
func (r *run) authRequired(ctx context.Context) (contract.Reply, error) {
	page := pageOf(r.task.status.Message)
	switch {
	case page != nil && r.caps.URL:
		return r.ask(page, r.now(wantURL))
	case page != nil:
		return r.unaskable(ctx)
	case r.b.cfg.Credentials == nil:
		r.cancelTask(ctx)
		return r.failed(cmp.Or(r.task.words(), "The agent wants an authorization, and does not say where it is given."))
	}
	why := contract.Challenge{Status: http.StatusUnauthorized}
	if r.b.cfg.Credentials.Refused(ctx, r.who, r.agent.tap.authorization(), why) && !r.again {
		r.again = true
		return r.connected(ctx, r.now(wantGrant))
	}
	return contract.Reply{}, r.refused(r.agent.tap.by.Refusal(why))
}

// refused is the error of a task that goes on once there is another
// credential. The message that began it is not sent again.
func (r *run) refused(err error) error {
	why := contract.Challenge{Status: http.StatusUnauthorized}
	if c, ok := errors.AsType[*contract.Challenge](err); ok {
		why = *c
	}
	why.State = r.seal(r.now(wantGrant))
	return ask.Wrap(ask.NotConnected, ask.From(err).Message, &why)
}

// connected goes on with a task when there is another credential: it may have
// been enough to bring it, or the agent waits to be told.
func (r *run) connected(ctx context.Context, s state) (contract.Reply, error) {
	t, err := r.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: r.task.id, HistoryLength: noHistory()})
	if err != nil {
		return r.end(ctx, r.fault(ctx, err, false))
	}
	if err := r.take(t); err != nil {
		return contract.Reply{}, err
	}
	if t.Status.State != a2a.TaskStateAuthRequired || r.task.digest() != s.Asked {
		if r.rests() {
			return r.end(ctx, nil)
		}
		return r.end(ctx, r.poll(ctx, false))
	}
	r.task.events = 0
	err = r.send(ctx, r.messageFor(s, a2a.NewTextPart("The person has connected an account."), dataPart([]byte(`{"action":"accept"}`))))
	if refusalOf(err) != nil {
		return r.await(ctx, s) // it goes on by itself
	}
	return r.end(ctx, err)
}

// await waits for a task to go on whose page somebody opened. Where that takes
// longer than a client should be kept waiting, it is asked to call again.
func (r *run) await(ctx context.Context, s state) (contract.Reply, error) {
	r.passed, r.answered = true, s.Asked
	limited, cancel := context.WithTimeout(ctx, r.b.cfg.Limits.Round)
	defer cancel()
	err := r.watch(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		s.Want = wantPage
		return r.wants(nil, s)
	}
	return r.end(ctx, err)
}

// watch follows a task that is under way until it rests.
func (r *run) watch(ctx context.Context) error {
	if r.card.Capabilities.Streaming {
		for ev, err := range r.agent.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: r.task.id}) {
			if err != nil {
				break // looking at it tells whether it is there
			}
			if err := r.take(ev); err != nil || r.rests() {
				return err
			}
		}
	}
	return r.poll(ctx, true)
}

// ask puts one question, of which params are those of elicitation/create.
func (r *run) ask(params []byte, s state) (contract.Reply, error) {
	return r.wants(append(append([]byte(`{"`+inputKey+`":{"method":"elicitation/create","params":`), params...), "}}"...), s)
}

// wants is the reply that has the client call again.
func (r *run) wants(inputs []byte, s state) (contract.Reply, error) {
	b := []byte(`{"resultType":"input_required",`)
	if inputs != nil {
		b = append(append(append(b, `"inputRequests":`...), inputs...), ',')
	}
	b = append(wire.AppendString(append(b, `"requestState":`...), r.seal(s)), '}')
	return r.reply(r.msg, b)
}

// unaskable ends a task that asks what the client cannot be asked.
func (r *run) unaskable(ctx context.Context) (contract.Reply, error) {
	r.cancelTask(ctx)
	return r.failed("The agent asks something, and nobody can be asked here. Where you know the answer, call again with it in the message. The agent says: " + r.task.words())
}

var address = regexp.MustCompile("https?://[^\\s<>\"'`]+")

// pageOf gives the parameters of the question that sends a person to the page
// which a message names, nil where it names none that may be shown.
func pageOf(m *a2a.Message) []byte {
	if m == nil {
		return nil
	}
	said := cmp.Or(words(m), "The agent wants an authorization to go on.")
	var found []string
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		if data, ok := p.Data().(map[string]any); ok {
			if u, ok := data["url"].(string); ok {
				found = append(found, u)
			}
		}
		if u := p.URL(); u != "" {
			found = append(found, string(u))
		}
	}
	if u := address.FindString(said); u != "" {
		found = append(found, strings.TrimRight(u, ".,;:!?)]}*"))
	}
	for _, u := range found {
		params := wire.AppendString([]byte(`{"mode":"url","message":`), said)
		params = append(wire.AppendString(append(params, `,"url":`...), u), '}')
		if len(u) <= maxAddress && era.CheckShape(ask.URL, params) == nil {
			return params
		}
	}
	return nil
}

const maxAddress = 2048
