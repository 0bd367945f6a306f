package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestSeveralQuestionsOfOneCall: a backend asks three things in one call
// without waiting, the client answers the last one first, and each answer
// arrives under the id of its own question (E9).
func TestSeveralQuestionsOfOneCall(t *testing.T) {
	t.Parallel()
	const questions = 3
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		var answers [questions]<-chan wire.Message
		for i := range answers {
			id := strconv.Itoa(70 + i)
			answers[i] = c.Expect(id)
			c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{"message":"` + id + `","requestedSchema":{"type":"object","properties":{}}}}`)
		}
		for i := range answers {
			id := strconv.Itoa(70 + i)
			a := c.Take(answers[i])
			equal(t, "the answer to "+id, string(a.Field(a.ID))+string(a.Field(a.Result)), id+`{"action":"accept","content":{"for":`+id+`}}`)
		}
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		var asked [questions]wire.Message
		for i := range asked {
			asked[i] = s.Next()
		}
		for i := range asked {
			q := asked[questions-1-i]
			c.Answer(q, `{"action":"accept","content":{"for":`+strings.Trim(member(q, q.Params, "message"), `"`)+`}}`)
		}
		s.Final()
	})
}

// TestPartialAnswerIsPassedOn: an answer of a client's own form that lacks
// required fields, and has one that was not asked for, reaches the backend as
// it was given (E5).
func TestPartialAnswerIsPassedOn(t *testing.T) {
	t.Parallel()
	const partial = `{"action":"accept", "content":{"city":"Bern","extra":null}}`
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", `{"message":"Where?","requestedSchema":{"type":"object","properties":{"city":{"type":"string"},"street":{"type":"string"}},"required":["city","street"]}}`)
		equal(t, "the answer", string(a.Field(a.Result)), partial)
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		c.Answer(s.Next(), partial)
		s.Final()
	})
}

// TestNegotiationIsLogged: the log says what each client declared that it can
// be asked (A2).
func TestNegotiationIsLogged(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) { c.Result("{}") }})
	for caps, want := range map[string]string{
		`{"elicitation":{"url":{}},"roots":{}}`: "form=false url=true sampling=false roots=true",
		`{"elicitation":{},"sampling":{}}`:      "form=true url=false sampling=true roots=false",
	} {
		doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
			rig.Dial(t, d.URL, caps)
			g.WaitLog(t, `msg="session opened"`)
			g.WaitLog(t, want)
		})
	}
}
