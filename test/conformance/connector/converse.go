package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const modern = "2026-07-28"

// converse does what a client does: it says who it is, lists the tools, and
// calls the first.
func (c *connector) converse(ctx context.Context, version string) error {
	s := &session{connector: c, version: version}
	if version != modern {
		if version == "" {
			s.version = "2025-11-25"
		}
		if _, err := s.request(ctx, "initialize", "", map[string]any{
			"protocolVersion": s.version, "capabilities": map[string]any{}, "clientInfo": info,
		}); err != nil {
			return err
		}
		if err := s.notify(ctx, "notifications/initialized"); err != nil {
			return err
		}
	}
	raw, err := s.request(ctx, "tools/list", "", map[string]any{})
	if err != nil {
		return err
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	// Three times, so that what changes between calls is noticed.
	for range 3 {
		for _, t := range list.Tools {
			if _, err := s.request(ctx, "tools/call", t.Name, map[string]any{"name": t.Name, "arguments": map[string]any{}}); err != nil {
				return err
			}
		}
	}
	return nil
}

var info = map[string]string{"name": "answerback-connector", "version": "1"}

type session struct {
	*connector
	version string
	id      string // of a legacy session
	last    int
}

// request sends one request and gives its result.
func (s *session) request(ctx context.Context, method, name string, params map[string]any) (json.RawMessage, error) {
	if s.version == modern {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientInfo": info,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	}
	s.last++
	resp, err := s.post(ctx, method, name, map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		s.id = id
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body = lastData(body)
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Result == nil {
		return nil, fmt.Errorf("%s: status %d: %s", method, resp.StatusCode, body)
	}
	return answer.Result, nil
}

func (s *session) notify(ctx context.Context, method string) error {
	resp, err := s.post(ctx, method, "", map[string]any{"jsonrpc": "2.0", "method": method})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *session) post(ctx context.Context, method, name string, msg map[string]any) (*http.Response, error) {
	body, err := json.Marshal(msg)
	if err != nil {
		return nil, err
	}
	return s.do(ctx, func(h http.Header) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header = h
		h.Set("Content-Type", "application/json")
		h.Set("Accept", "application/json, text/event-stream")
		if method != "initialize" {
			h.Set("Mcp-Protocol-Version", s.version)
		}
		if s.version == modern {
			h.Set("Mcp-Method", method)
			if name != "" {
				h.Set("Mcp-Name", name)
			}
		}
		if s.id != "" {
			h.Set("Mcp-Session-Id", s.id)
		}
		return s.http.Do(r)
	})
}

// lastData gives the data of the last event of a stream, which is the
// response.
func lastData(stream []byte) []byte {
	var last []byte
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			last = bytes.TrimSpace(data)
		}
	}
	return last
}
