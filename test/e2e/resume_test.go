package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// eventful is a call with five notifications, a question after the third, and
// a result. The test lets each of them go, or none is held back.
func eventful(step func()) rig.Script {
	return func(c *rig.Call) {
		note := func(n int) {
			step()
			c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, n))
		}
		for n := 1; n <= 3; n++ {
			note(n)
		}
		step()
		a := c.Ask(c.ID(), "elicitation/create", formParams)
		for n := 4; n <= 5; n++ {
			note(n)
		}
		step()
		c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
	}
}

const eventfulStory = `1 2 3 elicitation/create 4 5 {"got":{"action":"decline"}}`

// tell answers the question where it comes, and gives what a message of an
// eventful call says.
func tell(c *rig.Client, m wire.Message) string {
	switch {
	case m.Method() == "elicitation/create":
		c.Answer(m, `{"action":"decline"}`)
		return m.Method()
	case m.Kind == wire.Notification:
		return member(m, m.Params, "data")
	}
	return string(m.Field(m.Result)) + string(m.Field(m.Error))
}

// TestResumeAfterEachEvent: a legacy client whose connection breaks after any
// event of a call, or after every one, sees each event once and in order when
// it comes back, whether the rest was sent before or while it was away.
func TestResumeAfterEachEvent(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ready":  eventful(func() {}),
		"tools/call paused": eventful(func() { <-next }),
	})
	events := len(strings.Fields(eventfulStory))
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		for _, version := range []string{"2025-06-18", "2025-11-25"} {
			c := rig.DialVersion(t, d.URL, rig.AllCaps, version)
			for at := 1; at < events; at++ {
				s := c.Tool(d.Prefix+"ready", "{}")
				var story []string
				first := ""
				for n := range events {
					if n == at {
						s.Drop()
						s = c.Listen(s.LastID)
					}
					story = append(story, tell(c, s.Next()))
					if n == 0 {
						first = s.LastID
					}
				}
				s.Ended()
				equal(t, fmt.Sprintf("%s: broken after event %d", version, at), strings.Join(story, " "), eventfulStory)

				// A call that is over can still be read again.
				s = c.Listen(first)
				for _, want := range strings.Fields(eventfulStory)[1:] {
					m := s.Next()
					if m.Kind == wire.Request {
						equal(t, "the question again", m.Method(), want)
						continue
					}
					equal(t, "an event again", tell(c, m), want)
				}
				s.Ended()
			}

			go func() { next <- struct{}{} }()
			s := c.Tool(d.Prefix+"paused", "{}")
			var story []string
			for n := range events {
				if n > 0 {
					s.Drop()
					next <- struct{}{}
					s = c.Listen(s.LastID)
				}
				story = append(story, tell(c, s.Next()))
			}
			s.Ended()
			equal(t, version+": broken after every event", strings.Join(story, " "), eventfulStory)
		}
	})
}

// TestOwnStreamResumes: what a backend says outside any call while the client
// does not follow its own stream is there when it comes back, once.
func TestOwnStreamResumes(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		unharmed(t, c, d.Prefix+"echo")
		s := c.Listen("")
		for n := range 5 {
			b.Push(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, n))
			m := s.Next()
			equal(t, "a notification", member(m, m.Params, "data"), fmt.Sprint(n))
			s.Drop()
			b.Push(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"away %d"}}`, n))
			s = c.Listen(s.LastID)
			m = s.Next()
			equal(t, "a notification while away", member(m, m.Params, "data"), fmt.Sprintf(`"away %d"`, n))
		}
		c.Close()
	})
}

// TestResumeWhatIsNotThere: event ids of another session, and ids that nobody
// gave, are refused, and show nothing of anybody's.
func TestResumeWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ready": eventful(func() {})})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c, other := rig.Dial(t, d.URL, rig.AllCaps), rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ready", "{}")
		for range strings.Fields(eventfulStory) {
			tell(c, s.Next())
		}
		refused := func(what string, c *rig.Client, last string) {
			t.Helper()
			s := c.Listen(last)
			if s.Status != http.StatusBadRequest {
				t.Errorf("%s: status %d, want 400", what, s.Status)
			}
			if m, ok := s.Poll(rig.Patience); ok && m.Kind != wire.Failure {
				t.Errorf("%s: got %s", what, m.Raw)
			}
		}
		refused("another session's event", other, s.LastID)
		refused("an event that is yet to come", c, strings.Split(s.LastID, ".")[0]+".99")
		for _, id := range []string{"x", "1", ".", "1.", ".1", "1.-1", "99.1", "1.18446744073709551616", s.LastID + "0"} {
			refused("the id "+id, c, id)
		}
	})
}

// TestSessionsEnd: a session that was ended is not found, and neither is one
// of another endpoint or one that was never opened; the backend's question
// ends with an error, and so does its session.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	answered := make(chan wire.Message, 1)
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask": func(c *rig.Call) {
			answered <- c.Ask(c.ID(), "elicitation/create", formParams)
			<-c.Context.Done()
		},
		"tools/call echo": echo,
	})
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n  two: { url: "+b.URL+" }\n")
	for _, d := range []door{{URL: g.URL + "/one"}, {URL: g.URL, Prefix: "one__"}} {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		unharmed(t, c, d.Prefix+"echo")
		for _, elsewhere := range []string{g.URL, g.URL + "/one", g.URL + "/two"} {
			if elsewhere == d.URL {
				continue
			}
			wantGone(t, "a session of "+d.URL+" at "+elsewhere, with(t, elsewhere, c.Session))
		}
		s := c.Tool(d.Prefix+"ask", "{}")
		s.Next()
		c.Close()
		wantError(t, "the backend's question", <-answered, "-32000", "client_gone")
		wantGone(t, "a session that was ended", c)
		wantGone(t, "a forged session", with(t, d.URL, strings.Repeat("A", len(c.Session))))
	}
}

// with makes a client that claims a session.
func with(t *testing.T, url, session string) *rig.Client {
	c := rig.NewClient(t, url)
	c.Session, c.Version = session, "2025-11-25"
	return c
}

// wantGone checks that a session is not found, whatever is asked of it.
func wantGone(t *testing.T, what string, c *rig.Client) {
	t.Helper()
	for how, status := range map[string]int{
		"request":      c.Start(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).Status,
		"notification": c.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`),
		"stream":       c.Listen("").Status,
	} {
		if status != http.StatusNotFound {
			t.Errorf("%s: a %s got status %d, want 404", what, how, status)
		}
	}
}

