package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// modernClient is a client that says everything with each request.
type modernClient struct {
	t   *testing.T
	r   *Relay
	who contract.Caller
}

func (c *modernClient) call(ctx context.Context, peer contract.Peer, method, params string) wire.Message {
	c.t.Helper()
	params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},` + params[1:]
	m := scan(request(method, params))
	return scan(string(c.r.Call(ctx, "", c.who, &m, nil, peer).Body))
}

func (c *modernClient) create() string {
	c.t.Helper()
	m := c.call(c.t.Context(), newPeer(), "elicitation/create", createForm)
	wants(c.t, "the form", string(m.Raw), `"status":"pending"`)
	return textOf(m, m.Result, "elicitationId")
}

// listen begins a subscription. What it ends with comes on the channel.
func (c *modernClient) listen(ctx context.Context, ids string) (*fakePeer, <-chan string) {
	peer, done := newPeer(), make(chan string, 1)
	go func() {
		m := c.call(ctx, peer, "subscriptions/listen", `{"notifications":{"elicitationIds":`+ids+`}}`)
		done <- string(m.Raw)
	}()
	return peer, done
}

func formsTest(t *testing.T, secrets bool, run func(*testing.T, *modernClient)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, aServer("one"), aServer("two"))
		r.secrets = secrets
		run(t, &modernClient{t, r, alice})
		r.Close()
	})
}

const submitted = `"responses":{"region":"eu","pw":"given-once"}}`

// F10, F12: a modern client subscribes to its forms, and is warned and told of
// their ends; what is not its own is passed over, and the subscription ends
// with the last form.
func TestModernClientIsToldOfItsForms(t *testing.T) {
	formsTest(t, true, func(t *testing.T, c *modernClient) {
		one, two := c.create(), c.create()
		theirs := (&modernClient{t, c.r, person("bob")}).create()
		peer, done := c.listen(t.Context(), `["`+one+`","`+two+`","`+theirs+`","nonsense","`+one+`"]`)
		wants(t, "the acknowledgement", <-peer.notified, "notifications/subscriptions/acknowledged", `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`, `"notifications":{"elicitationIds":["`+one+`","`+two+`"]}`)

		m := c.call(t.Context(), newPeer(), "elicitation/extend_timeout", `{"elicitationId":"`+two+`","extensionDuration":60000}`)
		wants(t, "the extension", string(m.Raw), `"extensionsRemaining":1`)
		time.Sleep(97 * time.Second)
		wants(t, "the warning", <-peer.notified, `"method":"notifications/elicitation/timeout_warning"`, `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`, `"elicitationId":"`+one+`"`, `"remainingMs":24000`, `"extensionAllowed":true`, `"extensionDuration":300000`)
		m = c.call(t.Context(), newPeer(), "elicitation/submit", `{"elicitationId":"`+one+`",`+submitted)
		wants(t, "the receipt", string(m.Raw), `"status":"completed"`)
		wants(t, "the first end", <-peer.notified, `"method":"notifications/elicitation/complete"`, `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`, `"elicitationId":"`+one+`"`, `"status":"completed"`, `"result":{"region":"eu","pw":"given-once"}`)

		time.Sleep(60 * time.Second)
		wants(t, "the warning of the other", <-peer.notified, "timeout_warning", two, `"remainingMs":24000`)
		time.Sleep(30 * time.Second)
		wants(t, "the other end", <-peer.notified, "elicitation/complete", two, `"status":"timeout"`)
		wants(t, "the end", <-done, `"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7}}`)
		if len(peer.notified) > 0 {
			t.Errorf("and %s", <-peer.notified)
		}
	})
}

// A secret is told once: to whoever listens first, also when it comes after
// the answer. Whoever comes later is told the rest.
func TestModernClientThatComesLateIsTold(t *testing.T) {
	formsTest(t, true, func(t *testing.T, c *modernClient) {
		id := c.create()
		c.call(t.Context(), newPeer(), "elicitation/submit", `{"elicitationId":"`+id+`",`+submitted)
		peer, done := c.listen(t.Context(), `["`+id+`"]`)
		<-done
		<-peer.notified
		wants(t, "the first", <-peer.notified, `"result":{"region":"eu","pw":"given-once"}`)
		peer, done = c.listen(t.Context(), `["`+id+`"]`)
		<-done
		<-peer.notified
		if got := <-peer.notified; strings.Contains(got, "given-once") || !strings.Contains(got, `"result":{"region":"eu"}`) {
			t.Errorf("the second is told %s", got)
		}
		stranger := &modernClient{t, c.r, person("bob")}
		peer, done = stranger.listen(t.Context(), `["`+id+`"]`)
		<-done
		wants(t, "somebody else", <-peer.notified, `"elicitationIds":[]`)
		if len(peer.notified) > 0 {
			t.Errorf("and %s", <-peer.notified)
		}
	})
}

// Two listen at once: one of them is told the secret.
func TestOneOfTwoListenersIsToldTheSecret(t *testing.T) {
	formsTest(t, true, func(t *testing.T, c *modernClient) {
		id := c.create()
		one, over := c.listen(t.Context(), `["`+id+`"]`)
		two, done := c.listen(t.Context(), `["`+id+`"]`)
		<-one.notified
		<-two.notified
		c.call(t.Context(), newPeer(), "elicitation/submit", `{"elicitationId":"`+id+`",`+submitted)
		told := <-one.notified + <-two.notified
		<-over
		<-done
		if strings.Count(told, "given-once") != 1 || strings.Count(told, `"status":"completed"`) != 2 {
			t.Errorf("they are told %s", told)
		}
	})
}

// A client that goes away stops listening, and what it was not told waits.
func TestListenerThatLeaves(t *testing.T) {
	formsTest(t, true, func(t *testing.T, c *modernClient) {
		id := c.create()
		ctx, leave := context.WithCancel(t.Context())
		peer, done := c.listen(ctx, `["`+id+`"]`)
		<-peer.notified
		leave()
		<-done
		c.call(t.Context(), newPeer(), "elicitation/submit", `{"elicitationId":"`+id+`",`+submitted)
		if len(peer.notified) > 0 {
			t.Errorf("it is told %s", <-peer.notified)
		}
		peer, done = c.listen(t.Context(), `["`+id+`"]`)
		<-done
		<-peer.notified
		wants(t, "when it comes back", <-peer.notified, "given-once")
	})
}

func TestSubscriptionsThatAreNone(t *testing.T) {
	formsTest(t, false, func(t *testing.T, c *modernClient) {
		for _, bad := range []string{
			`{"elicitationIds":7}`, `{"elicitationIds":[7]}`, `{"elicitationIds":[],"toolsListChanged":true}`,
			`{"elicitationIds":["` + strings.Repeat(`x","`, 100) + `x"]}`,
		} {
			m := c.call(t.Context(), newPeer(), "subscriptions/listen", `{"notifications":`+bad+`}`)
			wants(t, bad, string(m.Raw), `"reason":"bad_message"`)
		}
		peer, done := c.listen(t.Context(), `[]`)
		wants(t, "the acknowledgement", <-peer.notified, `"elicitationIds":[]`)
		<-done
	})
}
