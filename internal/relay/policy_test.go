package relay

import (
	"context"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const asksPassword = `{"message":"m","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`

// A6: between two modern peers a form that asks for a secret does not pass
// either, nor does one that the client cannot show, where there are no pages;
// others do.
func TestAttackSecretBetweenModernPeers(t *testing.T) {
	for name, c := range map[string]struct{ params, reason string }{
		"a password":         {asksPassword, "asks_for_secret"},
		"more than MCP says": {`{"formDefinition":{"id":"f","title":"T","fields":[{"id":"a","type":"file","label":"A"}]}}`, "missing_capability"},
		"an odd schema":      {`{"message":"m","requestedSchema":{"type":"array"}}`, "bad_schema"},
		"an ordinary form":   {anyForm, ""},
		"a page of a server": {`{"mode":"url","message":"m","url":"https://example.com/"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := aServer("one")
			server.serve = func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
				return okTo(msg, `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":`+c.params+`}}}`), nil
			}
			r := newRelay(t, server)
			msg := scan(request("tools/call", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}}},"name":"t"}`))
			got := string(r.Call(context.Background(), "one", alice, &msg, nil, newPeer()).Body)
			if c.reason == "" {
				wants(t, "the reply", got, "inputRequests", c.params)
			} else if wants(t, "the reply", got, `"reason":"`+c.reason+`"`); strings.Contains(got, "inputRequests") {
				t.Errorf("the question passed: %s", got)
			}
			r.Close()
		})
	}
}

// What was asked before a restart is shown again by the rules as they are now.
func TestRulesAfterARestart(t *testing.T) {
	r := newRelay(t, aServer("one"))
	forms := era.Caps{Form: true, URL: true}
	for params, want := range map[string]bool{
		anyForm:      true,
		asksPassword: false,
		`{"message":"m","requestedSchema":{"type":"array"}}`:                                        false,
		`{"formDefinition":{"id":"f","title":"T","fields":[]}}`:                                     true,
		`{"formDefinition":{"id":"f","title":"T","fields":[{"id":"a","type":"file","label":"A"}]}}`: false,
	} {
		caps, f := r.fit(r.table.Load().byName["one"], &ask.Ask{Kind: ask.Form, Params: []byte(params)}, forms)
		if caps.Form != want || !caps.URL || (f != nil) != strings.Contains(params, "formDefinition") {
			t.Errorf("%s: %+v %v", params, caps, f)
		}
	}
	r.Close()
}
