package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire/sse"
)

// endpointTime bounds how long a server may take to name its endpoint.
const endpointTime = 10 * time.Second

// oldStream is the one event stream of a session over HTTP+SSE, and the
// endpoint that takes what goes the other way.
type oldStream struct {
	backend  *Backend
	door     door.Door
	endpoint *url.URL
	header   atomic.Pointer[http.Header]
	resp     *http.Response
	reader   *sse.Reader
	hold     *budget.Hold // what the reader takes
	cancel   context.CancelFunc
	life     context.Context
}

// openOld performs the handshake over the transport of 2024-11-05.
func (b *Backend) openOld(ctx context.Context, hello contract.Hello) (contract.Line, error) {
	s, err := b.dialOld(ctx, hello.Principal)
	if err != nil {
		return nil, err
	}
	l := &duplexLine{duplex: duplex{board: newBoard(b, hello.Events), status: http.StatusOK}, backend: b}
	l.board.send = s.send
	l.hangup = func(context.Context) { s.cancel() }
	l.crew.spawn(func() {
		err := s.read(l.board)
		l.die(l, b, ask.Wrap(ask.BackendLost, fmt.Sprintf("Backend %s closed its event stream, and with it the session.", l.name), err))
	})
	version, err := l.handshake(ctx, hello)
	if err != nil {
		l.Close(ctx)
		return nil, err
	}
	header := with(b.headers().post, era.VersionHeader, version)
	s.header.Store(&header)
	return l, nil
}

// dialOld opens the event stream and waits for the endpoint event.
func (b *Backend) dialOld(ctx context.Context, who ask.Principal) (*oldStream, error) {
	life, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(endpointTime, cancel)
	stop := context.AfterFunc(ctx, cancel)
	s := &oldStream{backend: b, door: b.door(who), life: life, cancel: cancel}
	s.header.Store(&b.headers().post)
	err := s.connect()
	if !timer.Stop() || !stop() {
		err = errors.Join(errors.New("no endpoint event in time"), err)
	}
	if err == nil {
		return s, nil
	}
	cancel()
	if s.resp != nil {
		s.resp.Body.Close()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return nil, e
	}
	return nil, unreachable(b.cfg.Name, "it opened no event stream of the HTTP+SSE transport; check that it runs and that its url is right", err)
}

func (s *oldStream) connect() error {
	b := s.backend
	resp, err := get(s.life, s.door, http.MethodGet, b.url, b.headers().get)
	if err != nil {
		return err
	}
	s.resp = resp
	switch {
	case resp.StatusCode != http.StatusOK:
		return badStatus(b.cfg.Name, "", resp.StatusCode, resp.Header.Get("Location"))
	case mediaType(resp.Header) != typeStream || encoded(resp.Header):
		return broken(b.cfg.Name, "a GET was not answered with an event stream", nil)
	}
	s.hold = b.held()
	s.reader = newReader(s.life, resp.Body, b.cfg.Limits.MessageBytes, s.hold)
	for range 100 {
		ev, err := s.reader.Next()
		if err != nil {
			return err
		}
		if ev.Name == "endpoint" {
			return s.target(string(ev.Data))
		}
	}
	return broken(b.cfg.Name, "its event stream names no endpoint", nil)
}

// target takes the endpoint that the server names, on its own origin only:
// else a server could have our credentials sent anywhere.
func (s *oldStream) target(ref string) error {
	base := s.backend.url
	u, err := base.Parse(ref)
	if err != nil || len(ref) > 8192 || u.User != nil || u.Scheme != base.Scheme || u.Host != base.Host {
		return broken(s.backend.cfg.Name, "it names an endpoint on another origin than its url", err)
	}
	s.endpoint = u
	return nil
}

// read brings the events to the board until the stream ends.
func (s *oldStream) read(b *board) error {
	defer s.resp.Body.Close()
	defer s.cancel()
	defer s.hold.Release()
	t := &talk{board: b}
	for {
		ev, err := s.reader.Next()
		if err != nil {
			if head := s.reader.Partial(); head != nil {
				t.cut(head[:min(len(head), salvageHead)], errTooLarge)
			}
			return err
		}
		if len(ev.Data) > 0 && (ev.Name == "" || ev.Name == "message") {
			b.inbound(ev.Data, nil, "")
		}
	}
}

// send posts one message. Whatever it causes comes on the event stream.
func (s *oldStream) send(ctx context.Context, msg []byte) error {
	name := s.backend.cfg.Name
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	resp, sent, err := post(ctx, s.door, s.endpoint, *s.header.Load(), msg)
	if err != nil {
		return failedToSend(name, "", sent, err)
	}
	return acknowledged(name, resp)
}
