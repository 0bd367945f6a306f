package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// keptCall is a call of a legacy client with a question that its person has
// seen, so that it outlives the gateway.
type keptCall struct {
	question wire.Message
	id       string
	last     string
}

// keep starts a call and has its question kept.
func keep(t *testing.T, c *rig.Client, p *rig.Person, tool string) keptCall {
	t.Helper()
	s := c.Tool(tool, "{}")
	w := keptCall{question: s.Next()}
	w.id, _ = wire.Unquote(w.question.Field(w.question.ID))
	if status, body := p.Do("GET", "/asks/"+w.id, nil); status != 200 {
		t.Fatalf("the page of a question: %d %s", status, body)
	}
	w.last = s.LastID
	return w
}

// answered answers a question on its page, and wants its call to end with that
// answer.
func (w keptCall) answered(t *testing.T, c *rig.Client, p *rig.Person, name string) {
	t.Helper()
	s := c.Listen(w.last)
	if status, body := p.Answer("/asks/"+w.id, url.Values{"action": {"accept"}, "f0": {name}}); status != 200 || !strings.Contains(body, "on its way back") {
		t.Fatalf("the answer %s: %d %s", name, status, body)
	}
	if m := s.Final(); !strings.Contains(string(m.Field(m.Result)), "accept "+name) {
		t.Errorf("the result for %s: %s", name, m.Raw)
	}
}

// Two calls of one session wait at the crash: both go on, in a second life of
// the gateway and in a third, and so does the session.
func TestTwoCallsOfASessionSurviveTwoCrashes(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
		c := rig.Dial(t, g.URL+path, rig.AllCaps)
		p := rig.SignIn(t, g)
		calls := []keptCall{keep(t, c, p, prefix+"ask"), keep(t, c, p, prefix+"ask"), keep(t, c, p, prefix+"ask")}
		for life := range 2 {
			g.Kill(t)
			g = g.Again(t)
			c.URL = g.URL + path
			p = rig.SignIn(t, g)
			calls[0].answered(t, c, p, fmt.Sprint("Ann", life))
			calls = append(calls[1:], keep(t, c, p, prefix+"ask"))
		}
		for i, w := range calls {
			w.answered(t, c, p, fmt.Sprint("Ben", i))
		}
		if runs.Load() != 5 {
			t.Errorf("the tool ran %d times for five calls", runs.Load())
		}
	})
}

// Calls of one joined session wait at three servers, one of which cannot take
// its call up: the others go on, and its own ends with the reason.
func TestCallsAtSeveralServersSurviveACrash(t *testing.T) {
	t.Parallel()
	one, two := &atomic.Int64{}, &atomic.Int64{}
	g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+resumable(t, one)+" }\n  two: { url: "+resumable(t, two)+" }\n  three: { command: "+rig.StdioPeer(t)+" }\n")
	c := rig.Dial(t, g.URL, rig.AllCaps)
	p := rig.SignIn(t, g)
	first, second := keep(t, c, p, "one__ask"), keep(t, c, p, "two__ask")
	s := c.Tool("three__ask", `{"method":"elicitation/create","params":`+nameForm+`}`)
	q := s.Next()
	lost := keptCall{question: q, last: s.LastID}
	lost.id, _ = wire.Unquote(q.Field(q.ID))
	if status, _ := p.Do("GET", "/asks/"+lost.id, nil); status != 200 {
		t.Fatalf("the page: %d", status)
	}
	third := keep(t, c, p, "two__ask")
	g.Kill(t)

	g = g.Again(t)
	c.URL = g.URL
	p = rig.SignIn(t, g)
	wantError(t, "the call that cannot be taken up", c.Listen(lost.last).Final(), "-32000", "backend_lost")
	first.answered(t, c, p, "Ann")
	second.answered(t, c, p, "Ben")
	third.answered(t, c, p, "Cleo")
	if one.Load() != 1 || two.Load() != 2 {
		t.Errorf("the tools ran %d and %d times", one.Load(), two.Load())
	}
	// The server that was lost is started again for the next call.
	if m := c.Tool("three__echo", `{"n":1}`).Final(); m.Kind != wire.Result {
		t.Errorf("the next call of the session: %s", m.Raw)
	}
}

