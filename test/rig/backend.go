package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

// Script is what a backend does with one request.
type Script func(c *Call)

// Backend is an MCP server over HTTP whose every byte the test decides. It
// serves both eras: a request with a session is legacy.
type Backend struct {
	URL string
	// Capabilities is what initialize answers; set it before the first use.
	Capabilities string
	// LegacyOnly and ModernOnly make it a server of one era. Set them before
	// the first use.
	LegacyOnly, ModernOnly bool
	// Resume serves a GET with a Last-Event-ID; the Call has no message. Set
	// it before the first use.
	Resume func(last string, c *Call)

	t       testing.TB
	server  *httptest.Server
	scripts map[string]Script

	ids      atomic.Int64
	mu       sync.Mutex
	sessions int
	lost     int // sessions up to this one are forgotten
	received []Received
	waiting  map[string]chan wire.Message // answers by the key of the question's id
	news     chan struct{}                // closed and replaced when something arrives
	streams  map[string]chan []byte       // GET streams by session
}

// Received is one message as it reached the backend.
type Received struct {
	Raw    string
	Msg    wire.Message
	Header http.Header
}

// NewBackend starts a backend. Scripts are found by "method name" or "method".
func NewBackend(t testing.TB, scripts map[string]Script) *Backend {
	b := &Backend{
		t: t, scripts: scripts, Capabilities: `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}}`,
		waiting: make(map[string]chan wire.Message), news: make(chan struct{}), streams: make(map[string]chan []byte),
	}
	b.server = httptest.NewServer(b)
	b.URL = b.server.URL + "/mcp"
	t.Cleanup(func() {
		b.server.CloseClientConnections()
		b.server.Close()
	})
	return b
}

// Kill breaks all connections and listens no more.
func (b *Backend) Kill() {
	b.server.Listener.Close()
	b.server.CloseClientConnections()
}

func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.forgot(r.Header.Get("Mcp-Session-Id")) {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodGet:
		if last := r.Header.Get("Last-Event-ID"); last != "" && b.Resume != nil {
			b.Resume(last, &Call{Session: r.Header.Get("Mcp-Session-Id"), Header: r.Header, Context: r.Context(), backend: b, w: w})
			return
		}
		b.listen(w, r)
		return
	case http.MethodDelete:
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	msg, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		b.t.Errorf("the gateway sent an unreadable message: %v: %s", err, raw)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.record(Received{Raw: string(raw), Msg: msg, Header: r.Header.Clone()})
	if msg.Kind != wire.Request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if msg.Method() == "initialize" && !b.ModernOnly {
		b.initialize(w, &msg)
		return
	}
	c := &Call{Msg: &msg, Session: r.Header.Get("Mcp-Session-Id"), Header: r.Header, Context: r.Context(), backend: b, w: w}
	script := b.scripts[msg.Method()+" "+msg.Text(msg.Name)+msg.Text(msg.URI)]
	if script == nil {
		script = b.scripts[msg.Method()]
	}
	if script == nil && msg.Method() == "server/discover" && !b.LegacyOnly {
		c.Result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + b.Capabilities + `,"ttlMs":0,"cacheScope":"private"}`)
		return
	}
	if script == nil {
		c.Error(`{"code":-32601,"message":"no script"}`)
		return
	}
	script(c)
}

// Forget makes the backend know none of its sessions so far.
func (b *Backend) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = b.sessions
}

func (b *Backend) forgot(session string) bool {
	var n int
	if _, err := fmt.Sscanf(session, sessionName, &n); err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return n <= b.lost
}

const sessionName = "backend-session-%d"

func (b *Backend) record(r Received) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.received = append(b.received, r)
	close(b.news)
	b.news = make(chan struct{})
	if r.Msg.Kind == wire.Result || r.Msg.Kind == wire.Failure {
		key := wire.IDKey(r.Msg.Field(r.Msg.ID))
		if ch := b.waiting[key]; ch != nil {
			ch <- r.Msg
			delete(b.waiting, key)
		}
	}
}

