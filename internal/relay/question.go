package relay

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/plant"
	"github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/wire"
)

// replyTime bounds how long the relay tries to bring an answer to a backend.
const replyTime = 30 * time.Second

// thinkEvery is how often a backend whose question carries a progress token
// hears that somebody is still thinking: well below the 60 seconds after
// which the most common SDKs give up.
const thinkEvery = 20 * time.Second

// asker is where questions come from: a backend, on behalf of a client.
type asker struct {
	relay   *Relay
	backend string
	who     ask.Principal
	session string
	caps    era.Caps
	// during and name say what was being called, and client by what, where
	// that is known.
	during, name, client string
	// version is the protocol's towards the backend, manner how the client is
	// treated.
	version string
	manner  Manner
	// through is the surface by which a modern client comes, "" for MCP.
	through string
	// of is the legacy session that is served, nil where there is none.
	of *Session
	// alone says that nobody can be asked in the middle of this request: the
	// modern era knows questions in a few methods only.
	alone bool
}

// carry takes a question to the desk and its outcome back to the backend.
// The clocks of the calls that it may belong to stand still meanwhile.
func (a asker) carry(q *contract.Question, to contract.Peer, calls ...*call) {
	r := a.relay
	method, params := era.Canonical(q.Method, q.Params)
	kind, ok := q.Kind, q.Kind != 0
	if !ok {
		kind, ok = era.KindOf(method, params)
	}
	switch {
	case q.Method == "ping":
		a.reply(q, []byte("{}"), nil)
		return
	case !ok:
		a.turnDown(q, ask.Errorf(ask.UnknownMethod, "The gateway does not carry "+q.Method+" to clients."))
		return
	case a.alone:
		a.turnDown(q, ask.Errorf(ask.NoClient, "No client is available: it cannot be asked in the middle of "+a.during+"."))
		return
	case r.desk == nil:
		a.turnDown(q, ask.Errorf(ask.SwitchedOff, "Questions to clients are switched off at the gateway (asks.enabled)."))
		return
	}
	e := r.table.Load().byName[a.backend]
	p, err := a.weigh(e, q, kind, params)
	if err != nil {
		if err.Code == ask.ClientLacksCapability || err.Code == ask.ModeNotDeclared {
			inform(to, kind, params, "")
		}
		a.turnDown(q, err)
		return
	}

	k := &carried{asker: a, q: q, calls: calls, caps: p.of(a.caps), form: p.form, opened: make(chan struct{}), over: make(chan struct{})}
	if p.apart != nil && len(exchange.Ladder(k.standing(e, kind, to).Reach())) == 0 {
		a.turnDown(q, p.apart)
		return
	}
	whom, ways, full := k.ways(e, kind, to)
	if ways.Client == nil && ways.Link == nil && !ways.Page {
		inform(to, kind, params, "")
	}
	if full != nil {
		a.turnDown(q, full)
		return
	}
	// A question that may be any of several calls' ends with none of them in
	// particular: only an ask with one call ends with it.
	if len(calls) == 1 && !calls[0].opens(k) {
		a.turnDown(q, ask.Errorf(ask.ClientCancelled, "The call that asked was cancelled."))
		return
	}
	for _, c := range calls {
		c.clock.pause()
	}
	by := k.waits(to)
	by.Note = p.note
	k.open(r.desk.Ask(ask.Ask{
		Kind: kind, Method: method, Params: p.params,
		Backend: a.backend, During: a.during, Name: a.name, Client: a.client, Session: a.session,
		Addressee: whom, Terms: question.Terms(p.form),
	}, ways, by))
}

// inform tells a peer that wants to know what its client cannot be asked.
func inform(to contract.Peer, kind ask.Kind, params []byte, page string) {
	if p, ok := to.(contract.Informed); ok {
		p.Unasked(kind, params, page)
	}
}

// carried is one question between its backend and the desk.
type carried struct {
	asker asker
	q     *contract.Question
	calls []*call
	caps  era.Caps   // the client's that it may make use of
	form  *form.Form // where it came with one of our own

	// told says that the ask can come to wait on a page of the caller's, whose
	// call then ends with the link.
	told bool

	opened chan struct{} // closed once the desk has the ask, and id is set
	over   chan struct{} // closed once it has settled and its backend was told
	id     string

	mu      sync.Mutex
	done    bool
	noted   string // its id, where the call's trip knows of it
	page    string // where it waits, if it does
	unwatch func() bool
	think   *time.Timer
	thought int
}

// open ties the ask to the life of its question. The ask may have settled
// before: then there is nothing to tie.
func (k *carried) open(id string) {
	k.id = id
	close(k.opened)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.done {
		return
	}
	// A question that may be any of several calls' may leave each at work.
	if len(k.calls) == 1 {
		k.noted = id
		k.calls[0].trip.Asked(id)
	}
	desk := k.asker.relay.desk
	k.unwatch = context.AfterFunc(k.q.Gone, func() { desk.End(id, endingOf(k.q.Gone), ask.From(context.Cause(k.q.Gone))) })
	if k.q.Progress != nil {
		k.think = time.AfterFunc(thinkEvery, k.stillThinking)
	}
}