// An answer was taken and not given to the server yet when the gateway died;
// another call of the session waits for its own.
func TestAnAnswerOnItsWaySurvivesBesideAnOpenQuestion(t *testing.T) {
	t.Parallel()
	for name, door := range map[string][2]string{"solo": {"/one", ""}, "joined": {"", "one__"}} {
		t.Run(name, func(t *testing.T) {
			runs := &atomic.Int64{}
			to, err := url.Parse(resumable(t, runs))
			if err != nil {
				t.Fatal(err)
			}
			var deaf atomic.Bool
			arrived := make(chan struct{}, 8)
			proxy := httputil.NewSingleHostReverseProxy(to)
			proxy.FlushInterval = -1
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if deaf.Load() && bytes.Contains(body, []byte(`"Ann"`)) {
					arrived <- struct{}{}
					<-r.Context().Done() // the server hears nothing of it
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				proxy.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+server.URL+" }\n  two: { url: "+rig.NewBackend(t, nil).URL+" }\n")
			c := rig.Dial(t, g.URL+door[0], rig.AllCaps)
			p := rig.SignIn(t, g)
			given, open := keep(t, c, p, door[1]+"ask"), keep(t, c, p, door[1]+"ask")
			deaf.Store(true)
			// Who answers hears of it once the server has the answer, which it
			// never does.
			req, err := http.NewRequest(http.MethodPost, c.URL, strings.NewReader(`{"jsonrpc":"2.0","id":`+string(given.question.Field(given.question.ID))+`,"result":{"action":"accept","content":{"name":"Ann"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Session-Id": {c.Session}, "Mcp-Protocol-Version": {c.Version},
			}
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
					resp.Body.Close()
				}
			}()
			<-arrived
			g.Kill(t)
			<-answered

			deaf.Store(false)
			g = g.Again(t)
			c.URL = g.URL + door[0]
			p = rig.SignIn(t, g)
			if m := c.Listen(given.last).Final(); !strings.Contains(string(m.Field(m.Result)), "accept Ann") {
				t.Errorf("the call whose answer was on its way: %s", m.Raw)
			}
			open.answered(t, c, p, "Ben")
			if runs.Load() != 2 {
				t.Errorf("the tool ran %d times for two calls", runs.Load())
			}
		})
	}
}

// A client follows its own stream, and comes back with the last event that it
// saw there after each of three restarts. So it does for a call whose question
// is still open.
func TestAClientComesBackAfterEachRestart(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, _ *atomic.Int64) {
		c := rig.Dial(t, g.URL+path, rig.AllCaps)
		w := keep(t, c, rig.SignIn(t, g), prefix+"ask")
		own := ""
		seen := map[string]bool{}
		for life := range 4 {
			s := c.Listen(own)
			if s.Status != 200 {
				t.Fatalf("life %d: the stream of the session after %q: %d", life, own, s.Status)
			}
			if own == "" {
				s.Drop()
			}
			// A stream without Last-Event-ID begins with an id, in each life
			// another one.
			fresh := c.Listen("")
			rig.Eventually(t, func() bool { fresh.Poll(10 * time.Millisecond); return fresh.LastID != "" }, "the stream has no id")
			if own = fresh.LastID; seen[own] {
				t.Errorf("life %d: the event id %s was used before", life, own)
			}
			seen[own] = true
			fresh.Drop()
			if s := c.Listen(w.last); s.Status != 200 {
				t.Fatalf("life %d: the stream of the call after %s: %d", life, w.last, s.Status)
			} else {
				s.Drop()
			}
			g.Kill(t)
			g = g.Again(t)
			c.URL = g.URL + path
		}
		w.answered(t, c, rig.SignIn(t, g), "Ann")
	})
}

// The ids of requests on one session of a server are used once, over all lives
// of the gateway that carry it.
func TestRequestIDsAreUsedOnceOverSeveralLives(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	to, err := url.Parse(resumable(t, runs))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	used := map[string]int{}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if m, err := wire.Scan(body, wire.Limits{}); err == nil && m.Kind == wire.Request && m.Method() == "tools/call" {
			mu.Lock()
			used[r.Header.Get("Mcp-Session-Id")+" "+string(m.Field(m.ID))]++
			mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+server.URL+" }\n")
	c := rig.Dial(t, g.URL, rig.AllCaps)
	waits := keep(t, c, rig.SignIn(t, g), "ask")
	for range 3 {
		g.Kill(t)
		g = g.Again(t)
		c.URL = g.URL
		s := c.Tool("ask", "{}")
		c.Answer(s.Next(), `{"action":"decline"}`)
		if m := s.Final(); !strings.Contains(string(m.Field(m.Result)), "decline") {
			t.Errorf("a call of a later life: %s", m.Raw)
		}
	}
	waits.answered(t, c, rig.SignIn(t, g), "Ann")
	mu.Lock()
	defer mu.Unlock()
	sessions := map[string]bool{}
	for id, n := range used {
		session, _, _ := strings.Cut(id, " ")
		sessions[session] = true
		if n != 1 {
			t.Errorf("the request id %s was used %d times", id, n)
		}
	}
	if len(used) != 4 || len(sessions) != 1 {
		t.Errorf("%d request ids on %d sessions, want 4 on 1: %v", len(used), len(sessions), used)
	}
}

// What was let in before a restart goes on, although limits were lowered since.
func TestLimitsDoNotCountForWhatIsTakenUp(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	backends := "backends:\n  one: { url: " + resumable(t, runs) + " }\n  two: { url: " + rig.NewBackend(t, nil).URL + " }\n"
	g := rig.Start(t, durable+"limits: { drain: 0s }\n"+backends)
	a, b := rig.Dial(t, g.URL+"/one", rig.AllCaps), rig.Dial(t, g.URL, rig.AllCaps)
	p := rig.SignIn(t, g)
	calls := []keptCall{keep(t, a, p, "ask"), keep(t, a, p, "ask"), keep(t, b, p, "one__ask")}
	modern := rig.NewClient(t, g.URL+"/one")
	retry := func(id, rest string) wire.Message {
		return modern.Modern(id, "tools/call", `{"name":"ask","arguments":{}`+rest+`}`, `{"elicitation":{"form":{}}}`).Final()
	}
	away := []wire.Message{retry("1", ""), retry("2", "")}
	g.Kill(t)
	g.Rewrite(t, durable+"limits: { drain: 0s, sessions: 1, sessions_per_principal: 1, calls_per_session: 1 }\nasks: { max_open_per_principal: 1, max_open_per_session: 1, max_open: 1 }\n"+backends)

	g = g.Again(t)
	a.URL, b.URL, modern.URL = g.URL+"/one", g.URL, g.URL+"/one"
	p = rig.SignIn(t, g)
	for i, w := range calls {
		c := a
		if i == 2 {
			c = b
		}
		w.answered(t, c, p, fmt.Sprint("Ann", i))
	}
	for i, m := range away {
		m = retry(fmt.Sprint(3+i), `,"inputResponses":{"q1":{"action":"accept","content":{"name":"Fay"}}},"requestState":`+string(m.Field(m.ResultState)))
		if !strings.Contains(string(m.Field(m.Result)), "accept Fay") {
			t.Errorf("the modern call %d: %s", i, m.Raw)
		}
	}
	if runs.Load() != 5 {
		t.Errorf("the tool ran %d times for five calls", runs.Load())
	}
}
