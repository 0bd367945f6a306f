//lint:file-ignore SA1019 what the modern era deprecates is what the gateway must still carry

package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/answerback/answerback/test/rig"
)

// MCPGo is a client on mark3labs/mcp-go. In the legacy era it opens the
// session's own stream when it listens, and does without when it does not.
func MCPGo(era string, listen bool) Client {
	c := Client{Name: "mcp-go " + era, Era: era, CancelsOnPipes: era == "legacy"}
	if era == "legacy" && !listen {
		c.Name += " without a stream"
	}
	c.Tour = func(t testing.TB, targets []Target) []Report {
		t.Helper()
		return visitAll(t, targets, mcpGoFailure, func(ctx context.Context, to Target, w *watcher) (session, error) {
			return dialMCPGo(ctx, to, era, listen, w)
		})
	}
	return c
}

type mcpgoSession struct {
	*mcpgo.Client
	watcher *watcher
	http    *http.Transport
}

func dialMCPGo(ctx context.Context, to Target, era string, listen bool, w *watcher) (*mcpgoSession, error) {
	s := &mcpgoSession{watcher: w, http: &http.Transport{}}
	tr, err := s.transport(to, listen)
	if err != nil {
		return nil, err
	}
	version := mcp.LATEST_LEGACY_PROTOCOL_VERSION
	if era == "modern" {
		version = mcp.LATEST_PROTOCOL_VERSION
	}
	s.Client = mcpgo.NewClient(tr, mcpgo.WithProtocolVersion(version), mcpgo.WithDiscoverTimeout(rig.Patience),
		mcpgo.WithElicitationHandler(s), mcpgo.WithSamplingHandler(s), mcpgo.WithRootsHandler(s),
		mcpgo.WithClientCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}}}))
	s.OnNotification(s.notified)
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "peer-mcpgo", Version: "1"}
	if _, err := s.Initialize(ctx, hello); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *mcpgoSession) transport(to Target, listen bool) (transport.Interface, error) {
	quiet := slog.New(slog.DiscardHandler)
	if to.Command != nil {
		return transport.NewStdioWithOptions(to.Command[0], nil, to.Command[1:], transport.WithCommandLogger(quiet)), nil
	}
	opts := []transport.StreamableHTTPCOption{
		transport.WithHTTPBasicClient(&http.Client{Transport: s.http}), transport.WithHTTPLogger(quiet),
	}
	if listen {
		opts = append(opts, transport.WithContinuousListening())
	}
	return transport.NewStreamableHTTP(to.URL, opts...)
}

func (s *mcpgoSession) notified(n mcp.JSONRPCNotification) {
	p := n.Params.AdditionalFields
	switch n.Method {
	case "notifications/message":
		s.watcher.note("log %v %v", p["level"], p["data"])
	case "notifications/resources/updated":
		s.watcher.note("updated %v", p["uri"])
	case "notifications/elicitation/complete":
		s.watcher.note("complete %v", p["elicitationId"])
	case "notifications/cancelled":
		s.watcher.takeBack()
	case "notifications/progress":
		if v, ok := p["progress"].(float64); ok {
			s.watcher.advance(fmt.Sprint(p["progressToken"]), v)
		}
	}
}

// Elicit answers a form or a URL.
func (s *mcpgoSession) Elicit(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	a := s.watcher.elicit(ctx, r.Params.Mode, r.Params.Message, r.Params.URL, r.Params.RequestedSchema)
	res := &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseAction(a.Action)}}
	if a.Content != nil {
		res.Content = a.Content
	}
	return res, nil
}

// CreateMessage answers for the client's model.
func (s *mcpgoSession) CreateMessage(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	raw, _ := json.Marshal(r.Messages[0].Content)
	var content struct{ Text string }
	_ = json.Unmarshal(raw, &content)
	s.watcher.sample(ctx, content.Text, int64(r.MaxTokens))
	return &mcp.CreateMessageResult{
		SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent("Paris")},
		Model:           "stub-model", StopReason: "endTurn",
	}, nil
}

// ListRoots gives the client's roots.
func (s *mcpgoSession) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	res := &mcp.ListRootsResult{}
	for _, r := range s.watcher.listRoots() {
		res.Roots = append(res.Roots, mcp.Root{URI: r.URI, Name: r.Name})
	}
	return res, nil
}

func (s *mcpgoSession) negotiated() string { return s.ProtocolVersion() }

func (s *mcpgoSession) tools(ctx context.Context) ([]string, error) {
	list, err := s.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *mcpgoSession) call(ctx context.Context, name string, args map[string]any, token string) (any, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments, r.Params.Meta = name, args, &mcp.Meta{ProgressToken: token}
	return s.CallTool(ctx, r)
}

func (s *mcpgoSession) level(ctx context.Context, level string) error {
	var r mcp.SetLevelRequest
	r.Params.Level = mcp.LoggingLevel(level)
	return s.SetLevel(ctx, r)
}

func (s *mcpgoSession) subscribe(ctx context.Context, uri string) error {
	var r mcp.SubscribeRequest
	r.Params.URI = uri
	return s.Subscribe(ctx, r)
}

func (s *mcpgoSession) unsubscribe(ctx context.Context, uri string) error {
	var r mcp.UnsubscribeRequest
	r.Params.URI = uri
	return s.Unsubscribe(ctx, r)
}

func (s *mcpgoSession) rootsChanged(ctx context.Context, roots []Root) error {
	s.watcher.setRoots(roots)
	return s.RootListChanges(ctx)
}

// mcpGoFailure keeps the codes that the SDK makes types of.
func mcpGoFailure(err error) *Failure {
	f := &Failure{Kind: fmt.Sprintf("%T", err), Message: err.Error()}
	if e, ok := errors.AsType[mcp.URLElicitationRequiredError](err); ok {
		f.Code = float64(mcp.URL_ELICITATION_REQUIRED)
		raw, _ := json.Marshal(map[string]any{"elicitations": e.Elicitations})
		_ = json.Unmarshal(raw, &f.Data)
	}
	if e, ok := errors.AsType[mcp.UnsupportedProtocolVersionError](err); ok {
		f.Code = float64(mcp.UNSUPPORTED_PROTOCOL_VERSION)
		raw, _ := json.Marshal(map[string]any{"supported": e.Supported})
		_ = json.Unmarshal(raw, &f.Data)
	}
	return f
}

func (s *mcpgoSession) close() {
	_ = s.Close()
	s.http.CloseIdleConnections()
}
