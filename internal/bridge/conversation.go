package bridge

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// maxRounds bounds how often a server may want input for one call.
	maxRounds = 100
	// maxInputs bounds the questions of one round.
	maxInputs = 64
	// The wait before a request is sent again that needs no answer: a server
	// that sheds load, or one that waits for a page to be finished.
	firstWait = 100 * time.Millisecond
	lastWait  = 10 * time.Second
)

// conversation is one call on its way through its rounds.
type conversation struct {
	line *Line
	base wire.Message // the request in the modern form, without answers
	name string
	sink contract.Sink

	visited map[string]string // address of a page that the person agreed to open, to its elicitationId
	idle    int               // rounds in a row in which nobody was asked
	fresh   bool              // the server's schemas were read anew for this call
}

func (l *Line) newConversation(out contract.Outgoing, sink contract.Sink) (*conversation, error) {
	edits := append(slices.Clone(out.Edits), era.Modernise(out.Msg, l.client())...)
	slices.SortStableFunc(edits, func(a, b wire.Edit) int { return int(a.Span.Start - b.Span.Start) })
	base, err := wire.Scan(wire.Splice(nil, out.Msg.Raw, edits...), l.cfg.Scan)
	if err != nil {
		return nil, err
	}
	return &conversation{line: l, base: base, name: out.Name, sink: sink}, nil
}

// run sends the request, and again with answers, until a result is complete.
func (c *conversation) run(ctx context.Context) (contract.Reply, error) {
	var answers, state []byte
	for range maxRounds {
		reply, err := c.send(ctx, answers, state)
		if err != nil {
			return reply, err
		}
		m := &reply.Msg
		switch m.Text(m.ResultType) {
		case "input_required":
		case "complete", "":
			c.finished()
			return c.legacy(reply)
		default:
			return contract.Reply{Event: reply.Event}, ask.Errorf(ask.BackendBroken, "Backend "+c.line.cfg.Backend+" answered with a type of result that a legacy client cannot be given.")
		}
		state = m.Field(m.ResultState)
		var fault []byte
		if answers, fault, err = c.inputs(ctx, m); err != nil {
			return contract.Reply{Event: reply.Event}, err
		}
		if fault != nil {
			return c.failed(fault, reply.Event)
		}
	}
	return contract.Reply{}, ask.Errorf(ask.BackendBroken, "Backend "+c.line.cfg.Backend+" asked in too many rounds of one call.")
}

// send makes one round's request: the same, under an id of its own, with what
// was answered so far. A refusal for missing headers is answered once by
// reading the schemas that name them.
func (c *conversation) send(ctx context.Context, answers, state []byte) (contract.Reply, error) {
	for {
		msg, err := c.round(answers, state)
		if err != nil {
			return contract.Reply{}, err
		}
		reply, err := c.line.cfg.Far.Call(ctx, contract.Outgoing{Msg: msg, Name: c.name, Params: c.line.mirrored(&c.base)}, c.sink)
		if err != nil || c.fresh || !isHeaderMismatch(&reply.Msg) || c.base.Method() != "tools/call" {
			return reply, err
		}
		c.fresh = true
		if err := c.line.readTools(ctx); err != nil {
			return contract.Reply{}, err
		}
	}
}

func (c *conversation) round(answers, state []byte) (*wire.Message, error) {
	id := strconv.AppendInt([]byte(`"r`), c.line.ids.Add(1), 10)
	edits := []wire.Edit{{Span: c.base.ID, With: append(id, '"')}}
	var changes []wire.Change
	if answers != nil {
		changes = append(changes, wire.Change{Old: c.base.InputResponses, Key: "inputResponses", Value: answers})
	}
	if state != nil {
		changes = append(changes, wire.Change{Old: c.base.RequestState, Key: "requestState", Value: state})
	}
	if changes != nil {
		edits = append(edits, wire.Amend(c.base.Raw, c.base.Params, changes...)...)
		slices.SortStableFunc(edits, func(a, b wire.Edit) int { return int(a.Span.Start - b.Span.Start) })
	}
	m, err := wire.Scan(wire.Splice(nil, c.base.Raw, edits...), c.line.cfg.Scan)
	return &m, err
}

func isHeaderMismatch(m *wire.Message) bool { return string(m.Field(m.ErrorCode)) == "-32020" }

// inputs has the questions of one round answered, all at once. It gives the
// answers as an object, or the error of the client that refused one.
func (c *conversation) inputs(ctx context.Context, m *wire.Message) (answers, fault []byte, err error) {
	var asked []*pending
	for member := range wire.Members(m.Raw, m.InputRequests) {
		if len(asked) == maxInputs {
			return nil, nil, ask.Errorf(ask.BackendBroken, "Backend "+c.line.cfg.Backend+" asked too much at once.")
		}
		asked = append(asked, c.pose(ctx, m, member))
	}
	defer func() {
		for _, p := range asked {
			p.close()
		}
	}()
	waits := true
	answers = []byte{'{'}
	for i, p := range asked {
		if p.asked {
			waits = false
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		if p.fault != nil {
			return nil, p.fault, nil
		}
		c.consented(p)
		if i > 0 {
			answers = append(answers, ',')
		}
		answers = append(append(append(answers, p.key...), ':'), p.result...)
	}
	if err := c.pause(ctx, waits); err != nil {
		return nil, nil, err
	}
	if len(asked) == 0 {
		return nil, nil, nil
	}
	return append(answers, '}'), nil, nil
}

// pause waits before a round that brings the server nothing new.
func (c *conversation) pause(ctx context.Context, waits bool) error {
	if !waits {
		c.idle = 0
		return nil
	}
	t := time.NewTimer(min(firstWait<<min(c.idle, 10), lastWait))
	defer t.Stop()
	c.idle++
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// legacy takes out of a result what only the modern era has.
func (c *conversation) legacy(reply contract.Reply) (contract.Reply, error) {
	m := &reply.Msg
	if m.ResultType.IsZero() {
		return reply, nil
	}
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, wire.Drop(m.Raw, m.Result, m.ResultType)), c.line.cfg.Scan)
	reply.Msg = msg
	return reply, err
}

// failed ends the call with the error with which the client refused.
func (c *conversation) failed(fault []byte, event bool) (contract.Reply, error) {
	raw := append([]byte(`{"jsonrpc":"2.0","id":0,"error":`), fault...)
	m, err := wire.Scan(append(raw, '}'), c.line.cfg.Scan)
	return contract.Reply{Msg: m, Status: 200, Event: event}, err
}
