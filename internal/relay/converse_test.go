package relay

import (
	"context"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// parted is why the sessions of these tests end.
var parted = ask.Errorf(ask.ClientGone, "The call is over.")

// A conversation keeps its line from one session to the next. Other
// conversations, callers and surfaces, and sessions at the same time, have
// their own; so has the next session after a call that failed.
func TestAConversationKeepsItsLine(t *testing.T) {
	fails := false
	server := &fakeServer{name: "old", legacy: true, serve: func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		if fails {
			return "", ask.Errorf(ask.OutcomeUnknown, "Lost.")
		}
		return okTo(msg, `{"content":[]}`), nil
	}}
	r := newRelay(t, server)
	defer r.Close()
	open := func(who contract.Caller, conversation string) *Session {
		t.Helper()
		who.Conversation = conversation
		hello := scan(helloAll)
		s, resp := r.Initialize(t.Context(), "old", "s", who, &hello, newPeer())
		if s == nil {
			t.Fatalf("no session: %s", resp.Body)
		}
		done := scan(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		s.Notify(t.Context(), &done)
		msg := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
		s.Call(t.Context(), &msg, newPeer())
		return s
	}
	end := func(s *Session) { s.Close(t.Context(), parted) }
	want := func(what string, n int) {
		t.Helper()
		server.mu.Lock()
		defer server.mu.Unlock()
		if len(server.opened) != n {
			t.Errorf("%s: %d lines were opened, want %d", what, len(server.opened), n)
		}
	}
	for range 3 {
		end(open(alice, "c"))
	}
	want("three sessions of a conversation", 1)
	end(open(alice, "d"))
	end(open(person("bob"), "c"))
	events := alice
	events.Surface = "events"
	end(open(events, "c"))
	want("another conversation, another caller, another surface", 4)
	end(open(alice, ""))
	end(open(alice, ""))
	want("two sessions without a conversation", 6)
	first, second := open(alice, "c"), open(alice, "c")
	end(first)
	end(second)
	want("two sessions at the same time", 7)
	fails = true
	end(open(alice, "c"))
	fails = false
	end(open(alice, "c"))
	want("after a call that failed the other line", 7)
	fails = true
	end(open(alice, "c"))
	fails = false
	end(open(alice, "c"))
	want("after both have failed", 8)
}

// What a shared line sends outside any call is for the session that has it. In
// between a question is refused.
func TestASharedLineBelongsToItsHolder(t *testing.T) {
	server := &fakeServer{name: "old", legacy: true}
	r := newRelay(t, server)
	defer r.Close()
	who := alice
	who.Conversation = "c"
	open := func() (*Session, *fakePeer) {
		hello, peer := scan(helloAll), newPeer()
		s, resp := r.Initialize(t.Context(), "old", "s", who, &hello, peer)
		if s == nil {
			t.Fatalf("no session: %s", resp.Body)
		}
		return s, peer
	}
	asks := func() <-chan string {
		q, reply, cancel := newQuestion("elicitation/create", anyForm)
		t.Cleanup(func() { cancel(nil) })
		server.opened[0].Events.Question(q)
		return reply
	}
	for range 2 {
		s, peer := open()
		reply := asks()
		shown := <-peer.shown
		answer := scan(`{"jsonrpc":"2.0","id":"` + shown.ID + `","result":{"action":"decline"}}`)
		if err := s.Answer(&answer); err != nil {
			t.Fatal(err)
		}
		if got := <-reply; !strings.Contains(got, "decline") {
			t.Errorf("the question of the holder's time was answered with %s", got)
		}
		s.Close(t.Context(), parted)
		if got := <-asks(); !strings.Contains(got, "no_client") {
			t.Errorf("a question while the line is idle was answered with %s", got)
		}
	}
	if len(server.opened) != 1 {
		t.Errorf("%d lines were opened", len(server.opened))
	}
}
