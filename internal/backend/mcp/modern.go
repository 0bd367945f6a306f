package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// modernLine is the stateless endpoint of a server: every request has its own
// exchange over HTTP, so that ids and tokens pass as the client wrote them.
type modernLine struct {
	backend *Backend
	life    context.Context // ends with the backend
	kill    context.CancelCauseFunc
	crew    crew
	noise   limiter
}

var _ contract.Line = (*modernLine)(nil)

func newModernLine(b *Backend) *modernLine {
	l := &modernLine{backend: b}
	l.life, l.kill = context.WithCancelCause(context.Background())
	return l
}

func (l *modernLine) Welcome() wire.Message { return wire.Message{} }

func (l *modernLine) Done() <-chan struct{} { return l.life.Done() }

func (l *modernLine) Listen() {}

// Close does nothing: the line is shared and lives as long as its backend.
func (l *modernLine) Close(context.Context) {}

func (l *modernLine) shut(ctx context.Context) {
	l.kill(l.backend.shut())
	l.crew.dismiss(ctx)
}

func (l *modernLine) name() string { return l.backend.cfg.Name }

func (l *modernLine) limit() int { return l.backend.cfg.Limits.MessageBytes }

func (l *modernLine) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	return l.call(ctx, l.backend.door(ask.Principal{}), &out, sink)
}

func (l *modernLine) call(ctx context.Context, by door.Door, out *contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	body, header, err := l.request(out)
	if err != nil {
		return contract.Reply{}, err
	}
	// A caller that leaves after the final response must not keep the
	// connection from being used again; one that leaves before cancels.
	rctx, cancel := context.WithCancel(l.life)
	stop := context.AfterFunc(ctx, cancel)
	hold := l.backend.held()
	defer passOn(hold, budget.From(ctx))
	reply, err := l.exchange(rctx, cancel, by, out.Msg.Method(), header, body, sink, hold)
	switch {
	case !stop() && ctx.Err() != nil:
		return contract.Reply{}, context.Cause(ctx)
	case err == nil:
		return reply, nil
	case l.life.Err() != nil:
		err = inFlight(l.name(), out.Msg.Method(), l.backend.shut())
	}
	cancel()
	return reply, err
}

// request gives the body and the headers of a request.
func (l *modernLine) request(out *contract.Outgoing) ([]byte, http.Header, error) {
	m := out.Msg
	body := m.Raw
	version := m.Text(m.MetaVersion)
	if len(out.Edits) > 0 {
		body = wire.Splice(make([]byte, 0, grown(m.Raw, out.Edits)), m.Raw, out.Edits...)
		if version == "" || covered(out.Edits, m.MetaVersion) {
			// The header must say what the body says.
			edited, err := wire.Scan(body, wire.Limits{Bytes: len(body)})
			if err != nil {
				return nil, nil, ask.Wrap(ask.Internal, "A request could not be rewritten.", err)
			}
			version = edited.Text(edited.MetaVersion)
		}
	}
	if version == "" {
		version = era.Latest
	}
	header := with(l.backend.headers().post)
	era.SetHeaders(header, m, version, out.Name)
	for k, v := range out.Params {
		header[k] = v
	}
	return body, header, nil
}

func (l *modernLine) exchange(ctx context.Context, cancel func(), by door.Door, method string, header http.Header, body []byte, sink contract.Sink, hold *budget.Hold) (contract.Reply, error) {
	resp, sent, err := post(ctx, by, l.backend.url, header, body)
	if err != nil {
		return contract.Reply{}, failedToSend(l.name(), method, sent, err)
	}
	kind := mediaType(resp.Header)
	switch {
	case resp.StatusCode != http.StatusOK:
		defer cancel()
		defer resp.Body.Close()
		if m, ok := readFault(resp, l.limit()); ok {
			return contract.Reply{Msg: m, Status: resp.StatusCode}, nil
		}
		return contract.Reply{}, badStatus(l.name(), method, resp.StatusCode, resp.Header.Get("Location"))
	case encoded(resp.Header):
		err = broken(l.name(), "a compressed body that nobody asked for", nil)
	case kind == typeJSON:
		defer cancel()
		return l.single(ctx, resp, method, hold)
	case kind == typeStream:
		return l.follow(ctx, resp, cancel, method, sink, hold)
	default:
		err = broken(l.name(), fmt.Sprintf("a body of type %q; check that the url is its MCP endpoint", kind), nil)
	}
	resp.Body.Close()
	return contract.Reply{}, err
}

