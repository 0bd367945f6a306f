package relay

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/bridge"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/parking/parkingtest"
	"github.com/answerback/answerback/internal/wire"
)

// hearing is a fake server that hears notifications of its client, and that
// can speak while its line is being opened.
type hearing struct {
	*fakeServer
	heard   chan string
	opening func(contract.Events)
}

func (h *hearing) Open(ctx context.Context, hello contract.Hello) (contract.Line, error) {
	if h.opening != nil {
		h.opening(hello.Events)
	}
	line, err := h.fakeServer.Open(ctx, hello)
	return hearingLine{line, h}, err
}

type hearingLine struct {
	contract.Line
	of *hearing
}

func (l hearingLine) Notify(_ context.Context, msg []byte) error {
	l.of.heard <- string(msg)
	return nil
}

// hears puts servers that hear in the place of all backends of a relay.
func hears(r *Relay, servers ...*fakeServer) []*hearing {
	var all []*hearing
	var entries []Entry
	for _, s := range servers {
		h := &hearing{fakeServer: s, heard: make(chan string, 16)}
		all, entries = append(all, h), append(entries, Entry{Backend: h})
	}
	r.table.Store(newTable(entries))
	return all
}

// A backend that asks before its handshake is over is refused: there is no
// session yet that could be asked.
func TestQuestionBeforeTheHandshakeIsOver(t *testing.T) {
	server := aServer("f")
	r := newRelay(t, server)
	replies := make(chan string, 1)
	hears(r, server)[0].opening = func(to contract.Events) {
		q, got, _ := newQuestion("elicitation/create", anyForm)
		to.Question(q)
		replies <- <-got
	}
	peer := newPeer()
	openSession(t, r, peer)
	wants(t, "the reply", <-replies, `"reason":"no_client"`, `"name":"ConnectionClosed"`, "before the handshake")
	if len(peer.shown) != 0 {
		t.Error("the client was asked")
	}
}

// A question that may belong to either of two calls stops the clocks of both,
// and the end of one of them does not end it. At an endpoint of its own and at
// the joined one.
func TestQuestionOfOneOfTwoCalls(t *testing.T) {
	for name, servers := range map[string]int{"solo": 1, "joined": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sinks := make(chan contract.Sink, 2)
				leave := map[string]chan struct{}{"1": make(chan struct{}), "2": make(chan struct{})}
				server := &fakeServer{name: "f", serve: func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
					if msg.Method() != "tools/call" {
						return okTo(msg, `{"tools":[{"name":"t"}]}`), nil
					}
					sinks <- sink
					<-leave[string(msg.Field(msg.ID))]
					return okTo(msg, `{}`), nil
				}}
				all, tool := []*fakeServer{server}, toolCall
				if servers == 2 {
					all, tool = append(all, aServer("other")), strings.Replace(toolCall, `"t"`, `"f__t"`, 1)
				}
				r := newRelay(t, all...)
				peer := newPeer()
				s := openSession(t, r, peer)
				done := make(chan wire.Message, 2)
				for _, id := range []string{"1", "2"} {
					go func() { done <- send(s, peer, strings.Replace(tool, `"id":1`, `"id":`+id, 1)) }()
				}
				q, replies, _ := newQuestion("elicitation/create", anyForm)
				q.Candidates = []contract.Sink{<-sinks, <-sinks, silent{}}
				calls := callsOf(q)
				if len(calls) != 2 || calls[0] == calls[1] {
					t.Fatalf("it may belong to %d calls", len(calls))
				}
				server.opened[0].Events.Question(q)
				a := <-peer.shown
				close(leave["1"])
				<-done
				if len(peer.withdrawn) != 0 {
					t.Error("the end of one call took the question back")
				}
				answer(t, s, a, `{"action":"accept","content":{}}`)
				wants(t, "the reply", <-replies, `"accept"`)
				close(leave["2"])
				<-done
			})
		})
	}
}

