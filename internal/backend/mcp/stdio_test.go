//go:build unix

package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/secret"
	"github.com/answerback/answerback/internal/wire"
)

// stdioPeer configures the test binary as a server.
func stdioPeer(t *testing.T, mode string, limits Limits) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Command: exe, Limits: limits, Env: map[string]secret.Text{peerMode: secret.New(mode), "MINE": secret.New("given"), "GORACE": secret.New("atexit_sleep_ms=0")}}
}

func list(t *testing.T) contract.Outgoing {
	return outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
}

func TestStdioLegacySession(t *testing.T) {
	line := open(t, newBackend(t, stdioPeer(t, "sdk", Limits{})), nil)
	sink := newRecorder()
	reply, err := line.Call(t.Context(), toolCall(t, "echo", `{"text":"line\nbreak"}`), sink)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, `line\nbreak`)
	if reply.Status != 0 {
		t.Errorf("status %d for what did not come over HTTP", reply.Status)
	}
	// A message with newlines between its tokens is one line all the same.
	out := outgoing(t, "{\"jsonrpc\":\"2.0\",\n\"id\":1,\r\n\"method\":\"tools/list\"}")
	if _, err := line.Call(t.Context(), out, sink); err != nil {
		t.Fatal(err)
	}
	if _, err := line.Call(t.Context(), toolCall(t, "progress", `{}`), sink); err != nil {
		t.Fatal(err)
	}
	for _, n := range sink.all() {
		if !strings.Contains(n, `"progressToken":"tok-é"`) {
			t.Errorf("progress %s", n)
		}
	}
	if len(sink.all()) != 3 {
		t.Errorf("%d notifications, want 3", len(sink.all()))
	}

	done := start(t, t.Context(), line, toolCall(t, "ask", `{"text":"Name?"}`), sink)
	q := next(t, sink.questions, "question")
	if q.Resume != nil {
		t.Error("a question over stdio claims that it can be resumed")
	}
	if err := q.Reply(t.Context(), []byte(`{"action":"accept","content":{"name":"Ada"}}`), nil); err != nil {
		t.Fatal(err)
	}
	r := next(t, done, "response")
	if r.err != nil {
		t.Fatal(r.err)
	}
	wantText(t, r.reply.Msg, "accept Ada")
}

func TestStdioCancel(t *testing.T) {
	line := open(t, newBackend(t, stdioPeer(t, "sdk", Limits{})), nil)
	ctx, cancel := context.WithCancel(t.Context())
	sink := newRecorder()
	done := start(t, ctx, line, toolCall(t, "block", `{}`), sink)
	next(t, sink.noted, "progress")
	cancel()
	if r := next(t, done, "end"); r.err != context.Canceled {
		t.Errorf("ended with %v", r.err)
	}
	if _, err := line.Call(t.Context(), list(t), newRecorder()); err != nil {
		t.Errorf("the line does not work after a cancel: %v", err)
	}
}

