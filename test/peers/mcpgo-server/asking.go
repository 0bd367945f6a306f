//lint:file-ignore SA1019 what the modern era deprecates is what the gateway must still carry

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// peer is what the tools of one process share.
type peer struct {
	server *server.MCPServer
	visit  string // the address to be visited before the tool "required" works
	runs   string // directory of the counts, "" for none

	mu     sync.Mutex
	ended  map[string]chan struct{}   // of the calls to "block", by key: closed at their end
	wanted map[string]context.Context // the call that waits for a visit, by key; nil in the modern era
	opened map[string]bool            // the keys that were visited for
}

func (p *peer) asking() {
	key, wait := mcp.WithString("key"), mcp.WithNumber("wait")
	p.server.AddTool(mcp.NewTool("ask", key, mcp.WithArray("rounds")), p.ask)
	p.server.AddTool(mcp.NewTool("withdraw", key, wait), p.withdraw)
	p.server.AddTool(mcp.NewTool("required", key), p.required)
	p.server.AddTool(mcp.NewTool("block", key), p.block)
	p.server.AddTool(mcp.NewTool("ended", key, wait), p.hasEnded)
}

// count counts a run: the side effect of a tool before its question.
func (p *peer) count(key string) error {
	if p.runs == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(p.runs, key), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(".")
	return errors.Join(err, f.Close())
}

// ask asks in rounds, all questions of a round at once: form:MESSAGE, url,
// sampling or roots. It gives the answers of each round.
func (p *peer) ask(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Key    string
		Rounds [][]string
	}
	if err := req.BindArguments(&in); err != nil {
		return nil, err
	}
	if server.IsModernRequest(ctx) {
		return p.askRound(req, in.Key, in.Rounds)
	}
	if err := p.count(in.Key); err != nil {
		return nil, err
	}
	var got [][]any
	for _, kinds := range in.Rounds {
		replies := make([]any, len(kinds))
		errs := make([]error, len(kinds))
		var wg sync.WaitGroup
		for i, kind := range kinds {
			wg.Go(func() { replies[i], errs[i] = p.put(ctx, kind) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		got = append(got, replies)
	}
	raw, err := json.Marshal(got)
	return mcp.NewToolResultText(string(raw)), err
}

// put asks a question in the legacy era.
func (p *peer) put(ctx context.Context, kind string) (any, error) {
	kind, message, _ := strings.Cut(kind, ":")
	switch kind {
	case "sampling":
		return p.server.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: complete()})
	case "roots":
		return p.server.RequestRoots(ctx, mcp.ListRootsRequest{})
	case "url":
		return p.server.RequestElicitation(ctx, mcp.ElicitationRequest{Params: open()})
	}
	return p.server.RequestElicitation(ctx, mcp.ElicitationRequest{Params: form(message)})
}

// askRound is ask in the modern era: the state carries the answers of the
// rounds before.
func (p *peer) askRound(req mcp.CallToolRequest, key string, rounds [][]string) (*mcp.CallToolResult, error) {
	got := []json.RawMessage{}
	if req.Params.RequestState == "" {
		if err := p.count(key); err != nil {
			return nil, err
		}
	} else {
		if err := json.Unmarshal([]byte(req.Params.RequestState), &got); err != nil {
			return nil, err
		}
		var replies []mcp.InputResponse
		for i := range rounds[len(got)] {
			reply, ok := server.InputResponse(req.Params.InputResponses, fmt.Sprint("q", i))
			if !ok {
				return nil, fmt.Errorf("round %d has no answer to question %d", len(got), i)
			}
			replies = append(replies, reply)
		}
		raw, err := json.Marshal(replies)
		if err != nil {
			return nil, err
		}
		got = append(got, raw)
	}
	raw, err := json.Marshal(got)
	if err != nil || len(got) == len(rounds) {
		return mcp.NewToolResultText(string(raw)), err
	}
	b := server.NewInputRequestBuilder(string(raw))
	for i, kind := range rounds[len(got)] {
		id := fmt.Sprint("q", i)
		kind, message, _ := strings.Cut(kind, ":")
		switch kind {
		case "sampling":
			b.Sample(id, complete())
		case "roots":
			b.Roots(id)
		case "url":
			b.Elicit(id, open())
		default:
			b.Elicit(id, form(message))
		}
	}
	return b.ToolResult(), nil
}

