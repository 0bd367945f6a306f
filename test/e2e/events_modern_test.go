package e2e

import (
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// TestEventsOfAModernServer: a front end is asked what a modern server wants
// to know, round by round, as it is by a legacy one. One that cannot be asked
// gets the notice and the error of the tool, also where the server refuses
// before it asks.
func TestEventsOfAModernServer(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask": func(c *rig.Call) {
			answers := string(c.Msg.Field(c.Msg.InputResponses))
			switch string(c.Msg.Field(c.Msg.RequestState)) {
			case "":
				c.Result(`{"resultType":"input_required","requestState":"one","inputRequests":{"k":{"method":"elicitation/create","params":` + frontForm + `}}}`)
			case `"one"`:
				c.Result(`{"resultType":"input_required","requestState":"two","inputRequests":{"p":{"method":"elicitation/create","params":` + visitPage + `}}}`)
			default:
				c.Result(`{"resultType":"complete","content":[{"type":"text","text":"done"}],"structuredContent":{"last":` + answers + `}}`)
			}
		},
		"tools/call refuse": func(c *rig.Call) {
			c.Error(`{"code":-32021,"message":"I must be able to ask.","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}`)
		},
	})
	b.ModernOnly = true
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	s := f.Call("one", toolCall("ask"))
	for _, answer := range []string{`"action":"accept","content":{"name":"Ann"}`, `"action":"accept"`} {
		id := s.Until("elicitation-request")["id"].(string)
		if status, text := f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`",`+answer+`}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	result := s.Until("tool-result")
	if resultText(t, result) != "done" || result.Path("result", "structuredContent", "last", "p", "action") != "accept" {
		t.Errorf("the result is %v", result)
	}

	f = newFront(t, guard(t, "", "  one: { url: "+b.URL+" }\n").Gateway, "Authorization", "Bearer "+nobodysKey)
	for tool, mode := range map[string]string{"ask": "form", "refuse": "url"} {
		s := f.Call("one", toolCall(tool))
		wantTypes(t, s, "call-started", "data-tool-auth-required", "tool-result")
		if s.Seen[1].Path("data", "mode") != mode || s.Seen[2].Path("result", "isError") != true ||
			!strings.Contains(resultText(t, s.Seen[2]), "Do not call this tool again") {
			t.Errorf("%s gave %s", tool, s.Raw)
		}
	}
}