func TestStdioServerIsToldOfACancel(t *testing.T) {
	ev := newRecorder()
	line := open(t, newBackend(t, stdioPeer(t, "tells", Limits{})), ev)
	if got := next(t, ev.noted, "echo"); !strings.Contains(got, "notifications/initialized") {
		t.Fatalf("the server heard %s", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := newRecorder()
	done := start(t, ctx, line, toolCall(t, "x", `{}`), sink)
	next(t, sink.noted, "progress")
	cancel(ask.Errorf(ask.ClientCancelled, "The user cancelled."))
	wantCode(t, next(t, done, "end").err, ask.ClientCancelled)
	want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"The user cancelled."}}`
	if got := next(t, ev.noted, "echo"); !strings.Contains(got, want) {
		t.Errorf("the server heard %s, want %s", got, want)
	}
}

func TestStartsAreFurtherApartAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := New(Config{Name: "srv", Command: "no-such-command-anywhere", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close(t.Context())
		line := stateless(t, b)
		for i, want := range []time.Duration{0, firstBackoff, 2 * firstBackoff, 4 * firstBackoff} {
			from := time.Now()
			_, err := line.Call(t.Context(), list(t), newRecorder())
			wantCode(t, err, ask.BackendUnreachable)
			if got := time.Since(from); got != want {
				t.Errorf("start %d was put off by %v, want %v", i+1, got, want)
			}
		}
	})
}

func TestStdioQuestionsNameTheirCandidates(t *testing.T) {
	ev := newRecorder()
	line := open(t, newBackend(t, stdioPeer(t, "asks", Limits{})), ev)
	first, second := newRecorder(), newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	a := start(t, ctx, line, toolCall(t, "a", `{}`), first)
	own := next(t, first.questions, "question of the only call")
	b := start(t, ctx, line, toolCall(t, "b", `{}`), second)
	q := next(t, ev.questions, "question of several")
	if len(q.Candidates) != 2 || q.Candidates[0] != contract.Sink(first) || q.Candidates[1] != contract.Sink(second) {
		t.Errorf("candidates %v", q.Candidates)
	}
	cancel()
	next(t, a, "end")
	next(t, b, "end")
	<-own.Gone.Done()
	<-q.Gone.Done()
}

func TestStrayOutputIsTolerated(t *testing.T) {
	line := open(t, newBackend(t, stdioPeer(t, "noisy", Limits{})), nil)
	reply, err := line.Call(t.Context(), list(t), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, `"ok":true`)
}

func TestOverLongLineFailsItsCallOnly(t *testing.T) {
	for _, mode := range []string{"long", "longer"} {
		b := newBackend(t, stdioPeer(t, mode, Limits{MessageBytes: 100 << 10}))
		line := open(t, b, nil)
		_, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
		e := wantCode(t, err, ask.TooLarge)
		if !strings.Contains(e.Message, "srv") || !strings.Contains(e.Message, "102400") {
			t.Errorf("%s: message %q names not both backend and limit", mode, e.Message)
		}
		if _, err := line.Call(t.Context(), list(t), newRecorder()); err != nil {
			t.Errorf("%s: the call after it: %v", mode, err)
		}
	}
}

func TestCrashEndsALegacyLine(t *testing.T) {
	for _, mode := range []string{"crash", "closes"} {
		ev := newRecorder()
		b := newBackend(t, stdioPeer(t, mode, Limits{}))
		line := open(t, b, ev)
		_, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
		wantCode(t, err, ask.OutcomeUnknown)
		<-line.Done()
		e := wantCode(t, next(t, ev.lost, "loss"), ask.BackendLost)
		if mode == "crash" && !strings.Contains(e.Message, "exit status 3") {
			t.Errorf("message %q does not say how the process ended", e.Message)
		}
		_, err = line.Call(t.Context(), list(t), newRecorder())
		wantCode(t, err, ask.BackendLost)
		line.Close(t.Context())
	}
}

func TestProcessThatDiesInTheHandshake(t *testing.T) {
	ev := newRecorder()
	b := newBackend(t, stdioPeer(t, "stillborn", Limits{}))
	_, err := b.Open(t.Context(), contract.Hello{Params: []byte(helloParams), Events: ev})
	e := wantCode(t, err, ask.BackendLost)
	if !strings.Contains(e.Message, "exit status 5") {
		t.Errorf("message %q does not say how the process ended", e.Message)
	}
	b.Close(t.Context())
	if len(ev.lost) != 0 {
		t.Error("a line that nobody was given is said to be lost")
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	b := newBackend(t, Config{Command: "no-such-command-anywhere"})
	_, err := b.Open(t.Context(), contract.Hello{Params: []byte(helloParams), Events: newRecorder()})
	wantCode(t, err, ask.BackendUnreachable)
	_, err = stateless(t, b).Call(t.Context(), list(t), newRecorder())
	wantCode(t, err, ask.BackendUnreachable)
}

func TestEnvironmentIsExplicit(t *testing.T) {
	t.Setenv("NOT_FOR_SERVERS", "leaked")
	t.Setenv("HOME", "/nowhere")
	for own, want := range map[string]string{"": "/nowhere", "/configured": "/configured"} {
		cfg := stdioPeer(t, "env", Limits{})
		if own != "" {
			cfg.Env["HOME"] = secret.New(own)
		}
		line := open(t, newBackend(t, cfg), nil)
		reply, err := line.Call(t.Context(), list(t), newRecorder())
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, reply.Msg, `"mine":"given","secret":"","home":"`+want+`"`)
	}
}

func pidOf(t *testing.T, reply contract.Reply) int {
	t.Helper()
	m := reply.Msg
	pid, err := strconv.Atoi(string(wire.Get(m.Raw, m.Result, "pid").Of(m.Raw)))
	if err != nil {
		t.Fatalf("no pid in %s", m.Raw)
	}
	return pid
}

// alive reports whether a process runs; one that nobody has waited for does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err == nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestCloseEndsGrandchildrenToo(t *testing.T) {
	line := open(t, newBackend(t, stdioPeer(t, "child", Limits{})), nil)
	reply, err := line.Call(t.Context(), list(t), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	pid := pidOf(t, reply)
	if !alive(pid) {
		t.Fatal("the grandchild does not run")
	}
	line.Close(t.Context())
	eventually(t, "the grandchild ended", func() bool { return !alive(pid) })
}

func TestStubbornProcessIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the grace times to pass")
	}
	line := open(t, newBackend(t, stdioPeer(t, "stubborn", Limits{})), nil)
	reply, err := line.Call(t.Context(), list(t), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	line.Close(t.Context())
	if pid := pidOf(t, reply); alive(pid) {
		t.Errorf("process %d still runs", pid)
	}
}

func TestStatelessProcessIsSharedPerPrincipalAndRestarted(t *testing.T) {
	b := newBackend(t, stdioPeer(t, "plain", Limits{}))
	line := stateless(t, b)
	pids := map[int]bool{}
	for range 3 {
		reply, err := line.Call(t.Context(), list(t), newRecorder())
		if err != nil {
			t.Fatal(err)
		}
		pids[pidOf(t, reply)] = true
	}
	if len(pids) != 1 {
		t.Errorf("one principal has processes %v", pids)
	}
	bob, err := b.Stateless(t.Context(), ask.Principal{Issuer: "test", Subject: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := bob.Call(t.Context(), list(t), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	if pids[pidOf(t, reply)] {
		t.Error("two principals share a process")
	}
	for pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	b.lanes.mu.Lock()
	ln := b.lanes.live[alice]
	b.lanes.mu.Unlock()
	eventually(t, "the crash was seen", func() bool {
		ln.mu.Lock()
		defer ln.mu.Unlock()
		return ln.now == nil
	})
	reply, err = line.Call(t.Context(), list(t), newRecorder())
	if err != nil {
		t.Fatalf("after a crash: %v", err)
	}
	if pids[pidOf(t, reply)] {
		t.Error("the process was not replaced")
	}
}

func TestStatelessCrashIsTheCallsOwn(t *testing.T) {
	line := stateless(t, newBackend(t, stdioPeer(t, "crash", Limits{})))
	_, err := line.Call(t.Context(), toolCall(t, "x", "{}"), newRecorder())
	wantCode(t, err, ask.OutcomeUnknown)
	_, err = line.Call(t.Context(), list(t), newRecorder())
	wantCode(t, err, ask.BackendLost)
}

func TestIdleProcessIsGivenUp(t *testing.T) {
	b := newBackend(t, stdioPeer(t, "plain", Limits{Idle: time.Millisecond}))
	line := stateless(t, b)
	reply, err := line.Call(t.Context(), list(t), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	pid := pidOf(t, reply)
	eventually(t, "the idle process ended", func() bool { return !alive(pid) && len(b.procs) == 0 })
	reply, err = line.Call(t.Context(), list(t), newRecorder())
	if err != nil || pidOf(t, reply) == pid {
		t.Errorf("call after the idle time: %s, %v", reply.Msg.Raw, err)
	}
}

func TestProcessesAreLimited(t *testing.T) {
	b := newBackend(t, stdioPeer(t, "plain", Limits{Processes: 1}))
	line := open(t, b, nil)
	_, err := b.Open(t.Context(), contract.Hello{Params: []byte(helloParams), Events: newRecorder()})
	e := wantCode(t, err, ask.BackendUnreachable)
	if !strings.Contains(e.Message, "limit") {
		t.Errorf("message %q", e.Message)
	}
	line.Close(t.Context())
	open(t, b, nil).Close(t.Context())
}

func TestSubscriptionOverStdioHasTheClientsID(t *testing.T) {
	line := stateless(t, newBackend(t, stdioPeer(t, "subscribe", Limits{})))
	sink := newRecorder()
	out := outgoing(t, `{"jsonrpc":"2.0","id":"sub\u0031","method":"subscriptions/listen","params":{"notifications":{}}}`)
	reply, err := line.Call(t.Context(), out, sink)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, `"io.modelcontextprotocol/subscriptionId":"sub\u0031"`)
	got := sink.all()
	if len(got) != 2 || !strings.Contains(got[0], `"io.modelcontextprotocol/subscriptionId":"sub\u0031"`) || !strings.Contains(got[1], "whose?") {
		t.Errorf("sink got %q", got)
	}
}

func TestDiscoverOverStdio(t *testing.T) {
	m, err := newBackend(t, stdioPeer(t, "plain", Limits{})).probe(t.Context(), ask.Principal{})
	if err != nil || m.Kind != wire.Result {
		t.Errorf("answer %s, %v", m.Raw, err)
	}
	m, err = newBackend(t, stdioPeer(t, "crash", Limits{})).probe(t.Context(), ask.Principal{})
	if err != nil || m.Kind != 0 {
		t.Errorf("a server that dies of the question: %s, %v", m.Raw, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err = newBackend(t, stdioPeer(t, "silent", Limits{})).probe(ctx, ask.Principal{}); err == nil {
		t.Error("a silent server gave an answer")
	}
}

func TestClosedBackendStartsNoProcess(t *testing.T) {
	b := newBackend(t, stdioPeer(t, "crash", Limits{}))
	line := stateless(t, b)
	for range 3 {
		// Each crash puts off the next start for longer.
		_, _ = line.Call(t.Context(), list(t), newRecorder())
	}
	done := start(t, t.Context(), line, list(t), newRecorder())
	b.Close(t.Context())
	if r := next(t, done, "end"); r.err == nil {
		t.Error("a call succeeded on a closed backend")
	}
	_, err := line.Call(t.Context(), list(t), newRecorder())
	wantCode(t, err, ask.ShuttingDown)
	if n := len(b.procs); n != 0 {
		t.Errorf("%d processes run", n)
	}
}

// TestTheLastWordsAreSaid: what was queued for a process before its end is
// written, such as that a call was cancelled.
func TestTheLastWordsAreSaid(t *testing.T) {
	for range 50 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := &process{log: slog.New(slog.DiscardHandler), stdin: w, queue: make(chan []byte, writeQueue), quit: make(chan struct{}), gone: make(chan struct{})}
		for _, msg := range []string{"one", "two", "three"} {
			if err := p.send(t.Context(), []byte(msg)); err != nil {
				t.Fatal(err)
			}
		}
		p.end()
		p.write()
		w.Close()
		all, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(all) != "one\ntwo\nthree\n" {
			t.Fatalf("written: %q, %v", all, err)
		}
	}
}
