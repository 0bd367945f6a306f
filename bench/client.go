package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"

	capabilities = `{"elicitation":{"form":{}}}`
	meta         = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modernVersion + `",` +
		`"io.modelcontextprotocol/clientInfo":` + identity + `,` +
		`"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
)

// client is an MCP client that makes one call after the other.
type client struct {
	http    *http.Client
	url     string
	session string
	version string
	seq     int
}

// open starts a session, where the era has them.
func (c *client) open(ctx context.Context, modern bool) error {
	if modern {
		c.version = modernVersion
		return nil
	}
	_, h, err := c.request(ctx, nil, `"method":"initialize","params":{"protocolVersion":"`+legacyVersion+
		`","capabilities":`+capabilities+`,"clientInfo":`+identity+`}`)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	c.session, c.version = h.Get("Mcp-Session-Id"), legacyVersion
	return c.send(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// close ends the session.
func (c *client) close(ctx context.Context) {
	if c.session == "" {
		return
	}
	if resp, err := c.do(ctx, http.MethodDelete, "", nil); err == nil {
		resp.Body.Close()
	}
}

// call calls a tool in the legacy way, answering what it asks on the stream.
func (c *client) call(ctx context.Context, tool string) ([]byte, error) {
	res, _, err := c.request(ctx, nil, `"method":"tools/call","params":{"name":"`+tool+`","arguments":{}}`)
	return res, err
}

// callModern calls a tool in the modern way. Where the server asks, the call
// is made again with the answers.
func (c *client) callModern(ctx context.Context, tool string) ([]byte, error) {
	headers := http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {tool}}
	begin := `"method":"tools/call","params":{"name":"` + tool + `","arguments":{},`
	res, _, err := c.request(ctx, headers, begin+meta+`}`)
	if err != nil || !bytes.Contains(res, []byte(`"input_required"`)) {
		return res, err
	}
	var asked struct {
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		RequestState  json.RawMessage            `json:"requestState"`
	}
	if err := json.Unmarshal(res, &asked); err != nil {
		return nil, err
	}
	var answers []string
	for key := range asked.InputRequests {
		answers = append(answers, strconv.Quote(key)+":"+answer)
	}
	more := `"inputResponses":{` + strings.Join(answers, ",") + `},`
	if asked.RequestState != nil {
		more += `"requestState":` + string(asked.RequestState) + `,`
	}
	res, _, err = c.request(ctx, headers, begin+more+meta+`}`)
	return res, err
}

// request sends a request, given without its id, and returns its result.
func (c *client) request(ctx context.Context, headers http.Header, members string) ([]byte, http.Header, error) {
	c.seq++
	id := strconv.Itoa(c.seq)
	resp, err := c.do(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":`+id+`,`+members+`}`, headers)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	var m message
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		m, err = c.follow(ctx, resp.Body, id)
	} else {
		m, err = decode(resp)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case m.Error != nil:
		return nil, nil, fmt.Errorf("the answer is an error: %s", m.Error)
	}
	return m.Result, resp.Header, nil
}

func decode(resp *http.Response) (m message, err error) {
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		err = fmt.Errorf("status %d, %.200q: %w", resp.StatusCode, body, err)
	}
	return m, err
}

// follow reads an event stream up to the response with the given id, and
// answers the questions before it.
func (c *client) follow(ctx context.Context, body io.Reader, id string) (message, error) {
	r := bufio.NewReaderSize(body, 8<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return message{}, fmt.Errorf("the stream ended without a response: %w", err)
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok || len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			return m, err
		}
		switch {
		case m.Method == "" && string(m.ID) == id:
			_, err := io.Copy(io.Discard, r) // so that the connection can be used again
			return m, err
		case m.Method == "elicitation/create":
			if err := c.send(ctx, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+answer+`}`); err != nil {
				return m, err
			}
		}
	}
}

// send posts what has no response of its own.
func (c *client) send(ctx context.Context, body string) error {
	resp, err := c.do(ctx, http.MethodPost, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusAccepted {
		err = errors.Join(err, fmt.Errorf("status %d: %.200s", resp.StatusCode, text))
	}
	return err
}

func (c *client) do(ctx context.Context, method, body string, headers http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range headers {
		r.Header[k] = v
	}
	r.Header["Accept"] = []string{"application/json, text/event-stream"}
	r.Header["Content-Type"] = []string{"application/json"}
	if c.session != "" {
		r.Header["Mcp-Session-Id"] = []string{c.session}
	}
	if c.version != "" {
		r.Header["Mcp-Protocol-Version"] = []string{c.version}
	}
	return c.http.Do(r)
}
