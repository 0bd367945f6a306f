package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/seal"
)

func sdkHTTP(t *testing.T, opts *sdk.StreamableHTTPOptions) string {
	s := sdkServer()
	return serve(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, opts)).URL
}

// E2, E4, E9: many questions at once, each answer reaches its own.
func TestSDKServerOverHTTP(t *testing.T) {
	for name, opts := range map[string]*sdk.StreamableHTTPOptions{
		"streams":         {},
		"resumable":       {EventStore: sdk.NewMemoryEventStore(nil)},
		"JSON where none": nil,
	} {
		t.Run(name, func(t *testing.T) {
			line := open(t, newBackend(t, Config{URL: sdkHTTP(t, opts)}), nil)
			line.Listen()
			sink := newRecorder()
			if _, err := line.Call(t.Context(), toolCall(t, "progress", `{}`), sink); err != nil {
				t.Fatal(err)
			}
			if got := sink.all(); len(got) != 3 || !strings.Contains(got[0], `"progressToken":"tok-é"`) {
				t.Errorf("progress %q", got)
			}
			const n = 20
			var done [n]<-chan result
			var sinks [n]*recorder
			for i := range n {
				sinks[i] = newRecorder()
				done[i] = start(t, t.Context(), line, toolCall(t, "ask", fmt.Sprintf(`{"text":"who %d?"}`, i)), sinks[i])
			}
			for i := range n {
				q := next(t, sinks[i].questions, "question")
				if !strings.Contains(string(q.Params), fmt.Sprintf("who %d?", i)) {
					t.Errorf("call %d was asked %s", i, q.Params)
				}
				if (q.Resume != nil) != (name == "resumable") {
					t.Errorf("resume handle of %d bytes", len(q.Resume))
				}
				if err := q.Reply(t.Context(), []byte(fmt.Sprintf(`{"action":"accept","content":{"name":"n%d"}}`, i)), nil); err != nil {
					t.Fatal(err)
				}
			}
			for i := range n {
				r := next(t, done[i], "response")
				if r.err != nil {
					t.Fatal(r.err)
				}
				wantText(t, r.reply.Msg, fmt.Sprintf("accept n%d", i))
			}
		})
	}
}

func TestSDKServerIsToldOfACancel(t *testing.T) {
	line := open(t, newBackend(t, Config{URL: sdkHTTP(t, nil)}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	sink := newRecorder()
	done := start(t, ctx, line, toolCall(t, "block", `{}`), sink)
	next(t, sink.noted, "progress")
	cancel()
	if r := next(t, done, "end"); r.err != context.Canceled {
		t.Errorf("ended with %v", r.err)
	}
	line.Close(t.Context())
}

func TestSDKModernServer(t *testing.T) {
	b := newBackend(t, Config{URL: sdkHTTP(t, &sdk.StreamableHTTPOptions{Stateless: true})})
	m, err := b.probe(t.Context(), ask.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, m, "2026-07-28")
	out := outgoing(t, `{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},`+modernMeta+`}}`)
	out.Name = "echo"
	reply, err := stateless(t, b).Call(t.Context(), out, newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, `"id":"mine"`)
	wantText(t, reply.Msg, `"hi"`)
}

// A gateway that was restarted takes up a call that was blocked on a
// question, answers it, and gets the call's final response.
func TestBlockedCallIsResumedAfterARestart(t *testing.T) {
	url := sdkHTTP(t, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})
	ring := seal.Random()
	before := newBackend(t, Config{URL: url, Ring: ring})
	line := open(t, before, nil)
	sink := newRecorder()
	ctx, crash := context.WithCancel(t.Context())
	done := start(t, ctx, line, toolCall(t, "ask", `{"text":"Name?"}`), sink)
	handle := next(t, sink.questions, "question").Resume
	if handle == nil {
		t.Fatal("the question cannot be resumed")
	}
	// A crash tells the server nothing: cut the line without its farewell.
	line.(*legacyLine).end(ask.Errorf(ask.BackendLost, "crash"))
	crash()
	next(t, done, "end")

	after := newBackend(t, Config{URL: url, Ring: ring})
	hello := contract.Hello{Principal: alice, Params: []byte(helloParams), Events: newRecorder()}
	if _, err := after.Resume(contract.Hello{Events: newRecorder()}, newRecorder(), handle); ask.CodeOf(err) != ask.BadState {
		t.Errorf("somebody else's handle: %v", err)
	}
	resumed, err := after.Resume(hello, newRecorder(), handle)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := after.Resume(hello, newRecorder(), handle); ask.CodeOf(err) != ask.BackendLost {
		t.Errorf("the same call was resumed twice: %v", err)
	}
	got := make(chan result, 1)
	go func() {
		reply, err := resumed.Wait(t.Context())
		got <- result{reply, err}
	}()
	q := resumed.Questions[0]
	if q.Method != "elicitation/create" {
		t.Errorf("the question's method is %q", q.Method)
	}
	if err := q.Reply(t.Context(), []byte(`{"action":"accept","content":{"name":"Ada"}}`), nil); err != nil {
		t.Fatal(err)
	}
	r := next(t, got, "response")
	if r.err != nil {
		t.Fatal(r.err)
	}
	wantText(t, r.reply.Msg, "accept Ada")
	reply, err := resumed.Line.Call(t.Context(), toolCall(t, "echo", `{"text":"still here"}`), newRecorder())
	if err != nil {
		t.Fatalf("the resumed line does not work: %v", err)
	}
	wantText(t, reply.Msg, "still here")
	if n := resumed.Line.(*legacyLine).next.Load(); n <= 1<<lifeBits {
		t.Errorf("ids of the session's second life go on from %d and may repeat", n)
	}
}

func TestWhatCannotBeResumedSaysSo(t *testing.T) {
	hello := contract.Hello{Principal: alice, Events: newRecorder()}
	b := newBackend(t, Config{Command: "anything"})
	_, err := b.Resume(hello, newRecorder(), []byte("handle"))
	wantCode(t, err, ask.BackendLost)

	url := sdkHTTP(t, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})
	b = newBackend(t, Config{URL: url})
	line := open(t, b, nil)
	sink := newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	done := start(t, ctx, line, toolCall(t, "ask", `{"text":"Name?"}`), sink)
	handle := next(t, sink.questions, "question").Resume
	cancel()
	next(t, done, "end")
	line.Close(t.Context()) // the session is ended at the server
	ev := newRecorder()
	hello.Events = ev
	resumed, err := b.Resume(hello, newRecorder(), handle)
	if err != nil {
		t.Fatal(err)
	}
	_, err = resumed.Wait(t.Context())
	wantCode(t, err, ask.OutcomeUnknown)
	wantCode(t, next(t, ev.lost, "loss"), ask.BackendLost)
	if err := resumed.Questions[0].Reply(t.Context(), []byte("{}"), nil); ask.CodeOf(err) != ask.BackendLost {
		t.Errorf("an answer to a lost session: %v", err)
	}
	_, err = b.Resume(hello, newRecorder(), []byte("forged"))
	wantCode(t, err, ask.BadState)
}
