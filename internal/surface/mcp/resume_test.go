package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// talker is a call that sends what the test tells it, and ends when told.
type talker struct {
	say  chan []byte
	said chan struct{}
}

func newTalker() *talker { return &talker{say: make(chan []byte), said: make(chan struct{})} }

func (k *talker) call(ctx context.Context, msg *wire.Message, peer contract.Peer) Response {
	for {
		select {
		case m, ok := <-k.say:
			if !ok {
				return echo(msg)
			}
			peer.Notify(m)
			k.said <- struct{}{}
		case <-ctx.Done():
			return Response{Body: response(msg, `"error":{"code":-32000,"message":"ended"}`)}
		}
	}
}

func (k *talker) send(m []byte) {
	k.say <- m
	<-k.said
}

// A client that loses its connection after any event, and comes back with the
// id of that event, gets exactly what it missed.
func TestResumptionAtEveryEventBoundary(t *testing.T) {
	const total = 4 // notifications; with priming and response there are two events more
	for lostAfter := 1; lostAfter <= total+1; lostAfter++ {
		for _, backAt := range []string{"during", "after"} {
			t.Run(fmt.Sprintf("lost after %d, back %s the call", lostAfter, backAt), func(t *testing.T) {
				k := newTalker()
				b := serve(t, &fakeGateway{call: k.call}, nil).initialize()
				ctx, hangUp := context.WithCancel(t.Context())
				opened := make(chan *http.Response, 1)
				go func() { opened <- b.open(ctx, "POST", request("5", "tools/call")) }()
				k.send(note("n/1")) // the stream begins with the first
				first := b.events(<-opened)
				var got []gotEvent
				sent := 1
				for len(got) < lostAfter {
					if len(got) > sent {
						sent++
						k.send(note(fmt.Sprintf("n/%d", sent)))
					}
					got = append(got, first.next())
				}
				hangUp()
				first.close()
				if backAt == "after" {
					for ; sent < total; sent++ {
						k.send(note(fmt.Sprintf("n/%d", sent+1)))
					}
					close(k.say)
				}
				back := b.with("Last-Event-ID", got[len(got)-1].id)
				second := back.events(back.open(t.Context(), "GET", ""))
				if backAt == "during" {
					for ; sent < total; sent++ {
						k.send(note(fmt.Sprintf("n/%d", sent+1)))
					}
					close(k.say)
				}
				got = append(got, second.rest()...)

				want := []string{""}
				for i := range total {
					want = append(want, string(note(fmt.Sprintf("n/%d", i+1))))
				}
				want = append(want, `{"jsonrpc":"2.0","id":5,"result":{"method":"tools/call"}}`)
				if len(got) != len(want) {
					t.Fatalf("got %d events %v, want %d", len(got), got, len(want))
				}
				for i := range want {
					if got[i].data != want[i] || got[i].id != fmt.Sprintf("1.%d", i+1) {
						t.Errorf("event %d is %v, want %s", i, got[i], want[i])
					}
				}
			})
		}
	}
}

func TestLostConnectionIsNoCancel(t *testing.T) {
	k := newTalker()
	ended := make(chan error, 1)
	g := &fakeGateway{call: func(ctx context.Context, msg *wire.Message, peer contract.Peer) Response {
		resp := k.call(ctx, msg, peer)
		ended <- ctx.Err()
		return resp
	}}
	b := serve(t, g, nil).initialize()
	ctx, hangUp := context.WithCancel(t.Context())
	opened := make(chan *http.Response, 1)
	go func() { opened <- b.open(ctx, "POST", request("5", "tools/call")) }()
	k.send(note("a"))
	events := b.events(<-opened)
	events.next()
	hangUp()
	events.close()
	for range 20 {
		k.send(note("b"))
	}
	close(k.say)
	if err := <-ended; err != nil {
		t.Errorf("the call was ended by %v", err)
	}
}

