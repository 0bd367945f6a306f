package relay

import (
	"context"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// informedPeer is a client that wants to know what it was not asked.
type informedPeer struct {
	*fakePeer
	unasked chan string
}

func (p *informedPeer) Unasked(kind ask.Kind, params []byte, page string) {
	p.unasked <- kind.String() + " " + string(params) + page
}

// A peer that wants to know is told of the question that its client did not
// declare it can be asked, and of no other.
func TestUnaskedQuestionsAreTold(t *testing.T) {
	r := newRelay(t, &fakeServer{name: "f", serve: func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		q, replies, _ := newQuestion("elicitation/create", anyForm)
		sink.Question(q)
		return okTo(msg, `{"reply":`+<-replies+`}`), nil
	}})
	for _, tt := range []struct{ caps, want string }{{`{}`, "form " + anyForm}, {`{"elicitation":{"url":{}}}`, "form " + anyForm}, {`{"elicitation":{}}`, ""}} {
		peer := &informedPeer{newPeer(), make(chan string, 1)}
		hello := scan(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + tt.caps + `,"clientInfo":{"name":"c","version":"1"}}}`)
		s, resp := r.Initialize(t.Context(), "", "session-1", alice, &hello, peer)
		if s == nil {
			t.Fatalf("no session: %s", resp.Body)
		}
		if tt.want == "" {
			go func() { answer(t, s, <-peer.shown, `{"action":"decline"}`) }()
		}
		reply := send(s, peer, toolCall)
		if told := strings.Contains(string(reply.Raw), "decline"); told != (tt.want == "") {
			t.Errorf("with %s the backend got %s", tt.caps, reply.Raw)
		}
		select {
		case got := <-peer.unasked:
			if got != tt.want {
				t.Errorf("with %s the peer was told %q, want %q", tt.caps, got, tt.want)
			}
		default:
			if tt.want != "" {
				t.Errorf("with %s the peer was told nothing", tt.caps)
			}
		}
		s.Close(context.Background(), ask.Errorf(ask.ClientGone, "The test is over."))
	}
}

type anyPage struct{}

func (anyPage) Link(id string) string    { return "https://gw.example/asks/" + id }
func (anyPage) Opens(ask.Principal) bool { return true }

// A peer that wants to know hears how a link ended whose page was opened;
// others hear only that its page is done with.
func TestEndOfALinkIsTold(t *testing.T) {
	why := ask.Errorf(ask.Timeout, "Too late.")
	for _, followed := range []bool{false, true} {
		peer := &informedPeer{newPeer(), make(chan string, 1)}
		plain := newPeer()
		for _, to := range []contract.Peer{peer, plain} {
			l := &link{peer: to, pages: anyPage{}}
			if followed {
				l.Followed()
			}
			l.Withdraw("q", why)
		}
		done := 0
		if followed {
			done = 1
		}
		if len(peer.withdrawn) != 1 || len(peer.notified) != done {
			t.Errorf("followed %v: it was withdrawn %d times and done %d times", followed, len(peer.withdrawn), len(peer.notified))
		}
		if len(plain.withdrawn) != 1-done || len(plain.notified) != done {
			t.Errorf("followed %v: for others it was withdrawn %d times and done %d times", followed, len(plain.withdrawn), len(plain.notified))
		}
	}
}