func (b *Backend) initialize(w http.ResponseWriter, msg *wire.Message) {
	b.mu.Lock()
	b.sessions++
	session := fmt.Sprintf(sessionName, b.sessions)
	b.mu.Unlock()
	w.Header().Set("Mcp-Session-Id", session)
	w.Header().Set("Content-Type", "application/json")
	version := wire.Get(msg.Raw, msg.Params, "protocolVersion").Of(msg.Raw)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%s,"capabilities":%s,"serverInfo":{"name":"rig","version":"1"}}}`,
		msg.Field(msg.ID), version, b.Capabilities)
}

// listen serves the GET stream of a session.
func (b *Backend) listen(w http.ResponseWriter, r *http.Request) {
	ch := make(chan []byte, 16)
	session := r.Header.Get("Mcp-Session-Id")
	b.mu.Lock()
	b.streams[session] = ch
	close(b.news)
	b.news = make(chan struct{})
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.streams[session] == ch {
			delete(b.streams, session)
			close(b.news)
			b.news = make(chan struct{})
		}
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	flush.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case msg := <-ch:
			w.Write(sse.Append(nil, "", "", msg))
			flush.Flush()
		}
	}
}

// Push sends a message on the GET stream of the only session that has one,
// waiting for it to be open.
func (b *Backend) Push(raw string) {
	b.t.Helper()
	b.wait(func() bool {
		if len(b.streams) != 1 {
			return false
		}
		for _, ch := range b.streams {
			ch <- []byte(raw)
		}
		return true
	}, "the gateway did not open one stream")
}

// wait waits until found, which runs under the backend's lock, says true.
func (b *Backend) wait(found func() bool, otherwise string) {
	b.t.Helper()
	deadline := time.After(Patience)
	for {
		b.mu.Lock()
		ok, news := found(), b.news
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-deadline:
			b.t.Fatal(otherwise)
		}
	}
}

// Received gives every message so far that match accepts.
func (b *Backend) Received(match func(Received) bool) []Received {
	b.mu.Lock()
	defer b.mu.Unlock()
	var some []Received
	for _, r := range b.received {
		if match(r) {
			some = append(some, r)
		}
	}
	return some
}

// Await waits for the first message of a method.
func (b *Backend) Await(method string) Received {
	b.t.Helper()
	var first Received
	b.wait(func() bool {
		for _, r := range b.received {
			if r.Msg.Method() == method {
				first = r
				return true
			}
		}
		return false
	}, "the backend never received "+method)
	return first
}

// Count counts the messages of a method so far.
func (b *Backend) Count(method string) int {
	return len(b.Received(func(r Received) bool { return r.Msg.Method() == method }))
}

// Call is one request at the backend, being answered by its script.
type Call struct {
	Msg     *wire.Message
	Session string
	Header  http.Header
	Context context.Context // ends when the gateway closes the request

	backend *Backend
	w       http.ResponseWriter
	stream  bool
}

// ID makes a new id for a question of this backend.
func (c *Call) ID() string { return fmt.Sprint(c.backend.ids.Add(1)) }

// Send sends a message on the call's own stream.
func (c *Call) Send(raw string) { c.SendEvent("", raw) }

// SendEvent sends a message under an event id.
func (c *Call) SendEvent(id, raw string) {
	if !c.stream {
		c.stream = true
		c.w.Header().Set("Content-Type", "text/event-stream")
	}
	c.w.Write(sse.Append(nil, id, "", []byte(raw)))
	http.NewResponseController(c.w).Flush()
}

// Ask sends a question on the call's stream and waits for the answer.
func (c *Call) Ask(id, method, params string) wire.Message {
	answer := c.Expect(id)
	c.Send(question(id, method, params))
	return c.Take(answer)
}

// Expect prepares for the answer to a question with the raw id.
func (c *Call) Expect(id string) <-chan wire.Message {
	ch := make(chan wire.Message, 1)
	c.backend.mu.Lock()
	c.backend.waiting[wire.IDKey([]byte(id))] = ch
	c.backend.mu.Unlock()
	return ch
}

// Take waits for an answer; the zero Message means that none came.
func (c *Call) Take(answer <-chan wire.Message) wire.Message {
	select {
	case m := <-answer:
		return m
	case <-c.Context.Done():
		// What came before the end still counts.
		select {
		case m := <-answer:
			return m
		default:
			return wire.Message{}
		}
	case <-time.After(Patience):
		c.backend.t.Error("the backend's question was not answered")
		return wire.Message{}
	}
}

func question(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

// Result ends the call with a raw result.
func (c *Call) Result(raw string) {
	c.final(`{"jsonrpc":"2.0","id":` + string(c.Msg.Field(c.Msg.ID)) + `,"result":` + raw + `}`)
}

// Error ends the call with a raw error object.
func (c *Call) Error(raw string) {
	c.final(`{"jsonrpc":"2.0","id":` + string(c.Msg.Field(c.Msg.ID)) + `,"error":` + raw + `}`)
}

func (c *Call) final(raw string) {
	if c.stream {
		c.Send(raw)
		return
	}
	c.w.Header().Set("Content-Type", "application/json")
	io.Copy(c.w, bytes.NewReader([]byte(raw)))
}

// Raw writes to the connection as it stands, for what no honest server sends.
func (c *Call) Raw() http.ResponseWriter { return c.w }
