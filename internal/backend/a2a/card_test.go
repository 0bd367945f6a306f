package a2a

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/secret"
	"github.com/answerback/answerback/test/rig"
)

// expire makes the card too old to be used without being read again.
func expire(b *Backend) {
	b.cards.mu.Lock()
	defer b.cards.mu.Unlock()
	b.cards.due = time.Now().Add(-time.Second)
}

// TestChangedSkillsAreTold: who listens hears that the tools have changed, and
// then finds them so.
func TestChangedSkillsAreTold(t *testing.T) {
	a := rig.NewAgent(t, rig.AgentKind{}, map[string]rig.AgentScript{"work": nil})
	b := newBackend(t, a.URL, nil)
	c := newClient(t, b, ann)
	tools := func() string {
		reply, err := c.line.Call(t.Context(), c.request("tools/list", ""), c)
		if err != nil {
			t.Fatal(err)
		}
		return string(reply.Msg.Raw)
	}
	contains(t, "tools", tools(), `"name":"work"`, `"cacheScope":"private"`)
	ctx, cancel := context.WithCancelCause(t.Context())
	end := make(chan error, 1)
	go func() {
		_, err := c.line.Call(ctx, c.request("subscriptions/listen", `"notifications":{"toolsListChanged":true,"promptsListChanged":true}`), c)
		end <- err
	}()
	c.await(func() bool { return len(c.told()) == 1 })
	equal(t, "acknowledged", c.told()[0], `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"notifications":{"toolsListChanged":true}}}`)
	a.Change(func(c *a2a.AgentCard) { c.Version = "8" })
	expire(b)
	tools() // the same skills are no change
	a.Change(func(c *a2a.AgentCard) { c.Skills[0].ID = "rest" })
	expire(b)
	contains(t, "tools", tools(), `"name":"rest"`)
	c.await(func() bool { return len(c.told()) == 2 })
	equal(t, "changed", c.told()[1], `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`)
	left := ask.Errorf(ask.ClientCancelled, "Left.")
	cancel(left)
	if err := <-end; err != left {
		t.Errorf("%v", err)
	}
	go func() {
		_, err := c.line.Call(t.Context(), c.request("subscriptions/listen", `"notifications":{}`), c)
		end <- err
	}()
	c.await(func() bool { return len(c.told()) == 3 })
	b.Close(t.Context())
	if err := <-end; err != nil {
		t.Errorf("the backend ended: %v", err)
	}
	if _, err := c.call("rest"); ask.CodeOf(err) != ask.ShuttingDown {
		t.Errorf("after the end: %v", err)
	}
}

// TestTheCardIsKept: it is read once for many, used for a while when it cannot
// be read again, and not asked for in vain all the time.
func TestTheCardIsKept(t *testing.T) {
	var reads atomic.Int32
	var down atomic.Bool
	url := raw(t, false, nil)
	guard := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			reads.Add(1)
			if r.Header.Get("X-Key") != "k" {
				t.Error("the configured header is missing")
			}
			if down.Load() {
				r = r.Clone(r.Context())
				r.URL.Host = "127.0.0.1:1"
			}
			return next.RoundTrip(r)
		})
	}
	b := newBackend(t, url, func(cfg *Config) {
		cfg.Client.Transport = guard(cfg.Client.Transport)
		cfg.Headers = map[string]secret.Text{"X-Key": secret.New("k")}
	})
	look := func() error { _, err := b.Discover(t.Context(), ann); return err }
	down.Store(true)
	for range 3 {
		if err := look(); ask.CodeOf(err) != ask.BackendUnreachable {
			t.Errorf("%v", err)
		}
	}
	if n := reads.Swap(0); n != 1 {
		t.Errorf("%d reads in vain", n)
	}
	down.Store(false)
	expire(b)
	for range 3 {
		if err := look(); err != nil {
			t.Error(err)
		}
	}
	down.Store(true)
	expire(b)
	for range 3 {
		if err := look(); err != nil {
			t.Error(err)
		}
	}
	if n := reads.Load(); n != 2 {
		t.Errorf("%d reads", n)
	}
	expire(b)
	b.cards.read = time.Now().Add(-2 * maxStale)
	if err := look(); ask.CodeOf(err) != ask.BackendUnreachable {
		t.Errorf("a card that is too old: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// CloseIdleConnections is that of the client under test.
func (f roundTrip) CloseIdleConnections() {}

// TestAgeOfCards: a card says how long it is good for, within bounds.
func TestAgeOfCards(t *testing.T) {
	for control, want := range map[string]time.Duration{
		"": cardAge, "max-age=60": time.Minute, "public, Max-Age=120": 2 * time.Minute, "max-age=0": minCardAge, "max-age=-5": minCardAge,
		"max-age=99999999999999999999": cardAge, "max-age=999999999": maxCardAge, "no-store": minCardAge, "no-cache, max-age=600": minCardAge, "max-age=x": cardAge,
	} {
		if got := ageOf(control); got != want {
			t.Errorf("%q: %s, want %s", control, got, want)
		}
	}
}

// TestAnAgentHoldsNoSessions: a session is made before it by others, and
// nothing of one is resumed.
func TestAnAgentHoldsNoSessions(t *testing.T) {
	b := newBackend(t, raw(t, false, nil), nil)
	if _, err := b.Open(t.Context(), contract.Hello{Principal: ann}); ask.CodeOf(err) != ask.UnknownMethod {
		t.Errorf("%v", err)
	}
	if _, err := newBackend(t, "http://127.0.0.1:1", nil).Open(t.Context(), contract.Hello{Principal: ann}); ask.CodeOf(err) != ask.BackendUnreachable {
		t.Errorf("%v", err)
	}
	if _, err := b.Resume(contract.Hello{Principal: ann}, nil, []byte("x")); ask.CodeOf(err) != ask.BadState {
		t.Errorf("%v", err)
	}
	d, err := b.Describe(t.Context())
	if err != nil || d.Name != "raw" || d.Protocol != "JSONRPC" || strings.Join(d.Tools, " ") != "work" {
		t.Errorf("%+v %v", d, err)
	}
}

// TestNewChecks: what cannot work is refused before anything is sent.
func TestNewChecks(t *testing.T) {
	good := newBackend(t, "https://agent.example", nil).cfg
	for name, change := range map[string]func(*Config){
		"no name": func(c *Config) { c.Name = "" }, "no log": func(c *Config) { c.Log = nil }, "no client": func(c *Config) { c.Client = nil },
		"no ring": func(c *Config) { c.Ring = nil }, "a relative url": func(c *Config) { c.URL = "/x" }, "a password": func(c *Config) { c.URL = "https://a:b@c/" },
		"an odd origin": func(c *Config) { c.Origins = []string{"agent"} },
		"our header":    func(c *Config) { c.Headers = map[string]secret.Text{"A2A-Version": secret.New("0.3")} },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
