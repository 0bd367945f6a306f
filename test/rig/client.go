package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

// AllCaps is a client that can be asked everything.
const AllCaps = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}`

// Client is a client that writes and reads raw messages. It is of the legacy
// era when it has a session.
type Client struct {
	URL     string
	Session string
	Version string
	Welcome wire.Message // the initialize response
	// Meta is what modern requests have in their _meta beside what the era
	// demands: raw members without braces.
	Meta string
	// Token is shown as a bearer token, if there is one.
	Token string
	// Name is what a legacy client calls itself.
	Name string

	t    testing.TB
	http *http.Client
	ids  atomic.Int64
}

// NewClient makes a client without a session: a modern one, or one that has
// yet to initialize.
func NewClient(t testing.TB, url string) *Client {
	return &Client{URL: url, Name: "rig", t: t, http: httpClient(t)}
}

// Dial opens a legacy session at the newest legacy version.
func Dial(t testing.TB, url, caps string) *Client {
	return DialVersion(t, url, caps, "2025-11-25")
}

// DialVersion opens a legacy session.
func DialVersion(t testing.TB, url, caps, version string) *Client {
	t.Helper()
	c := NewClient(t, url)
	c.Open(caps, version)
	return c
}

// DialAs opens a legacy session at the newest legacy version for whoever has
// the token.
func DialAs(t testing.TB, url, caps, token string) *Client {
	t.Helper()
	c := NewClient(t, url)
	c.Token = token
	c.Open(caps, "2025-11-25")
	return c
}

// Open opens a legacy session for a client that has none, and ends it with
// the test.
func (c *Client) Open(caps, version string) {
	c.t.Helper()
	s := c.Start(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + caps + `,"clientInfo":{"name":"` + c.Name + `","version":"1"}}}`)
	c.Welcome = s.Next()
	if c.Welcome.Kind != wire.Result {
		c.t.Fatalf("initialize failed: %s", c.Welcome.Raw)
	}
	c.Session = s.Header.Get("Mcp-Session-Id")
	c.Version, _ = wire.Unquote(wire.Get(c.Welcome.Raw, c.Welcome.Result, "protocolVersion").Of(c.Welcome.Raw))
	if status := c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
		c.t.Fatalf("initialized was answered with %d", status)
	}
	c.t.Cleanup(func() { _ = c.end() })
}

// Close ends the session.
func (c *Client) Close() {
	c.t.Helper()
	if err := c.end(); err != nil {
		c.t.Fatal(err)
	}
	c.http.CloseIdleConnections()
}

func (c *Client) end() error {
	req, err := http.NewRequest(http.MethodDelete, c.URL, nil)
	if err != nil {
		return err
	}
	c.head(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// ID makes a new request id.
func (c *Client) ID() string { return fmt.Sprint(c.ids.Add(1)) }

// Tool starts a tools/call with raw arguments.
func (c *Client) Tool(name, args string) *Stream {
	c.t.Helper()
	return c.Start(`{"jsonrpc":"2.0","id":` + c.ID() + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`)
}

// Request sends a request and gives its response, passing over what comes
// before it.
func (c *Client) Request(method, params string) wire.Message {
	c.t.Helper()
	s := c.Start(`{"jsonrpc":"2.0","id":` + c.ID() + `,"method":"` + method + `","params":` + params + `}`)
	return s.Final()
}

// Modern sends a modern request: params get the _meta that the era demands,
// headers what the body says.
func (c *Client) Modern(id, method, params, caps string) *Stream {
	c.t.Helper()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rig","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + caps
	if c.Meta != "" {
		meta += "," + c.Meta
	}
	meta += "}"
	params = strings.TrimSpace(params)
	if params == "{}" {
		params = "{" + meta + "}"
	} else {
		params = "{" + meta + "," + params[1:]
	}
	raw := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
	req := c.post(raw)
	req.Header.Set("MCP-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", method)
	var body struct {
		Params struct{ Name, URI, TaskID string }
	}
	if err := json.Unmarshal([]byte(raw), &body); err != nil {
		c.t.Fatalf("bad request %s: %v", raw, err)
	}
	if name := body.Params.Name + body.Params.URI + body.Params.TaskID; name != "" {
		req.Header.Set("Mcp-Name", name)
	}
	return c.do(req)
}