// At the joined endpoint a client's progress finds the one backend whose
// question it is about, for as long as that is open.
func TestProgressFindsTheBackendThatAsked(t *testing.T) {
	asks := func(token string) func(context.Context, *wire.Message, contract.Sink) (string, error) {
		return func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			if msg.Method() != "tools/call" {
				return okTo(msg, `{"tools":[{"name":"t"}]}`), nil
			}
			return puts("elicitation/create", anyForm, func(q *contract.Question) { q.Token = []byte(token) })(ctx, msg, sink)
		}
	}
	one, two := &fakeServer{name: "one", serve: asks(`"p1"`)}, &fakeServer{name: "two", serve: asks(`7`)}
	r := newRelay(t, one, two)
	servers := hears(r, one, two)
	peer := newPeer()
	s := openSession(t, r, peer)
	done := make(chan wire.Message, 2)
	for id, tool := range map[string]string{"1": "one__t", "2": "two__t"} {
		go func() {
			done <- send(s, peer, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"`+tool+`"}}`)
		}()
	}
	first, second := <-peer.shown, <-peer.shown
	for _, h := range servers {
		<-h.heard // the end of its handshake
	}
	tell := func(token string) {
		m := scan(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`)
		s.Notify(t.Context(), &m)
	}
	tell(`"p1"`)
	tell(`7`)
	tell(`"of nobody"`)
	wants(t, "the first backend", <-servers[0].heard, `"progressToken":"p1"`)
	wants(t, "the second backend", <-servers[1].heard, `"progressToken":7`)
	for _, a := range []ask.Ask{first, second} {
		answer(t, s, a, `{"action":"decline"}`)
	}
	<-done
	<-done
	s.Close(t.Context(), ask.Errorf(ask.ClientGone, "over"))
	if len(servers[0].heard)+len(servers[1].heard) != 0 {
		t.Error("progress reached a backend that it is not for")
	}
}

// The gateway's own requests are asked nothing: a backend that asks in the
// middle of a list is refused, and the list is served.
func TestQuestionInTheGatewaysOwnRequest(t *testing.T) {
	replies := make(chan string, 1)
	curious := &fakeServer{name: "one", serve: func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		q, got, _ := newQuestion("elicitation/create", anyForm)
		sink.Question(q)
		replies <- <-got
		return okTo(msg, `{"tools":[{"name":"t"}]}`), nil
	}}
	r := newRelay(t, curious, aServer("two"))
	peer := newPeer()
	s := openSession(t, r, peer)
	wants(t, "the list", string(send(s, peer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Raw), `"one__t"`)
	wants(t, "the reply", <-replies, `"reason":"no_client"`, "the gateway itself made this request")
}