// withdraw takes its question back after a while.
func (p *peer) withdraw(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if server.IsModernRequest(ctx) {
		return p.withdrawRound(req)
	}
	if err := p.count(req.GetString("key", "")); err != nil {
		return nil, err
	}
	patience, cancel := context.WithTimeout(ctx, time.Duration(req.GetInt("wait", 0))*time.Millisecond)
	defer cancel()
	res, err := p.server.RequestElicitation(patience, mcp.ElicitationRequest{Params: form("Who?")})
	switch {
	case err == nil:
		return nil, fmt.Errorf("the question got an answer: %s", res.Action)
	case ctx.Err() != nil || patience.Err() == nil:
		return nil, err
	}
	return mcp.NewToolResultText("withdrawn"), nil
}

// withdrawRound is withdraw in the modern era, where a server takes a question
// back by giving its call another end: the state says until when an answer is
// wanted.
func (p *peer) withdrawRound(req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		until := time.Now().Add(time.Duration(req.GetInt("wait", 0)) * time.Millisecond)
		b := server.NewInputRequestBuilder(until.Format(time.RFC3339Nano)).Elicit("q", form("Who?"))
		return b.ToolResult(), p.count(req.GetString("key", ""))
	}
	until, err := time.Parse(time.RFC3339Nano, req.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if time.Now().Before(until) {
		return nil, fmt.Errorf("the question got an answer: %v", req.Params.InputResponses)
	}
	return mcp.NewToolResultText("withdrawn"), nil
}

// required refuses until its address was visited for the key; in the modern
// era it asks until then.
func (p *peer) required(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	key := req.GetString("key", "")
	if req.Params.RequestState == "" {
		if err := p.count(key); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened[key] {
		return mcp.NewToolResultText("visited " + key), nil
	}
	page := mcp.ElicitationParams{Mode: "url", Message: "Visit", URL: p.visit + "?key=" + key, ElicitationID: key}
	if server.IsModernRequest(ctx) {
		p.wanted[key] = nil
		return server.NewInputRequestBuilder("required").Elicit("page", page).ToolResult(), nil
	}
	p.wanted[key] = context.WithoutCancel(ctx)
	return nil, mcp.URLElicitationRequiredError{Elicitations: []mcp.ElicitationParams{page}}
}

func (p *peer) visited(w http.ResponseWriter, r *http.Request) {
	key := r.FormValue("key")
	p.mu.Lock()
	ctx, ok := p.wanted[key]
	p.opened[key] = ok
	p.mu.Unlock()
	switch {
	case !ok:
		http.Error(w, "nobody waits for this visit", http.StatusNotFound)
	case ctx != nil:
		err := p.server.SendNotificationToClient(ctx, "notifications/elicitation/complete", map[string]any{"elicitationId": key})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// advance tells whoever called of progress, if they want to know.
func (p *peer) advance(ctx context.Context, req mcp.CallToolRequest, n, total int) error {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return nil
	}
	return p.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
		"progressToken": req.Params.Meta.ProgressToken, "progress": n, "total": total,
	})
}

// block goes on until it is cancelled.
func (p *peer) block(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if err := p.count(req.GetString("key", "")); err != nil {
		return nil, err
	}
	if err := p.advance(ctx, req, 1, 1); err != nil {
		return nil, err
	}
	<-ctx.Done()
	close(p.end(req.GetString("key", "")))
	return nil, ctx.Err()
}

func (p *peer) hasEnded(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	key := req.GetString("key", "")
	select {
	case <-p.end(key):
		return mcp.NewToolResultText("ended " + key), nil
	case <-time.After(time.Duration(req.GetInt("wait", 0)) * time.Millisecond):
		return nil, fmt.Errorf("%s has not ended", key)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end gives the channel that is closed when the call to "block" ended.
func (p *peer) end(key string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.ended[key]
	if !ok {
		c = make(chan struct{})
		p.ended[key] = c
	}
	return c
}

func form(message string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
}

func open() mcp.ElicitationParams {
	return mcp.ElicitationParams{Mode: "url", Message: "Open", URL: "https://example.com/auth?x=1", ElicitationID: "e-1"}
}

func complete() mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Capital?")}}}
}
