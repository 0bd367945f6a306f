package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// jobTime is how long the jobs work that fail in the end.
const jobTime = time.Second

func server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tasks-server", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*mcp.CallToolResult, any, error) {
		return text("Hello, " + in.Name + "!"), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow_compute"}, slowCompute)
	mcp.AddTool(s, &mcp.Tool{Name: "failing_job"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.Join(work(ctx, req, jobTime), errors.New("the job failed"))
	})
	mcp.AddTool(s, &mcp.Tool{Name: "confirm_delete"}, confirmDelete)
	mcp.AddTool(s, &mcp.Tool{Name: "multi_input"}, multiInput)
	mcp.AddTool(s, &mcp.Tool{Name: "test_tool_with_task"}, func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		name, err := elicit(ctx, req, "Who are you?", "name", "string")
		return text(fmt.Sprint("Hello, ", name, "!")), nil, err
	})
	// Not AddTool of the package: that turns the error of the protocol into a
	// tool's.
	s.AddTool(&mcp.Tool{Name: "protocol_error_job", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := work(ctx, req, jobTime); err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the job broke down"}
	})
	return s
}

func slowCompute(ctx context.Context, req *mcp.CallToolRequest, in struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label,omitempty"`
}) (*mcp.CallToolResult, any, error) {
	if err := work(ctx, req, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return nil, nil, err
	}
	return text("computed " + in.Label), nil, nil
}

func confirmDelete(ctx context.Context, req *mcp.CallToolRequest, in struct {
	Filename string `json:"filename"`
}) (*mcp.CallToolResult, any, error) {
	yes, err := elicit(ctx, req, "Delete "+in.Filename+"?", "confirm", "boolean")
	return text(fmt.Sprint("deleted ", in.Filename, ": ", yes)), nil, err
}

// multiInput asks two questions at once.
func multiInput(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	var name, yes any
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { name, errs[0] = elicit(ctx, req, "Who are you?", "name", "string") })
	wg.Go(func() { yes, errs[1] = elicit(ctx, req, "Go on?", "confirm", "boolean") })
	wg.Wait()
	return text(fmt.Sprint(name, ": ", yes)), nil, errors.Join(errs[:]...)
}

// work takes its time, unless somebody who is asked lets it stop. Where there
// is nobody to ask it does nothing, so that no client waits in vain for a
// task.
func work(ctx context.Context, req *mcp.CallToolRequest, d time.Duration) error {
	if d <= 0 || req.Session.InitializeParams().Capabilities.Elicitation == nil {
		return nil
	}
	working, stop := context.WithTimeout(ctx, d)
	defer stop()
	_, err := elicit(working, req, "Stop early?", "stop", "boolean")
	if ctx.Err() == nil && errors.Is(working.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// elicit asks for one value and gives the answer, nil where it was refused.
func elicit(ctx context.Context, req *mcp.CallToolRequest, message, key, kind string) (any, error) {
	got, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{key: map[string]any{"type": kind}}, "required": []string{key},
	}})
	if err != nil {
		return nil, err
	}
	return got.Content[key], nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