// Send posts a notification or a response and gives the HTTP status.
func (c *Client) Send(raw string) int {
	c.t.Helper()
	resp, err := c.http.Do(c.post(raw))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// Post posts a body and gives the whole response as it stands.
func (c *Client) Post(raw string) (status int, body string) {
	c.t.Helper()
	resp, err := c.http.Do(c.post(raw))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// Answer posts the result for a question.
func (c *Client) Answer(q wire.Message, result string) {
	c.t.Helper()
	if status := c.Send(`{"jsonrpc":"2.0","id":` + string(q.Field(q.ID)) + `,"result":` + result + `}`); status != http.StatusAccepted {
		c.t.Fatalf("the answer got status %d", status)
	}
}

// Start posts a request and gives what comes back.
func (c *Client) Start(raw string) *Stream {
	c.t.Helper()
	return c.do(c.post(raw))
}

// Listen opens the session's own stream; last is the Last-Event-ID or "".
func (c *Client) Listen(last string) *Stream {
	c.t.Helper()
	req, err := http.NewRequest(http.MethodGet, c.URL, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.head(req)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	return c.do(req)
}

func (c *Client) post(raw string) *http.Request {
	req, err := http.NewRequest(http.MethodPost, c.URL, strings.NewReader(raw))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	c.head(req)
	return req
}

func (c *Client) head(req *http.Request) {
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Session != "" {
		req.Header.Set("Mcp-Session-Id", c.Session)
		req.Header.Set("MCP-Protocol-Version", c.Version)
	}
}

func (c *Client) do(req *http.Request) *Stream {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		cancel()
		c.t.Fatal(err)
	}
	s := &Stream{Status: resp.StatusCode, Header: resp.Header, t: c.t, cancel: cancel, events: make(chan event, 64)}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	s.SSE = kind == "text/event-stream"
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer resp.Body.Close()
		defer close(s.events)
		s.read(resp.Body)
	}()
	c.t.Cleanup(func() { cancel(); <-done })
	return s
}

type event struct {
	id  string
	msg wire.Message
	err error
}

// Stream is the response to one request: one JSON message, or events.
type Stream struct {
	Status  int
	Header  http.Header
	SSE     bool
	LastID  string // of the last event that Next gave or passed over
	FirstID string // of the first

	t      testing.TB
	cancel context.CancelFunc
	events chan event
}

func (s *Stream) read(body io.Reader) {
	if !s.SSE {
		raw, err := io.ReadAll(body)
		if err != nil || len(bytes.TrimSpace(raw)) == 0 {
			return
		}
		msg, err := wire.Scan(raw, wire.Limits{})
		s.events <- event{msg: msg, err: err}
		return
	}
	r := sse.NewReader(body, wire.DefaultMaxBytes)
	for {
		ev, err := r.Next()
		if err != nil {
			return
		}
		if len(ev.Data) == 0 {
			s.events <- event{id: ev.ID}
			continue
		}
		msg, err := wire.Scan(bytes.Clone(ev.Data), wire.Limits{})
		s.events <- event{id: ev.ID, msg: msg, err: err}
	}
}

// Next gives the next message; it fails the test when none comes.
func (s *Stream) Next() wire.Message {
	s.t.Helper()
	msg, ok := s.Poll(Patience)
	if !ok {
		s.t.Fatalf("no further message came (status %d)", s.Status)
	}
	return msg
}

// Poll gives the next message, or false when the stream ended or nothing came
// in time.
func (s *Stream) Poll(wait time.Duration) (wire.Message, bool) {
	s.t.Helper()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case ev, ok := <-s.events:
			if !ok {
				return wire.Message{}, false
			}
			if ev.err != nil {
				s.t.Fatalf("an unreadable message came: %v", ev.err)
			}
			if ev.id != "" {
				s.LastID = ev.id
				if s.FirstID == "" {
					s.FirstID = ev.id
				}
			}
			if ev.msg.Kind == 0 {
				continue
			}
			return ev.msg, true
		case <-timer.C:
			return wire.Message{}, false
		}
	}
}

// Final gives the response at the end, passing over notifications.
func (s *Stream) Final() wire.Message {
	s.t.Helper()
	for {
		if msg := s.Next(); msg.Kind == wire.Result || msg.Kind == wire.Failure {
			return msg
		}
	}
}

// Ended waits for the end of the stream and fails when another message comes.
func (s *Stream) Ended() {
	s.t.Helper()
	if msg, ok := s.Poll(Patience); ok {
		s.t.Fatalf("a message came where none was due: %s", msg.Raw)
	}
}

// Drop breaks the connection, as a client that vanishes does.
func (s *Stream) Drop() { s.cancel() }
