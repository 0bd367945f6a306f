package relay

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// changeWait gathers the list changes of several backends into one
// notification.
const changeWait = 100 * time.Millisecond

// answers reports whether requests of a method are no one backend's at a
// joined endpoint. A solo session has no join.
func (j *join) answers(method string) bool {
	return j != nil && (method == "logging/setLevel" || catalog.ByMethod(method) != 0)
}

// call answers a request that is no one backend's.
func (j *join) call(ctx context.Context, c *call) (contract.Response, error) {
	msg := c.msg
	l := catalog.ByMethod(msg.Method())
	if l == 0 {
		return j.setLevel(ctx, msg), nil
	}
	t := j.s.seen()
	body, err := joinedPage(j.s.relay, t, l, j.gather(ctx, t, l), msg.Text(msg.Cursor))
	if err != nil {
		return contract.Response{}, err
	}
	return result(msg.Field(msg.ID), body), nil
}

// way finds the backend that a request belongs to, into w.
func (j *join) way(ctx context.Context, c *call, w *way) error {
	t := j.s.seen()
	f := finder{table: t, prefixed: j.s.relay.prefixed(t), gather: func(l catalog.List) []catalog.Part {
		return j.gather(ctx, t, l).parts
	}}
	to, err := f.find(c.msg)
	if err != nil {
		return err
	}
	name := to.entry.Backend.Name()
	line, err := j.line(ctx, to.entry)
	if err != nil {
		return err
	}
	c.asker.backend, c.asker.name = name, to.own
	c.changed = func(method string) bool { return j.changed(name, method) }
	if to.entry.Timeout > 0 {
		c.clock.relimit(to.entry.Timeout)
	}
	*w = way{to.entry, line, contract.Outgoing{Msg: c.msg, Edits: to.edits, Name: to.own}, joinSink{c, j}}
	return nil
}

// joinSink is a call's sink on the joined endpoint, where a client's progress
// must find the backend that asked.
type joinSink struct {
	*call
	j *join
}

func (s joinSink) Question(q *contract.Question) {
	s.j.track(s.asker.backend, q)
	s.call.Question(q)
}

// gather reads one list of every backend, through the lines of this session.
func (j *join) gather(ctx context.Context, t *table, l catalog.List) gathered {
	return gather(ctx, t, func(ctx context.Context, e *Entry) (*catalog.View, error) {
		name := e.Backend.Name()
		key := catalog.Key{Backend: name, Principal: j.s.who, Caps: j.s.capsKey, Version: j.s.version, List: l}
		return j.s.relay.catalog.Get(ctx, key, func(ctx context.Context, _ catalog.Key) (*catalog.View, error) {
			line, err := j.line(ctx, e)
			if err != nil {
				return nil, err
			}
			return fetchView(ctx, j.s.relay, line, name, l, nil)
		})
	})
}

// setLevel passes a log level to every line, those opened later included.
func (j *join) setLevel(ctx context.Context, msg *wire.Message) contract.Response {
	level := append([]byte(nil), msg.Field(msg.Params)...)
	j.mu.Lock()
	j.level = level
	j.mu.Unlock()
	var wg sync.WaitGroup
	for name, line := range j.open() {
		wg.Go(func() { j.sendLevel(ctx, name, line, level) })
	}
	wg.Wait()
	return result(msg.Field(msg.ID), []byte("{}"))
}

func (j *join) sendLevel(ctx context.Context, name string, line contract.Line, params []byte) {
	welcome := line.Welcome()
	caps := wire.Get(welcome.Raw, welcome.Result, "capabilities")
	if wire.Get(welcome.Raw, caps, "logging").IsZero() {
		return
	}
	if _, err := own(ctx, j.s.relay, line, "logging/setLevel", params); err != nil {
		j.s.relay.log.Warn("log level not set", "backend", name, "err", err)
	}
}

// own sends a request of the gateway's own on a line.
func own(ctx context.Context, r *Relay, line contract.Line, method string, params []byte) (contract.Reply, error) {
	raw := append([]byte(nil), `{"jsonrpc":"2.0","id":"answerback","method":`...)
	raw = wire.AppendString(raw, method)
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	raw = append(raw, '}')
	msg, err := wire.Scan(raw, r.limits.Scan)
	if err != nil {
		return contract.Reply{}, err
	}
	reply, err := line.Call(ctx, contract.Outgoing{Msg: &msg}, silent{})
	if err != nil {
		return contract.Reply{}, err
	}
	if reply.Msg.Kind == wire.Failure {
		return reply, &contract.UpstreamError{Reply: reply}
	}
	return reply, nil
}

// silent drops what comes beside the response of a request of our own.
type silent struct{}

func (silent) Notify(*wire.Message) {}

func (silent) Question(q *contract.Question) {
	ctx, cancel := context.WithTimeout(q.Gone, replyTime)
	defer cancel()
	_ = q.Reply(ctx, nil, era.ErrorObject(ask.Errorf(ask.NoClient, "No client is available: the gateway itself made this request."), era.Legacy))
}
