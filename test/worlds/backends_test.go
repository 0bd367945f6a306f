//go:build worlds

package worlds

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/test/rig"
)

// Kinds of backends, which are also their names.
const (
	httpKind   = "http"   // legacy, keeps its events
	plainKind  = "plain"  // legacy, keeps no events
	stdioKind  = "stdio"  // legacy, a program
	modernKind = "modern" // modern, stateless
	agentKind  = "agent"  // an A2A agent
	keyedKind  = "keyed"  // legacy, keeps its events; wants a key of the person
)

// asked is the argument of every tool: the number of its call.
type asked struct {
	N int `json:"n"`
}

func text(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

var valueSchema = json.RawMessage(`{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}`)

func questionText(key string) string { return "Question " + key }

// notes is what a backend tells the ledger. A backend that is a process of its
// own does so over HTTP.
type notes interface {
	run(n int) string
	hear(key, value string)
}

// legacyServer makes a legacy server whose tool asks its question and waits.
// life ends what waits.
func legacyServer(life context.Context, l notes) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "world", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, in asked) (*sdk.CallToolResult, any, error) {
		key := l.run(in.N)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		got, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: questionText(key), RequestedSchema: valueSchema})
		if err != nil {
			l.hear(key, "end "+err.Error())
			return nil, nil, err
		}
		value, _ := got.Content["value"].(string)
		if got.Action != "accept" {
			value = key + ":" + got.Action
		}
		l.hear(key, value)
		return text("%s %s", got.Action, value), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "plain"}, func(_ context.Context, _ *sdk.CallToolRequest, in asked) (*sdk.CallToolResult, any, error) {
		key := l.run(in.N)
		l.hear(key, "end ran")
		return text("done %s", key), nil, nil
	})
	return s
}

// modernServer makes a stateless modern server: its question is a part of the
// result of the first round. The tool has run when the second round comes.
func modernServer(l *ledger) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "world", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(_ context.Context, req *sdk.CallToolRequest, in asked) (*sdk.CallToolResult, any, error) {
		reply, answered := req.Params.InputResponses["k"]
		if !answered {
			key := l.run(in.N)
			return &sdk.CallToolResult{
				InputRequests: sdk.InputRequestMap{"k": &sdk.ElicitParams{Mode: "form", Message: questionText(key), RequestedSchema: valueSchema}},
				RequestState:  key,
			}, nil, nil
		}
		raw, err := json.Marshal(reply)
		if err != nil {
			return nil, nil, err
		}
		var got struct {
			Action  string
			Content struct{ Value string }
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			return nil, nil, err
		}
		value := got.Content.Value
		if got.Action != "accept" {
			value = req.Params.RequestState + ":" + got.Action
		}
		l.hear(req.Params.RequestState, value)
		return text("%s %s", got.Action, value), nil, nil
	})
	return s
}

// backend is one server of a world, which can be restarted at its address.
type backend struct {
	kind string
	cfg  string // its entry in the configuration

	mu      sync.Mutex
	addr    string
	make    func(life context.Context) http.Handler
	server  *httptest.Server
	end     context.CancelFunc
	pids    *pids // of a program
	restart func()
}

// newBackend runs a backend of a kind until the test ends. life says which
// life of the gateway it is.
func newBackend(t testing.TB, kind string, l *ledger, life func() int) *backend {
	b := &backend{kind: kind}
	switch kind {
	case stdioKind:
		b.pids = &pids{}
		ledger := httptest.NewServer(remote(l, b.pids))
		t.Cleanup(ledger.Close)
		b.cfg = fmt.Sprintf("{ command: %q, env: { %s: %q } }", os.Args[0], ledgerVariable, ledger.URL)
		b.restart = b.pids.kill
		return b
	case agentKind:
		a := rig.NewAgent(t, rig.AgentKind{Streaming: true}, map[string]rig.AgentScript{"ask": func(turn *rig.Turn) { agentTurn(l, turn) }})
		b.cfg = fmt.Sprintf("{ url: %q, transport: a2a }", a.URL)
		b.restart = func() {} // its tasks are in its memory, and it has no sessions
		return b
	case modernKind:
		s := modernServer(l)
		b.make = func(context.Context) http.Handler {
			return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
		}
	default:
		b.make = func(waiting context.Context) http.Handler {
			s := legacyServer(waiting, l)
			options := &sdk.StreamableHTTPOptions{}
			if kind != plainKind {
				options.EventStore = sdk.NewMemoryEventStore(nil)
			}
			h := listening(l, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, options))
			if kind == keyedKind {
				h = guarded(l, life, h)
			}
			return h
		}
	}
	b.run(t)
	b.restart = func() { b.stop(); b.run(t) }
	t.Cleanup(b.stop)
	b.cfg = fmt.Sprintf("{ url: %q%s }", "http://"+b.addr+"/mcp", map[bool]string{true: ", grant: { kind: key }"}[kind == keyedKind])
	return b
}

