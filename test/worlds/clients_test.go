//go:build worlds

package worlds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

// Kinds of clients.
const (
	formsClient  = "forms"  // legacy, shows forms
	linksClient  = "links"  // legacy, offers links
	muteClient   = "mute"   // legacy, shows nothing
	modernClient = "modern" // modern, shows forms
	eventsClient = "events" // a chat front end at the event stream
	agentClient  = "agent"  // an A2A client
)

// client is one client of a world. It makes up to four calls at once.
type client struct {
	number int
	kind   string
	solo   bool // it uses the endpoint of each backend alone
	owner  *person
	world  *world
	http   *http.Client

	mu       sync.Mutex
	sessions map[string]string // legacy sessions by endpoint
	ids      int
}

// call is one call of a client, seen from the client's side.
type call struct {
	n       int
	client  *client
	backend string
	args    string      // raw arguments
	own     chan string // what the client answers itself: a value, "decline" or "cancel the call"

	mu    sync.Mutex
	key   string // of the question that the client knows of; "" for none
	askID string // its id at the gateway, where that is known
	link  string // the page that the client was sent to
	told  bool   // it ended with the words to call again
	ended chan struct{}
}

const cancelCall = "cancel the call"

func (c *call) know(key, askID, link string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key, c.askID, c.link = key, askID, link
}

func (c *call) known() (key, askID, link string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key, c.askID, c.link
}

// tool is the name of the call's tool at the client's endpoint.
func (c *call) tool() string {
	name := "ask"
	if c.backend == keyedKind {
		name = "plain"
	}
	if c.client.solo {
		return name
	}
	return c.backend + "__" + name
}

// door is the path of an endpoint for this call.
func (c *call) door(root string) string {
	if c.client.solo {
		return root + "/" + c.backend
	}
	return root
}

// message is what a client reads of a JSON-RPC message.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Mode, Message, URL string
	}
	Result struct {
		ResultType    string
		RequestState  string
		IsError       bool
		Content       []struct{ Text string }
		InputRequests map[string]struct {
			Params struct{ Mode, Message, URL string }
		}
	}
	Error *struct {
		Code    int
		Message string
		Data    struct{ Reason string }
	}
}

func (m *message) final() bool { return m.Method == "" && len(m.ID) > 0 }

// outcome is what a call came to, in one line.
func (m *message) outcome() string {
	switch {
	case m.Error != nil:
		return fmt.Sprintf("error %d %s: %s", m.Error.Code, m.Error.Data.Reason, m.Error.Message)
	case m.Result.IsError && len(m.Result.Content) > 0:
		return "error: " + m.Result.Content[0].Text
	case len(m.Result.Content) > 0:
		return m.Result.Content[0].Text
	}
	return "nothing"
}

// statusError is a response without a message.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

var (
	questionKey = regexp.MustCompile(`Question (\d+\.\d+)`)
	pageLink    = regexp.MustCompile(`/asks/([A-Za-z0-9_-]+)`)
)

func keyIn(text string) string {
	if m := questionKey.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func idIn(text string) string {
	if m := pageLink.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// run makes a call and follows it to its end, through as many lives of the
// gateway as that takes.
func (c *call) run(ctx context.Context) {
	defer close(c.ended)
	var outcome string
	var err error
	switch c.client.kind {
	case modernClient:
		outcome, err = c.modern(ctx)
	case eventsClient:
		outcome, err = c.events(ctx)
	case agentClient:
		outcome, err = c.agent(ctx)
	default:
		outcome, err = c.legacy(ctx)
	}
	c.client.world.trace("call %d ended: %s %v", c.n, outcome, err)
	if err == nil && outcome != "" {
		c.client.world.book.result(c.n, outcome)
	}
	if strings.Contains(outcome, "duplicate in-flight request ID") {
		c.client.world.book.fault("lives: call %d was sent under a request id that was in use: %s", c.n, outcome)
	}
}

// own gives the client's own answer to its question, or nil when ctx ends.
func (w *world) newValue(key, from string) string {
	return fmt.Sprintf("%s:%s-%d-canary", key, from, w.values.Add(1))
}

func (c *client) request(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.world.site.base()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.owner.token())
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return c.http.Do(req)
}

// stream is what comes back for a request: events, or one message.
type stream struct {
	body io.Closer
	sse  *sse.Reader
	one  []byte
	last string // the id of the last event
}

func newStream(resp *http.Response, err error) (*stream, error) {
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return &stream{body: resp.Body, sse: sse.NewReader(resp.Body, wire.DefaultMaxBytes)}, nil
	}
	defer resp.Body.Close()
	one, err := io.ReadAll(resp.Body)
	if err == nil && (len(bytes.TrimSpace(one)) == 0 || resp.StatusCode == http.StatusNotFound) {
		err = statusError(resp.StatusCode)
	}
	return &stream{body: resp.Body, one: one}, err
}

// event gives the data of the next event, or the one message.
func (s *stream) event() ([]byte, error) {
	for {
		raw := s.one
		s.one = nil
		if s.sse != nil {
			ev, err := s.sse.Next()
			if err != nil {
				return nil, err
			}
			if ev.ID != "" {
				s.last = ev.ID
			}
			raw = ev.Data
		} else if raw == nil {
			return nil, io.EOF
		}
		if len(raw) > 0 {
			return raw, nil
		}
	}
}

// next gives the next message that is not a notification.
func (s *stream) next() (*message, error) {
	for {
		raw, err := s.event()
		if err != nil {
			return nil, err
		}
		m := &message{}
		if err := json.Unmarshal(raw, m); err != nil {
			return nil, err
		}
		if len(m.ID) > 0 {
			return m, nil
		}
	}
}

var capabilities = map[string]string{
	formsClient: `{"elicitation":{"form":{}}}`,
	linksClient: `{"elicitation":{"url":{}}}`,
	muteClient:  `{}`,
}

// session gives the legacy session at an endpoint, opening it where there is
// none.
func (c *client) session(ctx context.Context, path string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[path]; s != "" {
		return s, nil
	}
	resp, err := c.request(ctx, http.MethodPost, path, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities[c.kind]+`,"clientInfo":{"name":"world","version":"1"}}}`)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	s := resp.Header.Get("Mcp-Session-Id")
	if s == "" {
		return "", fmt.Errorf("initialize: %d %s", resp.StatusCode, tail(string(body), 300))
	}
	done, err := c.request(ctx, http.MethodPost, path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", s, "MCP-Protocol-Version", "2025-11-25")
	if err != nil {
		return "", err
	}
	done.Body.Close()
	c.sessions[path] = s
	return s, nil
}

// forget gives up a session that the gateway does not know any more.
func (c *client) forget(path, session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[path] == session {
		delete(c.sessions, path)
	}
}

func (c *client) id() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	return c.ids
}

// errUnsent says that it is not known whether a call was sent.
var errUnsent = errors.New("the gateway was away")
