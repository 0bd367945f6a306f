//lint:file-ignore SA1019 what the modern era deprecates is what the gateway must still carry

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peer is what the tools of one process share.
type peer struct {
	visit string // the address to be visited before the tool "required" works
	runs  string // directory of the counts, "" for none

	mu     sync.Mutex
	ended  map[string]chan struct{}      // of the calls to "block", by key: closed at their end
	wanted map[string]*mcp.ServerSession // who waits for a visit, by key; nil in the modern era
	opened map[string]bool               // the keys that were visited for
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
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, p.ask)
	mcp.AddTool(s, &mcp.Tool{Name: "withdraw"}, p.withdraw)
	mcp.AddTool(s, &mcp.Tool{Name: "block"}, func(ctx context.Context, req *mcp.CallToolRequest, in key) (*mcp.CallToolResult, any, error) {
		if err := p.count(in.Key); err != nil {
			return nil, nil, err
		}
		_, _, _ = progress(ctx, req, steps{Steps: 1})
		<-ctx.Done()
		_ = p.count(in.Key + ".ended")
		close(p.end(in.Key))
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ended"}, func(ctx context.Context, _ *mcp.CallToolRequest, in key) (*mcp.CallToolResult, any, error) {
		return p.awaitEnd(ctx, in)
	})
	// Not AddTool of the package: that turns the error of the protocol into a
	// tool's.
	s.AddTool(&mcp.Tool{Name: "required", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in key
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		return p.required(req, in.Key)
	})
	return s
}

// awaitEnd waits for the end of a call to "block", also in another process.
func (p *peer) awaitEnd(ctx context.Context, in key) (*mcp.CallToolResult, any, error) {
	late := time.After(cmp.Or(time.Duration(in.Wait)*time.Millisecond, time.Hour))
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-p.end(in.Key):
			return text("ended " + in.Key), nil, nil
		case <-look.C:
			if p.counted(in.Key + ".ended") {
				return text("ended " + in.Key), nil, nil
			}
		case <-late:
			return nil, nil, fmt.Errorf("%s has not ended", in.Key)
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
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
	Pause int `json:"pause,omitempty"` // milliseconds after each
}

type key struct {
	Key  string `json:"key"`
	Wait int    `json:"wait,omitempty"` // milliseconds
}

func progress(ctx context.Context, req *mcp.CallToolRequest, in steps) (*mcp.CallToolResult, any, error) {
	for i := range in.Steps {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.Steps),
		})
		time.Sleep(time.Duration(in.Pause) * time.Millisecond)
		if err != nil {
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}
