//lint:file-ignore SA1019 what the modern era deprecates is what the gateway must still carry

package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// GoSDK is a client on go-sdk that begins with the version given. At
// 2025-06-18 it declares what that version knows.
func GoSDK(version string) Client {
	c := Client{Name: "go-sdk " + version, Era: "legacy", Lean: version == "2025-06-18"}
	if version >= "2026" {
		c.Era, c.HidesRoots = "modern", true
	}
	c.Tour = func(t testing.TB, targets []Target) []Report {
		t.Helper()
		return visitAll(t, targets, GoSDKFailure, func(ctx context.Context, to Target, w *watcher) (session, error) {
			s, err := dialGoSDK(ctx, to, version, goSDKOptions(w, c.Lean), w)
			if err != nil {
				return nil, err
			}
			return s, nil
		})
	}
	return c
}

// GoSession is a connected client on go-sdk.
type GoSession struct {
	*sdk.ClientSession
	client *sdk.Client
	http   *http.Transport
}

// DialGoSDK connects a client on go-sdk that nobody watches.
func DialGoSDK(ctx context.Context, url, version string, opts *sdk.ClientOptions) (*GoSession, error) {
	return dialGoSDK(ctx, Target{URL: url}, version, opts, nil)
}

func dialGoSDK(ctx context.Context, to Target, version string, opts *sdk.ClientOptions, w *watcher) (*GoSession, error) {
	s := &GoSession{client: sdk.NewClient(&sdk.Implementation{Name: "peer-gosdk", Version: "1"}, opts), http: &http.Transport{}}
	s.client.AddRoots(&sdk.Root{URI: "file:///project", Name: "project"})
	if w != nil {
		s.client.AddReceivingMiddleware(w.middleware)
	}
	var transport sdk.Transport = &sdk.StreamableClientTransport{Endpoint: to.URL, HTTPClient: &http.Client{Transport: s.http}}
	if to.Command != nil {
		transport = &sdk.CommandTransport{Command: exec.Command(to.Command[0], to.Command[1:]...)}
	}
	var err error
	s.ClientSession, err = s.client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.http.CloseIdleConnections()
		return nil, err
	}
	return s, nil
}

func goSDKOptions(w *watcher, Lean bool) *sdk.ClientOptions {
	caps := &sdk.ClientCapabilities{
		RootsV2:     &sdk.RootCapabilities{ListChanged: true},
		Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
	}
	if Lean {
		caps.Elicitation = &sdk.ElicitationCapabilities{}
	}
	return &sdk.ClientOptions{
		Capabilities: caps,
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			a := w.elicit(ctx, r.Params.Mode, r.Params.Message, r.Params.URL, r.Params.RequestedSchema)
			return &sdk.ElicitResult{Action: a.Action, Content: a.Content}, nil
		},
		CreateMessageHandler: func(ctx context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			w.sample(ctx, r.Params.Messages[0].Content.(*sdk.TextContent).Text, r.Params.MaxTokens)
			return &sdk.CreateMessageResult{Role: "assistant", Model: "stub-model", StopReason: "endTurn", Content: &sdk.TextContent{Text: "Paris"}}, nil
		},
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			w.note("log %s %v", r.Params.Level, r.Params.Data)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { w.note("updated %s", r.Params.URI) },
		ElicitationCompleteHandler: func(_ context.Context, r *sdk.ElicitationCompleteNotificationRequest) {
			w.note("complete %s", r.Params.ElicitationID)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			w.advance(fmt.Sprint(r.Params.ProgressToken), r.Params.Progress)
		},
	}
}

// middleware records that roots were asked for, which the SDK answers itself.
func (w *watcher) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "roots/list" {
			w.listRoots()
		}
		return next(ctx, method, req)
	}
}

func (s *GoSession) negotiated() string { return s.InitializeResult().ProtocolVersion }

func (s *GoSession) tools(ctx context.Context) ([]string, error) {
	var names []string
	for tool, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s *GoSession) call(ctx context.Context, name string, args map[string]any, token string) (any, error) {
	return s.CallTool(ctx, &sdk.CallToolParams{Meta: sdk.Meta{"progressToken": token}, Name: name, Arguments: args})
}

func (s *GoSession) level(ctx context.Context, level string) error {
	return s.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: sdk.LoggingLevel(level)})
}

func (s *GoSession) subscribe(ctx context.Context, uri string) error {
	return s.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
}

func (s *GoSession) unsubscribe(ctx context.Context, uri string) error {
	return s.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri})
}

func (s *GoSession) rootsChanged(_ context.Context, roots []Root) error {
	var add []*sdk.Root
	for _, r := range roots {
		add = append(add, &sdk.Root{URI: r.URI, Name: r.Name})
	}
	s.client.AddRoots(add...)
	return nil
}

// GoSDKFailure gives an error of go-sdk as a client reports it.
func GoSDKFailure(err error) *Failure {
	f := &Failure{Kind: fmt.Sprintf("%T", err), Message: err.Error()}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		f.Code = float64(e.Code)
		_ = json.Unmarshal(e.Data, &f.Data)
	}
	return f
}

func (s *GoSession) close() { s.Leave() }

// Leave closes the session and its connections.
func (s *GoSession) Leave() {
	_ = s.Close()
	s.http.CloseIdleConnections()
}