func TestEventsOfOneSessionAreNotReplayedInAnother(t *testing.T) {
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		peer.Notify(note("secret"))
		return echo(msg)
	}}
	b := serve(t, g, nil)
	one, two := b.initialize(), b.initialize()
	b.events(one.open(t.Context(), "POST", request("1", "x"))).rest()
	two.with("Last-Event-ID", "1.1").expect("GET", "", 400, "Last-Event-ID")
	for _, bad := range []string{"1", "1.", "1.x", "1.0", "1.9", "9.1", "0.1", ".", "-1.1"} {
		one.with("Last-Event-ID", bad).expect("GET", "", 400, "Last-Event-ID")
	}
	if got := data(b.events(one.with("Last-Event-ID", "1.2").open(t.Context(), "GET", "")).rest()); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,`) {
		t.Errorf("replayed %s", got)
	}
}

func TestFinishedStreamsAreForgotten(t *testing.T) {
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		peer.Notify(note("n"))
		return echo(msg)
	}}
	b := serve(t, g, nil).initialize()
	for range replayCount + 1 {
		b.events(b.open(t.Context(), "POST", request("1", "x"))).rest()
	}
	b.with("Last-Event-ID", "1.1").expect("GET", "", 400, "Last-Event-ID")
	if got := b.events(b.with("Last-Event-ID", "2.1").open(t.Context(), "GET", "")).rest(); len(got) != 2 {
		t.Errorf("the second stream gave %v", got)
	}
}

func TestOwnStreamKeepsWhatNobodyFollowed(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil).initialize()
	peer := b.gateway.last().peer
	peer.Notify(note("before"))
	own := b.events(b.open(t.Context(), "GET", ""))
	if e := own.next(); e != (gotEvent{"0.1", string(note("before"))}) {
		t.Errorf("got %v", e)
	}
	<-b.gateway.last().listens
	peer.Notify(note("during"))
	last := own.next()
	if last != (gotEvent{"0.2", string(note("during"))}) {
		t.Errorf("got %v", last)
	}
	own.close()
	peer.Notify(note("between"))
	back := b.with("Last-Event-ID", last.id)
	own = b.events(back.open(t.Context(), "GET", ""))
	if e := own.next(); e.data != string(note("between")) {
		t.Errorf("got %v", e)
	}
	own.close()
}

func TestNewerGetReplacesTheOlder(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil).initialize()
	older := b.events(b.open(t.Context(), "GET", ""))
	older.next()
	newer := b.events(b.open(t.Context(), "GET", ""))
	if rest := older.rest(); len(rest) != 0 {
		t.Errorf("the older one still had %v", rest)
	}
	newer.next()
	b.gateway.last().peer.Notify(note("one"))
	if e := newer.next(); e.data != string(note("one")) {
		t.Errorf("the newer one had %v", e)
	}
	newer.close()
}

func TestResumedStreamLeavesItsFirstConnection(t *testing.T) {
	k := newTalker()
	b := serve(t, &fakeGateway{call: k.call}, nil).initialize()
	opened := make(chan *http.Response, 1)
	go func() { opened <- b.open(t.Context(), "POST", request("5", "x")) }()
	k.send(note("a"))
	first := b.events(<-opened)
	second := b.events(b.with("Last-Event-ID", first.next().id).open(t.Context(), "GET", ""))
	if e := second.next(); e.data != string(note("a")) {
		t.Errorf("replayed %v", e)
	}
	k.send(note("b"))
	close(k.say)
	if got := data(second.rest()); !strings.Contains(got, "/b") || !strings.Contains(got, `"id":5`) {
		t.Errorf("the second had %s", got)
	}
	if got := data(first.rest()); strings.Contains(got, "/b") || strings.Contains(got, `"id":5`) {
		t.Errorf("the first had %s", got)
	}
}

func TestSessionQuestionsFindTheirWay(t *testing.T) {
	k := newTalker()
	b := serve(t, &fakeGateway{call: k.call}, nil).initialize()
	peer := b.gateway.last().peer
	question := func(id string) *ask.Ask { return &ask.Ask{ID: id, Method: "roots/list"} }

	if err := peer.Show(question("nobody")); ask.CodeOf(err) != ask.NoClient {
		t.Errorf("shown to nobody: %v", err)
	}
	opened := make(chan *http.Response, 1)
	go func() { opened <- b.open(t.Context(), "POST", request("5", "x")) }()
	k.send(note("a"))
	call := b.events(<-opened)
	call.next()
	call.next()
	if err := peer.Show(question("on-call")); err != nil {
		t.Errorf("with a call in flight: %v", err)
	}
	if e := call.next(); !strings.Contains(e.data, "on-call") {
		t.Errorf("the call had %v", e)
	}
	own := b.events(b.open(t.Context(), "GET", ""))
	prime := own.next()
	if prime.data != "" {
		t.Errorf("the own stream began with %v: a refused question was kept", prime)
	}
	if err := peer.Show(question("on-own")); err != nil {
		t.Errorf("with the own stream open: %v", err)
	}
	peer.Withdraw("on-own", nil)
	if a, c := own.next(), own.next(); !strings.Contains(a.data, "on-own") || !strings.Contains(c.data, "cancelled") {
		t.Errorf("the own stream had %v %v", a, c)
	}
	close(k.say)
	call.rest()
	own.close()

	// The client knows an event id of its own stream: it can come back.
	if err := peer.Show(question("away")); err != nil {
		t.Errorf("while away: %v", err)
	}
	own = b.events(b.with("Last-Event-ID", prime.id).open(t.Context(), "GET", ""))
	var all []gotEvent
	for range 3 {
		all = append(all, own.next())
	}
	if !strings.Contains(data(all), "away") {
		t.Errorf("after coming back: %v", all)
	}
	own.close()
}

func TestEventLogLimits(t *testing.T) {
	var l eventLog
	for n := uint64(1); n <= 10; n++ {
		l.add(event{n, make([]byte, 10)}, 4, 1000)
	}
	if got := l.after(0); len(got) != 4 || got[0].n != 7 || l.bytes != 40 {
		t.Errorf("by number: %d events from %d, %d bytes", len(got), got[0].n, l.bytes)
	}
	l.add(event{11, make([]byte, 25)}, 4, 50)
	if got := l.after(0); len(got) != 3 || l.bytes != 45 {
		t.Errorf("by bytes: %d events, %d bytes", len(got), l.bytes)
	}
	l.add(event{12, make([]byte, 500)}, 4, 50)
	if got := l.after(0); len(got) != 1 || got[0].n != 12 {
		t.Errorf("the newest must stay: %v events", len(got))
	}
	if got := l.after(12); got != nil {
		t.Errorf("after the last: %v", got)
	}
}