// single reads a response that is one JSON body.
func (l *modernLine) single(ctx context.Context, resp *http.Response, method string, hold *budget.Hold) (contract.Reply, error) {
	defer resp.Body.Close()
	body, err := readAll(resp, l.limit(), growing(ctx, hold))
	if errors.Is(err, errTooLarge) {
		return contract.Reply{}, tooLarge(l.name(), l.limit())
	}
	if budget.IsFull(err) {
		return contract.Reply{}, noRoom(l.name(), err)
	}
	if err != nil {
		return contract.Reply{}, lost(l.name(), method, "its response broke off", err)
	}
	m, err := wire.Scan(body, wire.Limits{Bytes: l.limit()})
	if err != nil || (m.Kind != wire.Result && m.Kind != wire.Failure) {
		return contract.Reply{}, broken(l.name(), "a JSON body that is no response", err)
	}
	return contract.Reply{Msg: m, Status: resp.StatusCode}, nil
}

// follow reads the stream of one request. It cannot be resumed.
func (l *modernLine) follow(ctx context.Context, resp *http.Response, cancel func(), method string, sink contract.Sink, hold *budget.Hold) (contract.Reply, error) {
	body := &tail{ReadCloser: resp.Body}
	r := newReader(ctx, body, l.limit(), hold)
	for {
		ev, err := r.Next()
		if err != nil {
			resp.Body.Close()
			switch {
			case ask.CodeOf(err) == ask.TooLarge:
				return contract.Reply{Event: true}, tooLarge(l.name(), l.limit())
			case budget.IsFull(err):
				return contract.Reply{Event: true}, noRoom(l.name(), err)
			}
			return contract.Reply{Event: true}, lost(l.name(), method, "its stream ended without a response", err)
		}
		if len(ev.Data) == 0 || (ev.Name != "" && ev.Name != "message") {
			continue
		}
		m, err := wire.Scan(ev.Data, wire.Limits{Bytes: l.limit()})
		switch {
		case err != nil || m.Kind == wire.Request:
			if l.noise.allow() {
				l.backend.log.Warn("message on a modern stream skipped", "kind", m.Kind, "err", err)
			}
		case m.Kind == wire.Notification:
			sink.Notify(&m)
		default:
			if body.eof || !l.crew.spawn(func() { drain(body, cancel) }) {
				resp.Body.Close()
				cancel()
			}
			return contract.Reply{Msg: m, Status: resp.StatusCode, Event: true}, nil
		}
	}
}

// Notify posts a notification.
func (l *modernLine) Notify(ctx context.Context, msg []byte) error {
	return l.notify(ctx, l.backend.door(ask.Principal{}), msg)
}

func (l *modernLine) notify(ctx context.Context, by door.Door, msg []byte) error {
	resp, sent, err := post(ctx, by, l.backend.url, with(l.backend.headers().post, era.VersionHeader, era.Latest), msg)
	if err != nil {
		return failedToSend(l.name(), "", sent, err)
	}
	return acknowledged(l.name(), resp)
}

// personalLine is the endpoint for one person's requests.
type personalLine struct {
	*modernLine
	door door.Door
}

// Call sends a request with what its sender is authorized with.
func (l *personalLine) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	return l.call(ctx, l.door, &out, sink)
}

// Notify posts a notification with what its sender is authorized with.
func (l *personalLine) Notify(ctx context.Context, msg []byte) error {
	return l.notify(ctx, l.door, msg)
}
