package relay

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// ackWait is how long a joined subscription waits for its backends
	// before it tells the client what it can listen to.
	ackWait = 5 * time.Second
	// maxHeld bounds what is held back until the client has its
	// acknowledgement.
	maxHeld = 256
)

// listen serves subscriptions/listen at the joined endpoint: one stream at
// each backend, one stream to the client. It ends with the client, or when
// every backend has ended its stream.
func (j *modernJoin) listen(ctx context.Context) (contract.Response, error) {
	msg := j.call.msg
	id := msg.Field(msg.ID)
	tasks, err := j.taskFilter()
	if err != nil {
		return contract.Response{}, err
	}
	s := &subscription{join: j, id: id, acked: make(map[string]bool), waiting: len(j.table.entries)}
	s.changes = catalog.NewDebouncer(changeWait, s.tellChanged)
	defer s.changes.Close()

	filter := wire.Get(msg.Raw, msg.Params, "notifications")
	wanted := j.subscribed(ctx, filter)
	var wg sync.WaitGroup
	for i := range j.table.entries {
		e := &j.table.entries[i]
		wg.Go(func() {
			name := e.Backend.Name()
			defer s.heard(name, nil)
			err := j.listenAt(ctx, e, j.share(filter, wanted[name], tasks.share(name)), &backendStream{s, name, tasks.by[name]})
			if err != nil && ctx.Err() == nil {
				j.relay.log.Warn("backend cannot be listened to", "backend", name, "err", err)
			}
		})
	}
	late := time.AfterFunc(ackWait, s.acknowledge)
	defer late.Stop()
	wg.Wait()
	s.acknowledge()
	return result(id, append(append([]byte(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`), id...), `}}`...)), nil
}

// subscribed sorts the resources that the client subscribes to by backend.
func (j *modernJoin) subscribed(ctx context.Context, filter wire.Span) map[string][]byte {
	raw := j.call.msg.Raw
	wanted := make(map[string][]byte)
	f := finder{table: j.table, gather: func(l catalog.List) []catalog.Part { return j.gather(ctx, l).parts }}
	for at := range wire.Elements(raw, wire.Get(raw, filter, "resourceSubscriptions")) {
		uri, _ := wire.Unquote(at.Of(raw))
		to, err := f.resource(uri)
		if err != nil {
			continue
		}
		name := to.entry.Backend.Name()
		if len(wanted[name]) > 0 {
			wanted[name] = append(wanted[name], ',')
		}
		wanted[name] = append(wanted[name], at.Of(raw)...)
	}
	return wanted
}

// share gives the edits that leave one backend its share of the resources and
// of the tasks.
func (j *modernJoin) share(filter wire.Span, uris []byte, tasks []wire.Edit) []wire.Edit {
	at := wire.Get(j.call.msg.Raw, filter, "resourceSubscriptions")
	if at.IsZero() {
		return tasks
	}
	return sorted(append(tasks, wire.Edit{Span: at, With: append(append([]byte{'['}, uris...), ']')}))
}

// listenAt listens at one backend.
func (j *modernJoin) listenAt(ctx context.Context, e *Entry, edits []wire.Edit, to *backendStream) error {
	line, err := j.relay.stateless(ctx, e, j.who, j.caps, false)
	if err != nil {
		return err
	}
	reply, err := line.Call(ctx, contract.Outgoing{Msg: j.call.msg, Edits: edits}, to)
	if err == nil && reply.Msg.Kind == wire.Failure {
		err = named(e.Backend.Name(), &contract.UpstreamError{Backend: e.Backend.Name(), Reply: reply})
	}
	return err
}

// subscription is one joined listen stream towards the client. Nothing is
// sent on it before its acknowledgement; its mutex keeps that order, and so is
// held while a message is handed to the stream.
type subscription struct {
	join    *modernJoin
	id      []byte
	changes *catalog.Debouncer

	mu      sync.Mutex
	waiting int // backends that have not said yet what they honour
	acked   map[string]bool
	honours [][]byte // their acknowledgements
	open    bool
	held    [][]byte
}

// heard records a backend's acknowledgement, or that none will come.
func (s *subscription) heard(backend string, ack []byte) {
	s.mu.Lock()
	if !s.acked[backend] {
		s.acked[backend] = true
		s.waiting--
		if ack != nil {
			s.honours = append(s.honours, append([]byte(nil), ack...))
		}
	}
	all := s.waiting == 0
	s.mu.Unlock()
	if all {
		s.acknowledge()
	}
}

// acknowledge tells the client what the backends together honour, once.
func (s *subscription) acknowledge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return
	}
	s.open = true
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`...)
	b = append(b, s.id...)
	b = append(b, `},"notifications":`...)
	b = append(b, unionOf(s.honours)...)
	b = append(b, `}}`...)
	s.join.call.peer.Notify(b)
	for _, msg := range s.held {
		s.join.call.peer.Notify(msg)
	}
	s.held = nil
}

// unionOf joins what several backends honour into one filter.
func unionOf(filters [][]byte) []byte {
	b := []byte{'{'}
	sep := func() {
		if len(b) > 1 {
			b = append(b, ',')
		}
	}
	for _, key := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
		for _, f := range filters {
			if string(wire.Get(f, wire.Whole(f), key).Of(f)) == "true" {
				sep()
				b = append(append(append(b, '"'), key...), `":true`...)
				break
			}
		}
	}
	for _, key := range []string{"resourceSubscriptions", "taskIds"} {
		var items []byte
		for _, f := range filters {
			for at := range wire.Elements(f, wire.Get(f, wire.Whole(f), key)) {
				if len(items) > 0 {
					items = append(items, ',')
				}
				items = append(items, at.Of(f)...)
			}
		}
		if len(items) > 0 {
			sep()
			b = append(append(append(append(append(b, '"'), key...), `":[`...), items...), ']')
		}
	}
	return append(b, '}')
}

// send passes a notification on, after the acknowledgement.
func (s *subscription) send(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.join.call.peer.Notify(msg)
		return
	}
	if len(s.held) < maxHeld {
		s.held = append(s.held, append([]byte(nil), msg...))
	}
}

func (s *subscription) tellChanged(l catalog.List) {
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":`...)
	b = wire.AppendString(b, l.Changed())
	b = append(b, `,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`...)
	b = append(b, s.id...)
	s.send(append(b, `}}}`...))
}

// backendStream is the sink of one backend's share of a subscription.
type backendStream struct {
	*subscription
	backend string
	tasks   known // those of this backend
}

func (s *backendStream) Notify(msg *wire.Message) {
	if msg = s.join.told(s.backend, s.tasks, msg); msg == nil {
		return
	}
	method := msg.Method()
	if method == "notifications/subscriptions/acknowledged" {
		s.heard(s.backend, wire.Get(msg.Raw, msg.Params, "notifications").Of(msg.Raw))
		return
	}
	if l := catalog.ByChanged(method); l != 0 {
		s.join.relay.catalog.Forget(s.backend, l)
		s.changes.Changed(l)
		return
	}
	s.send(msg.Raw)
}

func (s *backendStream) Question(q *contract.Question) {
	asker{relay: s.join.relay, backend: s.backend}.refuse(q, ask.Errorf(ask.NoClient, "No client is available: the modern era has no questions on a subscription."))
}