// end settles the ask, if nothing else has, and waits until it is settled.
func (k *carried) end(how ask.Ending, why *ask.Error) {
	<-k.opened
	k.asker.relay.desk.End(k.id, how, why)
	<-k.over
}

func endingOf(gone context.Context) ask.Ending {
	if ask.CodeOf(context.Cause(gone)) == ask.BackendWithdrew {
		return ask.Withdrawn
	}
	return ask.Abandoned
}

// stillThinking tells the backend that the question is alive.
func (k *carried) stillThinking() {
	k.mu.Lock()
	k.thought++
	n, done := k.thought, k.done
	k.mu.Unlock()
	if done {
		return
	}
	ctx, cancel := context.WithTimeout(k.q.Gone, thinkEvery)
	defer cancel()
	if err := k.q.Progress(ctx, n); err != nil {
		k.asker.relay.log.Debug("progress not delivered", "backend", k.asker.backend, "err", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.done {
		k.think.Reset(thinkEvery)
	}
}

// settle brings the outcome to the backend. The desk calls it once.
func (k *carried) settle(out ask.Outcome) (undelivered error) {
	k.mu.Lock()
	k.done = true
	noted := k.noted
	if k.unwatch != nil {
		k.unwatch()
	}
	if k.think != nil {
		k.think.Stop()
	}
	k.mu.Unlock()
	switch out.Ending {
	case ask.Withdrawn, 0:
		// The backend took it back, or will be told after a restart.
	case ask.Answered:
		plant.Kill("relay.reply.before")
		undelivered = k.deliver(out)
		plant.Kill("relay.reply.after")
	default:
		undelivered = k.asker.refuse(k.q, out.Err)
	}
	if k.q.Over != nil {
		k.q.Over()
	}
	close(k.over)
	for _, c := range k.calls {
		if out.Ending == 0 {
			c.suspend()
		}
		c.settled(k)
		c.trip.Settled(noted)
		if c.pk != nil {
			c.pk.Settled(k.page)
		}
		c.clock.resume()
	}
	return undelivered
}

// deliver brings an answer to the backend. One that a client gave to a form of
// our own is held to that first: those who show it themselves have done so.
func (k *carried) deliver(out ask.Outcome) error {
	result := out.Answer.Result
	if k.form != nil && k.asker.isClient(out.Surface) && len(result) > 0 {
		var err *ask.Error
		if result, err = conform(k.form, out.Answer); err != nil {
			_ = k.asker.refuse(k.q, err)
			return err
		}
	}
	return k.asker.reply(k.q, result, out.Answer.Error)
}

// isClient reports whether an answer through this surface is the client's own.
func (a asker) isClient(through string) bool {
	return through == contract.MCP || through == a.through && through != "" || a.of != nil && through == a.of.from().Surface
}

// turnDown refuses a question that does not reach the desk.
func (a asker) turnDown(q *contract.Question, why *ask.Error) {
	if a.relay.observe != nil {
		a.relay.observe.Refused(why.Code)
	}
	_ = a.refuse(q, why)
}

// refuse answers a question with an error of the gateway's.
func (a asker) refuse(q *contract.Question, why *ask.Error) error {
	a.relay.log.Info("question refused", "backend", a.backend, "method", q.Method, "code", why.Code)
	return a.reply(q, nil, era.ErrorObject(why, era.Legacy))
}

func (a asker) reply(q *contract.Question, result, errObj []byte) error {
	ctx, cancel := context.WithTimeout(q.Gone, replyTime)
	defer cancel()
	err := q.Reply(ctx, result, errObj)
	if err == nil {
		return nil
	}
	a.relay.log.Warn("answer not delivered", "backend", a.backend, "method", q.Method, "err", err)
	return ask.Wrap(ask.BackendLost, "The server that asked has gone.", err)
}

// clientName reads what a client calls itself from its Implementation object:
// the title for people, or else the name.
func clientName(info []byte) string {
	at, err := wire.Value(info)
	if err != nil {
		return ""
	}
	for _, key := range []string{"title", "name"} {
		if name, ok := wire.Unquote(wire.Get(info, at, key).Of(info)); ok && name != "" {
			return strings.ToValidUTF8(name[:min(len(name), maxClientName)], "")
		}
	}
	return ""
}

// maxClientName bounds what is kept of a client's name with each ask.
const maxClientName = 100

// answerOf reads a client's response to a question.
func answerOf(msg *wire.Message) ask.Answer {
	if msg.Kind == wire.Failure {
		return ask.Answer{Error: msg.Field(msg.Error)}
	}
	return question.AnswerIn(msg.Raw, msg.Result)
}