// The modern era has no questions outside a call: one on a leased session, or
// on a subscription, is refused.
func TestQuestionOutsideAnyModernCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		server := legacyServer(asksFor(0, &runs))
		r := newRelay(t, server)
		callWith(r, alice, `{"elicitation":{"form":{}}}`, "tools/call", "")
		q, replies, _ := newQuestion("elicitation/create", anyForm)
		server.opened[0].Events.Question(q)
		wants(t, "on a leased session", <-replies, `"reason":"no_client"`, "belongs to no call")
		r.Close()
	})
	replies := make(chan string, 2)
	asks := func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		if msg.Method() == "subscriptions/listen" {
			q, got, _ := newQuestion("elicitation/create", anyForm)
			sink.Question(q)
			replies <- <-got
		}
		return okTo(msg, `{"resultType":"complete"}`), nil
	}
	caps := `{"tools":{"listChanged":true}}`
	r := newRelay(t, &fakeServer{name: "one", serve: asks, caps: caps}, &fakeServer{name: "two", serve: asks, caps: caps})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m := scan(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}},"notifications":{"toolsListChanged":true}}}`)
		r.Call(ctx, "", alice, &m, nil, newPeer())
	}()
	for range 2 {
		wants(t, "on a subscription", <-replies, `"reason":"no_client"`, "no questions on a subscription")
	}
	leave()
	<-done
	r.Close()
}

// A question of a modern call that is not parked belongs to that call.
func TestQuestionOfAModernCall(t *testing.T) {
	r := newRelay(t, &fakeServer{name: "one", serve: puts("ping", `{}`)})
	m := askModern(r, "one", alice, newPeer(), "tools/call", `"name":"t"`, `{}`)
	wants(t, "the reply", string(m.Raw), `{"reply":{}}`)
	r.Close()
}

// What a client's own form may not show goes to a page also between two modern
// peers: the gateway takes the call on itself, and the server gets the answer.
func TestSecretBetweenModernPeersGoesToAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{name: "old", serve: func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
			if given := wire.Get(msg.Raw, msg.Params, "inputResponses").Of(msg.Raw); given != nil {
				return okTo(msg, `{"resultType":"complete","given":`+string(given)+`}`), nil
			}
			return okTo(msg, `{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":`+asksPassword+`}}}`), nil
		}}
		r := newRelay(t, server)
		r.pages = fakePages{}
		r.cross = func(x contract.Crossing) (contract.Line, error) {
			return bridge.Open(bridge.Config{Crossing: x, Log: slog.New(slog.DiscardHandler)})
		}
		both := `{"elicitation":{"form":{},"url":{}}}`
		m := callWith(r, alice, both, "tools/call", "")
		inputs := string(m.Field(m.InputRequests))
		wants(t, "the client", inputs, `"mode":"url"`, fakePages{}.Link(""))
		if strings.Contains(inputs, "password") {
			t.Errorf("the form reached the client: %s", inputs)
		}
		waiting := r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 10)
		if len(waiting) != 1 {
			t.Fatalf("%d questions wait", len(waiting))
		}
		given := ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":{"password":"p"}}`)}
		if _, err := r.desk.Submit(waiting[0].Ask.ID, desk.Viewer{Principal: alice.Principal}, "page", given); err != nil {
			t.Fatal(err)
		}
		m = callWith(r, alice, both, "tools/call", `,"inputResponses":{"q1":{"action":"accept"}},"requestState":`+stateOf(m))
		wants(t, "the server", string(m.Raw), `"given":{"k":{"action":"accept","content":{"password":"p"}}}`)
		r.Close()
	})
}

// warnedPeer is a client whose surface has words for time that is nearly up.
type warnedPeer struct {
	*fakePeer
	warned chan string
}

func (p *warnedPeer) Warn(a *ask.Ask, _ int) { p.warned <- a.ID }

// Time that is nearly up is told in the words of the client's surface, for a
// form and for a link.
func TestSurfaceIsWarned(t *testing.T) {
	peer := &warnedPeer{newPeer(), make(chan string, 2)}
	for _, to := range []desk.Warner{plain{Peer: peer}, &link{peer: peer, pages: anyPage{}}} {
		to.Warn(&ask.Ask{ID: "q"}, 1)
		if id := <-peer.warned; id != "q" {
			t.Errorf("warned of %q", id)
		}
	}
}

// A page is no way for a question none of whose calls can wait for it, and
// which of several can is enough.
func TestCallsThatCannotWaitForAPage(t *testing.T) {
	r := newRelay(t, aServer("f"))
	r.pages = fakePages{}
	park(t, r, 1, &parkingtest.Memory{})
	terms := parking.Terms{Who: alice.Principal, Backend: "f", Name: "t"}
	parked := func() *call { return &call{pk: r.lot.New(terms)} }
	bound := &call{} // ends with its request
	admits := func(calls ...*call) *ask.Error { return (&carried{calls: calls}).admit() }
	if err := admits(bound); err == nil || err.Code != ask.NoClient {
		t.Errorf("a call that ends with its request: %v", err)
	}
	if err := admits(bound, parked()); err != nil {
		t.Errorf("one that can wait: %v", err)
	}
	if err := admits(parked()); err == nil || err.Code != ask.TooManyOpen {
		t.Errorf("one more than may wait: %v", err)
	}
}

// A question that was answered before its page was ready does not end its call
// with the link to it.
func TestPageOfAnAnsweredQuestion(t *testing.T) {
	r := newRelay(t, aServer("f"))
	r.pages = fakePages{}
	peer := &informedPeer{newPeer(), make(chan string, 1)}
	k := &carried{asker: asker{relay: r}, done: true, calls: []*call{{peer: peer}}}
	k.waitsOnPage(&ask.Ask{ID: "q", Kind: ask.Form, Params: []byte(anyForm)})
	if k.page != "" || len(peer.unasked) != 0 {
		t.Errorf("it waits at %q", k.page)
	}
}
