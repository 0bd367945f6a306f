package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

func listing(items string) func(context.Context, *wire.Message, contract.Sink) (string, error) {
	return func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		if msg.Method() == "tools/list" {
			return okTo(msg, `{"tools":[`+items+`]}`), nil
		}
		return okTo(msg, `{"served":`+string(msg.Field(msg.Name))+`}`), nil
	}
}

// A dead backend does not hide the others, and the list says who is missing.
func TestDeadBackendIsNamedAndHidesNobody(t *testing.T) {
	good := &fakeServer{name: "good", serve: listing(`{"name":"a"}`)}
	dead := &fakeServer{name: "dead", refuse: ask.Errorf(ask.BackendUnreachable, "dead cannot be reached.")}
	peer := newPeer()
	s := openSession(t, newRelay(t, good, dead), peer)
	r := send(s, peer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, want := range []string{`"good__a"`, `"answerback/unavailable":[{"backend":"dead","reason":"backend_unreachable"`} {
		if !strings.Contains(string(r.Raw), want) {
			t.Errorf("the list lacks %s: %s", want, r.Raw)
		}
	}
	if r := send(s, peer, strings.Replace(toolCall, `"t"`, `"good__a"`, 1)); !strings.Contains(string(r.Raw), `{"served":"a"}`) {
		t.Errorf("the good backend: %s", r.Raw)
	}
	if r := send(s, peer, strings.Replace(toolCall, `"t"`, `"dead__a"`, 1)); !strings.Contains(string(r.Raw), "backend_unreachable") {
		t.Errorf("the dead backend: %s", r.Raw)
	}
}

// The changes of several backends reach a session as one notification.
func TestListChangesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &fakeServer{name: "one", serve: listing(`{"name":"a"}`)}
		two := &fakeServer{name: "two", serve: listing(`{"name":"a"}`)}
		peer := newPeer()
		s := openSession(t, newRelay(t, one, two), peer)
		send(s, peer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		changed := scan(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		for range 10 {
			one.opened[0].Events.Notify(&changed)
			two.opened[0].Events.Notify(&changed)
		}
		time.Sleep(time.Second)
		if n := len(peer.notified); n != 1 {
			t.Errorf("%d notifications, want 1", n)
		}
		if got := <-peer.notified; got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
			t.Errorf("got %s", got)
		}
	})
}

// A session is opened at a backend at its first use, with the client's own
// capabilities, and closed with the client's session.
func TestLinesAreOpenedAtFirstUse(t *testing.T) {
	one := &fakeServer{name: "one", serve: listing(`{"name":"a"}`)}
	two := &fakeServer{name: "two", serve: listing(`{"name":"a"}`)}
	peer := newPeer()
	s := openSession(t, newRelay(t, one, two), peer)
	if len(one.opened)+len(two.opened) != 0 {
		t.Error("a line was opened before it was used")
	}
	for range 3 {
		send(s, peer, strings.Replace(toolCall, `"t"`, `"one__a"`, 1))
	}
	if len(one.opened) != 1 || len(two.opened) != 0 {
		t.Errorf("opened %d and %d lines, want 1 and 0", len(one.opened), len(two.opened))
	}
	s.Close(context.Background(), ask.Errorf(ask.ClientGone, "over"))
	if one.closed != 1 {
		t.Errorf("%d lines closed, want 1", one.closed)
	}
}

// Swapping the backends tells joined sessions, who then see the new ones.
func TestSwapTellsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := &fakeServer{name: "one", serve: listing(`{"name":"a"}`)}
		two := &fakeServer{name: "two", serve: listing(`{"name":"b"}`)}
		three := &fakeServer{name: "three", serve: listing(`{"name":"c"}`)}
		peer := newPeer()
		r := newRelay(t, one, two)
		s := openSession(t, r, peer)
		r.Swap([]Entry{{Backend: one}, {Backend: three}})
		time.Sleep(time.Second)
		if len(peer.notified) != 3 {
			t.Errorf("%d notifications, want one for each list", len(peer.notified))
		}
		list := string(send(s, peer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Raw)
		if !strings.Contains(list, "three__c") || strings.Contains(list, "two__b") {
			t.Errorf("the list after the swap: %s", list)
		}
	})
}
