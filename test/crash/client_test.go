//go:build crash

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

// client is an MCP client whose requests fail with the gateway, and do not
// fail the test.
type client struct {
	http    *http.Client
	session string // of the legacy era
	ids     int
}

// message is what a client reads of one.
type message struct {
	ID     json.RawMessage
	Method string
	Result struct {
		ResultType   string
		RequestState string
		IsError      bool
		Content      []struct{ Text string }
		Inputs       map[string]json.RawMessage `json:"inputRequests"`
	}
	Error *struct {
		Code    int
		Message string
		Data    struct{ Reason string }
	}
}

func (m *message) final() bool { return m.Method == "" && len(m.ID) > 0 }

// value is what the tool says that it heard.
func (m *message) value() (string, bool) {
	if len(m.Result.Content) == 0 {
		return "", false
	}
	return strings.CutPrefix(m.Result.Content[0].Text, "accept ")
}

func (m *message) failure() error {
	switch {
	case m.Error != nil:
		return fmt.Errorf("%d %s: %s", m.Error.Code, m.Error.Data.Reason, m.Error.Message)
	case m.Result.IsError && len(m.Result.Content) > 0:
		return errors.New(m.Result.Content[0].Text)
	}
	return nil
}

// statusError is a response without a message.
type statusError int

func (e statusError) Error() string { return "status " + strconv.Itoa(int(e)) }

func (c *client) request(ctx context.Context, method, url, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	return c.http.Do(req)
}

// send posts what has no answer of its own.
func (c *client) send(ctx context.Context, g *gateway, body string) error {
	resp, err := c.request(ctx, http.MethodPost, g.base+"/mcp", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusAccepted {
		return statusError(resp.StatusCode)
	}
	return nil
}

// open begins a legacy session.
func (c *client) open(ctx context.Context, g *gateway) error {
	c.session = ""
	resp, err := c.request(ctx, http.MethodPost, g.base+"/mcp", `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"crash","version":"1"}}}`)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if c.session = resp.Header.Get("Mcp-Session-Id"); c.session == "" {
		return statusError(resp.StatusCode)
	}
	return c.send(ctx, g, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// stream is what comes back for a request: events, or one message.
type stream struct {
	body io.Closer
	sse  *sse.Reader
	one  []byte
	last string // the id of the last event
}

func (c *client) stream(resp *http.Response, err error) (*stream, error) {
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return &stream{body: resp.Body, sse: sse.NewReader(resp.Body, wire.DefaultMaxBytes)}, nil
	}
	defer resp.Body.Close()
	one, err := io.ReadAll(resp.Body)
	if err == nil && len(bytes.TrimSpace(one)) == 0 {
		err = statusError(resp.StatusCode)
	}
	return &stream{body: resp.Body, one: one}, err
}

// next gives the next message that is not a notification.
func (s *stream) next() (*message, error) {
	for {
		raw := s.one
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
		s.one = nil
		if len(raw) == 0 {
			continue
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

// call begins a legacy tools/call.
func (c *client) call(ctx context.Context, g *gateway, tool string, n int) (*stream, error) {
	c.ids++
	return c.stream(c.request(ctx, http.MethodPost, g.base+"/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d}}}`, c.ids, tool, n)))
}

// resume takes up the stream of a call after its last event.
func (c *client) resume(ctx context.Context, g *gateway, last string) (*stream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/mcp", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", c.session)
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	req.Header.Set("Last-Event-ID", last)
	resp, err := c.http.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, statusError(resp.StatusCode)
	}
	return c.stream(resp, err)
}

// answer posts a client's own answer.
func (c *client) answer(ctx context.Context, g *gateway, id json.RawMessage, value string) error {
	return c.send(ctx, g, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"value":%q}}}`, id, value))
}

// modern calls the tool that asks question n, as a modern client, and gives
// the response. rest is what goes into the params besides.
func (c *client) modern(ctx context.Context, g *gateway, n int, rest string) (*message, error) {
	return c.modernCall(ctx, g, "ask", "form", fmt.Sprintf(`,"arguments":{"n":%d}%s`, n, rest))
}

// modernCall calls a tool as a modern client that takes this mode of
// elicitation.
func (c *client) modernCall(ctx context.Context, g *gateway, tool, mode, rest string) (*message, error) {
	c.ids++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"crash","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{%q:{}}}},"name":%q%s}}`, c.ids, mode, tool, rest)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		req.Header.Set(k, v)
	}
	s, err := c.stream(c.http.Do(req))
	if err != nil {
		return nil, err
	}
	defer s.body.Close()
	for {
		m, err := s.next()
		if err != nil || m.final() {
			return m, err
		}
	}
}
