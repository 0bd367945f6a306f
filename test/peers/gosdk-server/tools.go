//lint:file-ignore SA1019 what the modern era deprecates is what the gateway must still carry

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peer is what the tools of one process share.
type peer struct {
	visit string // the address to be visited before the tool "required" works

	mu     sync.Mutex
	ended  map[string]chan struct{}      // of the calls to "block", by key: closed at their end
	wanted map[string]*mcp.ServerSession // who waits for a visit, by key; nil after it
}

var (
	form     = &mcp.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	open     = &mcp.ElicitParams{Mode: "url", Message: "Open", URL: "https://example.com/auth?x=1", ElicitationID: "e-1"}
	complete = &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Capital?"}}}}
)

func (p *peer) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "gosdk-server", Version: "1"}, nil)
	asks := func(name string, question mcp.InputRequest) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if reply, ok := req.Params.InputResponses[name]; ok {
				res, err := answer(reply, req.Params.RequestState)
				return res, nil, err
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{name: question}, RequestState: "state-" + name}, nil, nil
		})
	}
	asks("form", form)
	asks("url", open)
	asks("sampling", complete)
	asks("roots", &mcp.ListRootsParams{})
	mcp.AddTool(s, &mcp.Tool{Name: "series"}, series)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	}) (*mcp.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "progress"}, progress)
	type key struct {
		Key string `json:"key"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "block"}, func(ctx context.Context, req *mcp.CallToolRequest, in key) (*mcp.CallToolResult, any, error) {
		_, _, _ = progress(ctx, req, steps{1})
		<-ctx.Done()
		close(p.end(in.Key))
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ended"}, func(ctx context.Context, _ *mcp.CallToolRequest, in key) (*mcp.CallToolResult, any, error) {
		select {
		case <-p.end(in.Key):
			return text("ended " + in.Key), nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	// Not AddTool of the package: that turns the error of the protocol into a
	// tool's.
	s.AddTool(&mcp.Tool{Name: "required", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in key
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return p.required(req.Session, in.Key)
	})
	return s
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

// required refuses until its address was visited for the key.
func (p *peer) required(ss *mcp.ServerSession, key string) (*mcp.CallToolResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waiting, ok := p.wanted[key]; ok && waiting == nil {
		return text("visited " + key), nil
	}
	p.wanted[key] = ss
	return nil, mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Visit", URL: p.visit + "?key=" + key, ElicitationID: key}})
}

func (p *peer) visited(w http.ResponseWriter, r *http.Request) {
	key := r.FormValue("key")
	p.mu.Lock()
	ss := p.wanted[key]
	if ss != nil {
		p.wanted[key] = nil
	}
	p.mu.Unlock()
	if ss == nil {
		http.Error(w, "nobody waits for this visit", http.StatusNotFound)
		return
	}
	if err := ss.NotifyElicitationComplete(r.Context(), &mcp.ElicitationCompleteParams{ElicitationID: key}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// series asks three questions, one after the other: in one call of the legacy
// era, in three rounds of the modern one.
func series(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	questions := []mcp.InputRequest{form, complete, &mcp.ListRootsParams{}}
	if isModern(req) {
		round := 0
		if req.Params.RequestState != "" {
			if _, err := fmt.Sscanf(req.Params.RequestState, "round-%d", &round); err != nil {
				return nil, nil, err
			}
			if len(req.Params.InputResponses) != 1 {
				return nil, nil, fmt.Errorf("round %d came with %d answers", round, len(req.Params.InputResponses))
			}
		}
		if round < len(questions) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": questions[round]}, RequestState: fmt.Sprintf("round-%d", round+1)}, nil, nil
		}
		return text("three answers"), nil, nil
	}
	if _, err := req.Session.Elicit(ctx, form); err != nil {
		return nil, nil, err
	}
	if _, err := req.Session.CreateMessage(ctx, complete); err != nil {
		return nil, nil, err
	}
	if _, err := req.Session.ListRoots(ctx, nil); err != nil {
		return nil, nil, err
	}
	return text("three answers"), nil, nil
}

type steps struct {
	Steps int `json:"steps"`
}

func progress(ctx context.Context, req *mcp.CallToolRequest, in steps) (*mcp.CallToolResult, any, error) {
	for i := range in.Steps {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.Steps),
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}
