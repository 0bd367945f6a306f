//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// killedPeers: processes that are killed while a question is open.
func killedPeers(t *testing.T, w *peer.World) {
	t.Run("client", func(t *testing.T) { t.Parallel(); killedClient(t, w) })
	t.Run("client over stdio", func(t *testing.T) { t.Parallel(); killedStdioClient(t, w) })
	t.Run("stdio backend, legacy", func(t *testing.T) { t.Parallel(); killedLegacyBackend(t, w) })
	t.Run("stdio backend, modern", func(t *testing.T) { t.Parallel(); killedModernBackend(t, w) })
}

var hanging = []peer.Job{{Call: "form", Form: "hang"}}

// startHanging runs a client that is asked and does not answer.
func startHanging(t *testing.T, w *peer.World, to peer.Target) *exec.Cmd {
	t.Helper()
	to.Jobs = hanging
	cmd := w.ScriptCmd(t, "client-v1.mjs", "legacy", []peer.Target{to})
	if line := peer.FirstLine(t, cmd); line != "asked" {
		t.Fatalf("the client printed %q", line)
	}
	return cmd
}

// killedClient: the calls of other clients go on, with questions of their own.
func killedClient(t *testing.T, w *peer.World) {
	g := rig.Start(t, peer.Plenty+"limits: { drain: 1s }\nbackends:\n"+peer.Backend("http", w.GoLegacy)+peer.Backend("stdio", w.Bin("gosdk-server")))
	for _, name := range []string{"http", "stdio"} {
		t.Run(name, func(t *testing.T) {
			c := peer.GoSDK("2025-11-25")
			before := startHanging(t, w, peer.Target{URL: g.URL + "/" + name})
			check(t, c, []stop{{"beside it", peer.Target{URL: g.URL + "/" + name}, goSteps("", c, "beside-"+name)}})
			if err := before.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			check(t, c, []stop{{"after it", peer.Target{URL: g.URL + "/" + name}, goSteps("", c, "after-"+name)}})
		})
	}
}

// killedStdioClient: a gateway that a client started ends with that client,
// and takes its backends along.
func killedStdioClient(t *testing.T, w *peer.World) {
	command := peer.StdioGateway(t, peer.Backend("go", w.Bin("gosdk-server")))
	var log buffer
	cmd := w.ScriptCmd(t, "client-v1.mjs", "legacy", []peer.Target{{Command: command, Jobs: hanging}})
	cmd.Stderr = &log
	if line := peer.FirstLine(t, cmd); line != "asked" {
		t.Fatalf("the client printed %q\n%s", line, log.String())
	}
	pid := pidIn(t, log.String(), "go")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, "the backend outlives the client: "+log.String())
}

var started = regexp.MustCompile(`msg="backend process started" backend=(\S+) pid=(\d+)`)

// pidIn gives the process of a backend that was started last.
func pidIn(t *testing.T, log, name string) int {
	t.Helper()
	pid := 0
	for _, m := range started.FindAllStringSubmatch(log, -1) {
		if m[1] == name {
			pid, _ = strconv.Atoi(m[2])
		}
	}
	if pid == 0 {
		t.Fatalf("no process of backend %s was started\n%s", name, log)
	}
	return pid
}

// killedLegacyBackend: the client's prompt is withdrawn and its call fails
// with the reason. Another client does not notice. At the door of the backend
// alone the session went with the process, and a new one works; at the joined
// door the session goes on, with a new process.
func killedLegacyBackend(t *testing.T, w *peer.World) {
	hi := map[string]any{"text": "hi"}
	for _, at := range []struct {
		name, killed, door, ask, echo, said string
		args                                map[string]any
	}{
		{"gosdk", "gosdk", "/gosdk", "form", "echo", "hi", hi},
		{"reference", "reference", "/reference", "trigger-elicitation-request", "echo", "Echo: hi", map[string]any{"message": "hi"}},
		{"joined", "gosdk", "", "gosdk__form", "gosdk__echo", "hi", hi},
	} {
		t.Run(at.name, func(t *testing.T) {
			g := rig.Start(t, peer.Plenty+"backends:\n"+peer.Backend("gosdk", w.Bin("gosdk-server"))+peer.Backend("reference", w.Node, w.Reference, "stdio"))
			asked, withdrawn, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
			c := dialHere(t, g.URL+at.door, "2025-11-25", func(ctx context.Context) (*sdk.ElicitResult, error) {
				close(asked)
				<-ctx.Done()
				close(withdrawn)
				<-over // the SDK answers even now, and hangs up when the answer is refused
				return nil, ctx.Err()
			})
			works := func(who string, s *peer.GoSession) {
				t.Helper()
				res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: at.echo, Arguments: at.args})
				if err != nil {
					t.Fatalf("a call of %s: %v", who, err)
				}
				equal(t, "a call of "+who, res.Content[0].(*sdk.TextContent).Text, at.said)
			}
			works("the client", c)
			pid := pidIn(t, g.Log(), at.killed)
			other := dialHere(t, g.URL+at.door, "2025-11-25", nil)
			works("the other client", other)
			done := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: at.ask, Arguments: map[string]any{}})
				done <- err
			}()
			await(t, asked, "the question")
			kill(t, pid)
			await(t, withdrawn, "the withdrawal")
			f := peer.GoSDKFailure(await(t, done, "the end of the call"))
			close(over)
			if f.Code != float64(-32000) || peer.Pick(f.Data, "reason") != "outcome_unknown" {
				t.Errorf("the call ended with %+v, want -32000 and outcome_unknown", f)
			}
			works("the other client after the kill", other)
			if at.door == "" {
				works("the same client after the kill", c)
				return
			}
			_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: at.echo, Arguments: at.args})
			// The SDK says it in its words or in ours, by what it was doing.
			if err == nil || !strings.Contains(err.Error(), "session not found") && !strings.Contains(err.Error(), "There is no such session") {
				t.Errorf("the next call in the session gave %v, want that the session is gone", err)
			}
			works("the client in a new session", dialHere(t, g.URL+at.door, "2025-11-25", nil))
		})
	}
}

// killedModernBackend: between the rounds of a call the server keeps nothing,
// so the call goes on in another process.
func killedModernBackend(t *testing.T, w *peer.World) {
	g := rig.Start(t, peer.Plenty+"backends:\n"+peer.Backend("gosdk", w.Bin("gosdk-server")))
	c := dialHere(t, g.URL, "2026-07-28", func(context.Context) (*sdk.ElicitResult, error) {
		kill(t, pidIn(t, g.Log(), "gosdk"))
		g.WaitLog(t, "backend process ended")
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
	})
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "form", Arguments: map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"answer":{"action":"accept","content":{"name":"Ann"}},"state":"state-form"}`
	equal(t, "the result", res.Content[0].(*sdk.TextContent).Text, want)
}

// dialHere connects a client on go-sdk that answers forms as told.
func dialHere(t *testing.T, url, version string, form func(context.Context) (*sdk.ElicitResult, error)) *peer.GoSession {
	t.Helper()
	opts := &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return form(ctx) }}
	s, err := peer.DialGoSDK(t.Context(), url, version, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Leave)
	return s
}

// kill kills a process and waits until it is gone.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("process %d: %v", pid, err)
	}
	rig.Eventually(t, func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH }, "the killed process is still there")
}

func await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(rig.Patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

var _ io.Writer = (*buffer)(nil)

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