// run starts the server, at the address that it had.
func (b *backend) run(t testing.TB) {
	life, end := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(b.make(life))
	if b.addr != "" {
		l, err := net.Listen("tcp", b.addr)
		if err != nil {
			t.Errorf("the backend %s does not start again: %v", b.kind, err)
			end()
			return
		}
		_ = server.Listener.Close()
		server.Listener = l
	}
	server.Start()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addr, b.server, b.end = server.Listener.Addr().String(), server, end
}

func (b *backend) stop() {
	b.mu.Lock()
	server, end := b.server, b.end
	b.server = nil
	b.mu.Unlock()
	if server == nil {
		return
	}
	end()
	server.CloseClientConnections()
	server.Close()
}

// listening tells the ledger of each accepted answer, as it stands on the
// connection.
func listening(l *ledger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			var m struct {
				Method string
				Result struct {
					Content json.RawMessage
				}
			}
			var content struct{ Value string }
			if json.Unmarshal(body, &m) == nil && m.Method == "" && json.Unmarshal(m.Result.Content, &content) == nil && content.Value != "" {
				l.received(content.Value)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, r)
	})
}

// guarded takes the keys that people entered, and notes the use of one that
// was revoked.
func guarded(l *ledger, life func() int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		known := false
		l.change(func() {
			k := l.keys[key]
			known = k != nil && k.revoked == 0
			// A call that was under way when the account was revoked may still
			// arrive. A later life of the gateway has no such excuse.
			if k != nil && k.revoked != 0 && r.Method == http.MethodPost && life() > k.revoked {
				l.faultLocked("revived: the account %s of person %d was used after it was revoked", key, k.person)
			}
		})
		if !known {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// agentTurn is one turn of the agent's task: first the question, then the end.
func agentTurn(l *ledger, t *rig.Turn) {
	if t.N == 1 {
		n, err := strconv.Atoi(strings.TrimPrefix(t.Text(), "n="))
		if err != nil {
			t.Is(a2a.TaskStateFailed, a2a.NewTextPart("no number in "+t.Text()))
			return
		}
		key := l.run(n)
		t.Is(a2a.TaskStateInputRequired, a2a.NewTextPart(questionText(key)), a2a.NewDataPart(map[string]any{"requestedSchema": map[string]any{
			"type": "object", "properties": map[string]any{"value": map[string]any{"type": "string"}}, "required": []any{"value"},
		}}))
		return
	}
	var data struct{ Value, Action string }
	_ = json.Unmarshal([]byte(t.Data()), &data) // a message without data is the end of it
	value := data.Value
	key, _, _ := strings.Cut(value, ":")
	if data.Action != "" {
		t.Done(a2a.NewTextPart(data.Action + " "))
		return
	}
	l.hear(key, value)
	t.Done(a2a.NewTextPart("accept " + value))
}

// A backend that is a program is this test binary, started again. It tells the
// ledger over HTTP.
const ledgerVariable = "ANSWERBACK_WORLDS_LEDGER"

// pids are the processes of a program.
type pids struct {
	mu  sync.Mutex
	all []int
}

func (p *pids) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pid := range p.all {
		if proc, err := os.FindProcess(pid); err == nil {
			_ = proc.Kill() // it may have ended long ago
		}
	}
	p.all = nil
}

// remote is the ledger for programs.
func remote(l *ledger, p *pids) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		_, _ = io.WriteString(w, l.run(n))
	})
	mux.HandleFunc("POST /hear", func(_ http.ResponseWriter, r *http.Request) { l.hear(r.FormValue("key"), r.FormValue("value")) })
	mux.HandleFunc("POST /pid", func(_ http.ResponseWriter, r *http.Request) {
		pid, _ := strconv.Atoi(r.FormValue("pid"))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all = append(p.all, pid)
	})
	return mux
}

// far is a program's end of it.
type far struct{ url string }

func (f far) post(path string, form url.Values) string {
	resp, err := http.PostForm(f.url+path, form)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body) // the ledger is gone with the world
	return string(b)
}

func (f far) run(n int) string { return f.post("/run", url.Values{"n": {strconv.Itoa(n)}}) }

func (f far) hear(key, value string) {
	f.post("/hear", url.Values{"key": {key}, "value": {value}})
}

// serveProgram is the program of a backend.
func serveProgram(ledger string) error {
	f := far{ledger}
	f.post("/pid", url.Values{"pid": {strconv.Itoa(os.Getpid())}})
	return legacyServer(context.Background(), f).Run(context.Background(), &sdk.StdioTransport{})
}
