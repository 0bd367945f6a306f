package mcp

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/internal/wire"
)

// sdkServer is a server made with the Go SDK, with tools that ask.
func sdkServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	type in struct {
		Text string `json:"text,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		return text(a.Text), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		res, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: a.Text, RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
		}})
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprintf("%s %v", res.Action, res.Content["name"])), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "progress"}, func(ctx context.Context, req *sdk.CallToolRequest, _ in) (*sdk.CallToolResult, any, error) {
		for i := range 3 {
			err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)})
			if err != nil {
				return nil, nil, err
			}
		}
		return text("done"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "block"}, func(ctx context.Context, req *sdk.CallToolRequest, _ in) (*sdk.CallToolResult, any, error) {
		err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Message: "blocked"})
		if err != nil {
			return nil, nil, err
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	return s
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// peer is what the test binary does when it is started as a stdio server.
func peer(mode string) int {
	if mode == "sdk" {
		if err := sdkServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return 0
	}
	if mode == "stillborn" {
		fmt.Fprintln(os.Stderr, "no database")
		return 5
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		m, err := wire.Scan(in.Bytes(), wire.Limits{})
		if err != nil {
			fmt.Fprintln(os.Stderr, "bad line:", err)
			return 9
		}
		if m.Method() == "initialize" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"raw","version":"0"}}}`+"\n", m.Field(m.ID))
			continue
		}
		if code := rawPeer(mode, &m); code >= 0 {
			return code
		}
	}
	if mode == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
		select {}
	}
	return 0
}

// rawPeer acts on one message; a result that is not negative ends it.
func rawPeer(mode string, m *wire.Message) int {
	id := string(m.Field(m.ID))
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	switch {
	case m.Kind != wire.Request && mode == "tells":
		say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"heard":%s}}`, m.Raw)
	case mode == "tells":
		say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":0}}`, id)
	case m.Kind != wire.Request:
		fmt.Fprintf(os.Stderr, "got %s\n", m.Raw)
	case mode == "crash":
		return 3
	case mode == "noisy":
		say("Server listening...")
		say(`{"level":"info","id":%s,"msg":"not JSON-RPC"}`, id)
		say("")
		fmt.Fprintln(os.Stderr, "a warning")
		say(`{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}`, id)
	case mode == "long" && m.Method() == "tools/call":
		say(`{"jsonrpc":"2.0","id":%s,"result":{"pad":"%s"}}`, id, strings.Repeat("x", 300<<10))
	case mode == "longer" && m.Method() == "tools/call":
		say(`{"jsonrpc":"2.0","result":{"pad":"%s"},"id":%s}`, strings.Repeat("x", 300<<10), id)
	case mode == "env":
		say(`{"jsonrpc":"2.0","id":%s,"result":{"mine":%q,"secret":%q,"home":%q}}`, id, os.Getenv("MINE"), os.Getenv("NOT_FOR_SERVERS"), os.Getenv("HOME"))
	case mode == "child":
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 8
		}
		say(`{"jsonrpc":"2.0","id":%s,"result":{"pid":%d}}`, id, child.Process.Pid)
	case mode == "silent":
	case mode == "closes":
		os.Stdout.Close()
	case mode == "subscribe" && m.Method() == "subscriptions/listen":
		say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`, id)
		say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"whose?"}}`)
		say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, id, id)
	case mode == "asks":
		say(`{"jsonrpc":"2.0","id":"q%s","method":"elicitation/create","params":{"message":"m"}}`, id)
	default:
		say(`{"jsonrpc":"2.0","id":%s,"result":{"pid":%d}}`, id, os.Getpid())
	}
	return -1
}