// TestUpstreamResume: a backend that closes a call's stream after an event
// with an id has it taken up by GET, not before the time that it named; the
// call goes on, its question included.
func TestUpstreamResume(t *testing.T) {
	t.Parallel()
	type stage struct {
		last  string
		after time.Duration // since the break
	}
	const wait = 50 * time.Millisecond
	resumed := make(chan stage, 4)
	var broke atomic.Pointer[time.Time]
	var id atomic.Value
	breakOff := func() { now := time.Now(); broke.Store(&now) }
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call break": func(c *rig.Call) {
		id.Store(string(c.Msg.Field(c.Msg.ID)))
		c.SendEvent("e-1", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		fmt.Fprintf(c.Raw(), "retry: %d\n\n", wait.Milliseconds())
		breakOff()
	}})
	b.Resume = func(last string, c *rig.Call) {
		resumed <- stage{last, time.Since(*broke.Load())}
		switch last {
		case "e-1":
			answer := c.Expect(`"up"`)
			c.SendEvent("e-2", `{"jsonrpc":"2.0","id":"up","method":"elicitation/create","params":`+formParams+`}`)
			c.Take(answer)
			breakOff()
		case "e-2":
			// The question again, as a server that is not sure does.
			c.SendEvent("e-2", `{"jsonrpc":"2.0","id":"up","method":"elicitation/create","params":`+formParams+`}`)
			c.SendEvent("e-3", `{"jsonrpc":"2.0","id":`+id.Load().(string)+`,"result":{"n":1.10}}`)
		}
	}
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		before := b.Count("tools/call")
		s := c.Tool(d.Prefix+"break", "{}")
		n := s.Next()
		equal(t, "what came before the break", member(n, n.Params, "data"), "1")
		q := s.Next()
		equal(t, "the question after the break", q.Method(), "elicitation/create")
		first := <-resumed
		equal(t, "the first Last-Event-ID", first.last, "e-1")
		c.Answer(q, `{"action":"decline"}`)
		second := <-resumed
		equal(t, "the second Last-Event-ID", second.last, "e-2")
		for _, waited := range []time.Duration{first.after, second.after} {
			if waited < wait {
				t.Errorf("the stream was taken up after %v, want at least %v", waited, wait)
			}
		}
		r := s.Next()
		equal(t, "the result", string(r.Field(r.Result)), `{"n":1.10}`)
		s.Ended()
		if n := b.Count("tools/call") - before; n != 1 {
			t.Errorf("the call was sent %d times", n)
		}
	})
}

// TestUpstreamSessionLost: a backend that forgot a session ends the client's
// at its own endpoint, while the joined endpoint opens a new one at the next
// call.
func TestUpstreamSessionLost(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		unharmed(t, c, d.Prefix+"echo")
		hellos := b.Count("initialize")
		b.Forget()
		r := c.Tool(d.Prefix+"echo", "{}")
		if d.Prefix == "" {
			wantGone(t, "the session after the loss", c)
			c = rig.Dial(t, d.URL, rig.AllCaps)
		} else if m := r.Final(); m.Kind == wire.Result {
			t.Errorf("the call that met the loss succeeded: %s", m.Raw)
		}
		unharmed(t, c, d.Prefix+"echo")
		if n := b.Count("initialize"); n != hellos+1 {
			t.Errorf("%d handshakes after the loss, want 1", n-hellos)
		}
	})
}
