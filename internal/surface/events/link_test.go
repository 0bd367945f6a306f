package events

import (
	"context"
	"net/http"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// TestLinkToItsPage: a question that leads to its own page, such as one for an
// account, is asked in mode url. To accept it is consent: it is settled when
// the page is done with, and not before.
func TestLinkToItsPage(t *testing.T) {
	finish := make(chan struct{})
	s := newSurface(t, &fakeGateway{serve: func(_ context.Context, _ *wire.Message, peer contract.Peer) string {
		if err := peer.Show(&ask.Ask{ID: "q", Kind: ask.Connect, Backend: "one",
			Params: []byte(`{"mode":"url","elicitationId":"q","url":"https://gw.example/asks/q","message":"Connect"}`)}); err != nil {
			t.Error(err)
		}
		<-finish
		peer.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"q"}}`))
		peer.Withdraw("q", ask.Errorf(ask.TooLate, "The question was answered elsewhere."))
		return done
	}}, nil)
	c := open(t, s, "POST", "/one/call", tool)
	id := c.next()["callId"].(string)
	if q := c.next(); q["type"] != typeAsked || q["mode"] != "url" || q["url"] != "https://gw.example/asks/q" {
		t.Errorf("it was asked as %v", q)
	}
	for range 2 { // agreeing again changes nothing
		if w := say(s, "POST", "/calls/"+id+"/respond", `{"id":"q","action":"accept"}`); w.Code != http.StatusOK {
			t.Errorf("the consent got %d %s", w.Code, w.Body)
		}
	}
	close(finish)
	if e := c.next(); e["type"] != typeComplete || e["elicitationId"] != "q" {
		t.Errorf("then came %v", e)
	}
	if e := c.next(); e["type"] != typeSettled || e["outcome"] != "answered" || e["action"] != nil {
		t.Errorf("it was settled as %v", e)
	}
	if e := c.next(); e["type"] != typeResult {
		t.Errorf("the call ended with %v", e)
	}
}
