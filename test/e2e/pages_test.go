package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

var askPath = regexp.MustCompile(`/asks/[A-Za-z0-9_-]+`)

const linksOnly = `{"elicitation":{"url":{}}}`

// A form that a legacy server asks reaches the person behind a client that
// can only offer links, on its page, and the client hears when it is done.
func TestFormOnItsPage(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", nameForm)
		c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
	}})
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		person := rig.SignIn(t, g)
		c := rig.Dial(t, d.URL, linksOnly)
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		equal(t, "the mode", member(q, q.Params, "mode"), `"url"`)
		page := askPath.FindString(member(q, q.Params, "url"))
		c.Answer(q, `{"action":"accept"}`)
		if _, inbox := person.Do("GET", "/", nil); !strings.Contains(inbox, page) {
			t.Errorf("the inbox lacks the question: %s", inbox)
		}
		status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"Ann"}})
		if status != 200 {
			t.Fatalf("the answer: %d %s", status, body)
		}
		if done := s.Next(); done.Method() != "notifications/elicitation/complete" {
			t.Errorf("after the page the client heard %s", done.Raw)
		}
		m := s.Final()
		equal(t, "the result", member(m, m.Result, "got"), `{"action":"accept","content":{"name":"Ann"}}`)
		status, body = person.Do("GET", page, nil)
		if status != 410 || !strings.Contains(body, "You have answered this question") {
			t.Errorf("the page afterwards: %d %s", status, body)
		}
	})
}

const nameForm = `{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

// The same between two modern peers, where the gateway takes the rounds on
// itself: the server sees one client that can be asked, and runs its tool in
// as many rounds as it would have taken there.
func TestFormOfModernBackendOnItsPage(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) {
		if answers := wire.Get(c.Msg.Raw, c.Msg.Params, "inputResponses"); !answers.IsZero() {
			equal(t, "the backend's state", c.Msg.Text(c.Msg.RequestState), "mine")
			c.Result(`{"resultType":"complete","got":` + string(answers.Of(c.Msg.Raw)) + `}`)
			return
		}
		equal(t, "what the backend is told", string(c.Msg.Field(c.Msg.MetaCapabilities)), `{"elicitation":{"form":{},"url":{}}}`)
		c.Result(`{"resultType":"input_required","requestState":"mine","inputRequests":{"k":{"method":"elicitation/create","params":` + nameForm + `}}}`)
	}})
	b.ModernOnly = true
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		person := rig.SignIn(t, g)
		c := rig.NewClient(t, d.URL)
		call := func(id, rest string) wire.Message {
			return c.Modern(id, "tools/call", `{"name":"`+d.Prefix+`x","arguments":{}`+rest+`}`, linksOnly).Final()
		}
		m := call("1", "")
		equal(t, "the type", m.Text(m.ResultType), "input_required")
		page := askPath.FindString(string(m.Field(m.InputRequests)))
		if status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
			t.Fatalf("the answer: %d %s", status, body)
		}
		m = call("2", `,"inputResponses":{"q1":{"action":"accept"}},"requestState":`+string(m.Field(m.ResultState)))
		equal(t, "the result", member(m, m.Result, "got"), `{"k":{"action":"accept","content":{"name":"Ann"}}}`)
	})
}
