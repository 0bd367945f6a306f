package a2a

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2alog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/wire"
)

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
	// maxStream is how many times the limit of one message a stream may bring.
	maxStream = 16
)

// agent is the way to the agent for one call.
type agent struct {
	*a2aclient.Client
	tap *tap
}

// dial makes the way to the agent for one person's call. It connects to
// nothing.
func (b *Backend) dial(ctx context.Context, c *card, by door.Door) (agent, error) {
	t := &tap{b: b, by: by, rest: c.way.ProtocolBinding == a2a.TransportProtocolHTTPJSON, forms: c.forms}
	client := *b.cfg.Client
	client.Transport = t
	cl, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{c.way},
		a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(&client), a2aclient.WithRESTTransport(&client))
	if err != nil {
		return agent{}, b.broken("its agent card names no interface that can be spoken", err)
	}
	return agent{cl, t}, nil
}

// quiet keeps the library from logging: what it would say may hold an agent's
// words, and comes back as an error.
func quiet(ctx context.Context) context.Context {
	return a2alog.AttachLogger(ctx, slog.New(slog.DiscardHandler))
}

// tap is between the A2A client of one call and the network: it adds headers
// and credentials, bounds what comes back, and knows whether a request left.
type tap struct {
	b     *Backend
	by    door.Door
	rest  bool
	forms bool
	sent  atomic.Bool // of the last request

	mu   sync.Mutex
	used door.Authorization // what the last request was authorized with
}

// RoundTrip sends one request.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	t.sent.Store(false)
	out := req.WithContext(req.Context())
	out.Header = req.Header.Clone()
	for k, v := range t.b.header() {
		out.Header[k] = v
	}
	if t.forms {
		out.Header.Set(a2a.SvcParamExtensions, Forms)
	}
	t.note(out)
	resp, used, err := t.by.Send(out)
	t.mu.Lock()
	t.used = used
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := t.check(req, resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// authorization is what the last request was authorized with.
func (t *tap) authorization() door.Authorization {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used
}

// note has it noted when somebody begins to read the body: while nobody did,
// the agent has not seen the request.
func (t *tap) note(req *http.Request) {
	if req.Body == nil {
		return
	}
	req.Body = &noted{req.Body, &t.sent}
	if open := req.GetBody; open != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := open()
			return &noted{body, &t.sent}, err
		}
	}
}

type noted struct {
	io.ReadCloser
	begun *atomic.Bool
}

func (n *noted) Read(p []byte) (int, error) {
	n.begun.Store(true)
	return n.ReadCloser.Read(p)
}

// check refuses a response that the client should not read, and bounds the
// others.
func (t *tap) check(req *http.Request, resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK && !(t.rest && kind == typeJSON && explains(resp.StatusCode)) {
		return &badStatus{resp.StatusCode, resp.Header.Get("Location")}
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return t.b.broken("a compressed body that nobody asked for", nil)
	}
	limit := t.b.cfg.Limits.MessageBytes
	streams := req.Header.Get("Accept") == typeStream
	switch {
	case streams && kind == typeStream:
		limit *= maxStream
	case streams && kind == typeJSON && resp.StatusCode == http.StatusOK:
		return t.asEvent(req.Context(), resp)
	case kind != typeJSON:
		return t.b.broken("a body of type "+clip(kind, 100), nil)
	}
	resp.Body = t.bounded(req.Context(), resp.Body, limit)
	return nil
}

// explains reports whether the agent itself says by a status what is wrong, in
// HTTP+JSON, and not something in between.
func explains(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status <= http.StatusInternalServerError
}

// asEvent makes a JSON body the one event of a stream: an agent may refuse
// with it what was to be a stream.
func (t *tap) asEvent(ctx context.Context, resp *http.Response) error {
	body := t.bounded(ctx, resp.Body, t.b.cfg.Limits.MessageBytes)
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if _, err := wire.Value(raw); err != nil {
		return err
	}
	event := append(wire.Compact([]byte("data: "), raw), "\n\n"...)
	resp.Body = io.NopCloser(bytes.NewReader(event))
	return nil
}

// bounded is a body of at most so many bytes. The memory for them is taken as
// they come, for no more than one message, and let go when the body is closed.
type bounded struct {
	io.ReadCloser
	left int
	b    *Backend
	ctx  context.Context
	hold *budget.Hold
}

func (t *tap) bounded(ctx context.Context, body io.ReadCloser, limit int) *bounded {
	return &bounded{ReadCloser: body, left: limit, b: t.b, ctx: ctx, hold: t.b.cfg.Budget.Hold(budget.Holder{"backend", t.b.cfg.Name})}
}

func (r *bounded) Read(p []byte) (int, error) {
	if r.left <= 0 {
		var one [1]byte
		if n, err := r.ReadCloser.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, r.b.tooLarge()
	}
	n, err := r.ReadCloser.Read(p[:min(len(p), r.left)])
	r.left -= n
	// A stream is read event by event, none of which is larger than a message.
	if more := min(2*int64(n), 2*int64(r.b.cfg.Limits.MessageBytes)-r.hold.Bytes()); more > 0 {
		if full := r.hold.Wait(r.ctx, more); full != nil {
			return 0, full
		}
	}
	return n, err
}

func (r *bounded) Close() error {
	r.hold.Shrink(r.hold.Bytes())
	return r.ReadCloser.Close()
}
