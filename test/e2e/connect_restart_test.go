package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// waitsAcross has a call of ann's wait for an account at a gateway that is
// killed, or stopped in good order, and started again. Then the backend must
// have run the call once.
func waitsAcross(t *testing.T, test func(t *testing.T, w *waiting)) {
	for name, each := range map[string]struct {
		path, prefix string
		killed       bool
	}{
		"solo, legacy backend, killed":    {"/one", "", true},
		"joined, modern backend, stopped": {"", "one__", false},
	} {
		t.Run(name, func(t *testing.T) {
			b, other := newAsker(t), newAsker(t)
			b.LegacyOnly, b.ModernOnly = strings.Contains(name, "legacy"), strings.Contains(name, "modern")
			g := guard(t, durable+"limits: { drain: 0s }\n", "  one: { url: "+keyed(t, b, "anns-key")+", grant: { kind: key } }\n  two: { url: "+other.URL+" }\n")
			test(t, &waiting{t: t, g: g, path: each.path, tool: each.prefix + "echo", killed: each.killed})
			if n := b.Count("tools/call"); n != 1 {
				t.Errorf("it ran %d times", n)
			}
		})
	}
}

type waiting struct {
	t          *testing.T
	g          *guarded
	path, tool string
	killed     bool
}

// again ends the gateway and starts it again. Ann signs in anew.
func (w *waiting) again() *visitor {
	w.t.Helper()
	if w.killed {
		w.g.Kill(w.t)
	} else if err := w.g.Stop(); err != nil {
		w.t.Fatal(err)
	}
	w.g.Gateway = w.g.Again(w.t)
	w.g.base = strings.TrimSuffix(w.g.Gateway.URL, "/mcp")
	return w.g.signIn("ann")
}

// client is one of ann's at the gateway as it is now; she may have it already.
func (w *waiting) client(c *rig.Client) *rig.Client {
	w.t.Helper()
	if c == nil {
		c = rig.NewClient(w.t, "")
	}
	c.URL, c.Token = w.g.Gateway.URL+w.path, w.g.token("ann")
	return c
}

// connects has ann enter her key at the page of the question, which she also
// finds in her inbox.
func (w *waiting) connects(ann *visitor, page string) {
	w.t.Helper()
	page = page[strings.Index(page, "/asks/"):]
	if inbox := ann.get("/"); !strings.Contains(inbox.body, page) {
		w.t.Errorf("the inbox lacks %s: %s", page, inbox.body)
	}
	if r := ann.enter(page, "anns-key"); r.status != http.StatusOK || !strings.Contains(r.body, "goes on now") {
		w.t.Errorf("the key: %d %s", r.status, r.body)
	}
}

// A legacy client that takes links resumes its stream, and has the result on
// it when the account is connected.
func TestAWaitingCallOfALegacyClientSurvives(t *testing.T) {
	t.Parallel()
	waitsAcross(t, func(t *testing.T, w *waiting) {
		c := w.client(nil)
		c.Open(linksOnly, "2025-11-25")
		s := c.Tool(w.tool, "{}")
		q := s.Next()
		for q.Kind == wire.Notification {
			q = s.Next()
		}
		c.Answer(q, `{"action":"accept"}`)
		ann := w.again()
		s = w.client(c).Listen(s.LastID)
		w.connects(ann, linkIn(q, q.Params))
		if m := s.Final(); m.Kind != wire.Result || strings.Contains(string(m.Raw), "isError") {
			t.Errorf("the call: %s", m.Raw)
		}
	})
}

// A modern client comes back with its state.
func TestAWaitingCallOfAModernClientSurvives(t *testing.T) {
	t.Parallel()
	waitsAcross(t, func(t *testing.T, w *waiting) {
		c := w.client(nil)
		m := c.Modern("1", "tools/call", `{"name":"`+w.tool+`","arguments":{}}`, linksOnly).Final()
		state, link := member(m, m.Result, "requestState"), linkAsked(t, m)
		ann := w.again()
		w.connects(ann, link)
		m = w.client(c).Modern("2", "tools/call", `{"name":"`+w.tool+`","arguments":{},"requestState":`+state+`,"inputResponses":{"q1":{"action":"accept"}}}`, linksOnly).Final()
		if !strings.Contains(string(m.Raw), `"content":[]`) {
			t.Errorf("the call: %s", m.Raw)
		}
	})
}

// A client that can show nothing was told the page, and repeats its call: it
// is told the same page until the account is connected, and then has the
// result.
func TestAWaitingCallOfAMuteClientSurvives(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		t.Run(map[bool]string{false: "legacy", true: "modern"}[modern], func(t *testing.T) {
			waitsAcross(t, func(t *testing.T, w *waiting) {
				call := func() wire.Message {
					c := w.client(nil)
					if modern {
						return c.Modern("1", "tools/call", `{"name":"`+w.tool+`","arguments":{}}`, "{}").Final()
					}
					c.Open("{}", "2025-11-25")
					return c.Tool(w.tool, "{}").Final()
				}
				page := told(call())
				if page == "" {
					t.Fatal("the client was not told where to go")
				}
				ann := w.again()
				if again := told(call()); again != page {
					t.Fatalf("after the restart the page is %q, before it was %q", again, page)
				}
				w.connects(ann, page)
				if m := call(); m.Kind != wire.Result || strings.Contains(string(m.Raw), "isError") {
					t.Errorf("the repeated call: %s", m.Raw)
				}
			})
		})
	}
}

// A chat front end comes back to its call, and has the link again.
func TestAWaitingCallOfAnEventStreamSurvives(t *testing.T) {
	t.Parallel()
	waitsAcross(t, func(t *testing.T, w *waiting) {
		front := func() *rig.Front {
			return newFront(t, w.g.Gateway, canAsk, "true", "Authorization", "Bearer "+w.g.token("ann"))
		}
		f, body := front(), `{"name":"`+w.tool+`","arguments":{}}`
		call := f.Open("POST", w.path+"/call", body, "Idempotency-Key", "k")
		q := call.Until("elicitation-request")
		f.Say("POST", "/calls/"+call.ID+"/respond", `{"id":"`+q["id"].(string)+`","action":"accept"}`)
		ann := w.again()
		s := front().Open("GET", "/calls/"+call.ID, "", "Last-Event-ID", call.LastID)
		if again := s.Until("elicitation-request"); again["id"] != q["id"] || again["mode"] != "url" {
			t.Errorf("the question is now %v, was %v", again, q)
		}
		w.connects(ann, q["url"].(string))
		if e := s.Until("tool-result"); e.Path("result", "isError") != nil {
			t.Errorf("the call: %v", e)
		}
		if again := front().Open("POST", w.path+"/call", body, "Idempotency-Key", "k"); again.ID != call.ID {
			t.Errorf("the key gave %s", again.Raw)
		}
	})
}
