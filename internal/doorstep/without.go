package doorstep

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// toolName is the one tool that a client sees before there is an account.
const toolName = "connect_account"

// codeURLRequired is the legacy era's error of a call that needs an address to
// be visited first.
const codeURLRequired = -32042

// welcome is the handshake's answer while the backend gives none.
func welcome(backend string, params []byte) (wire.Message, error) {
	var hello struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &hello) // what cannot be read has no version that is known
	if e, ok := era.Of(hello.Version); !ok || e != era.Legacy {
		hello.Version = era.LatestLegacy
	}
	body, err := json.Marshal(map[string]any{
		"protocolVersion": hello.Version,
		"capabilities": map[string]any{
			"tools": map[string]bool{"listChanged": true}, "prompts": map[string]bool{"listChanged": true}, "resources": map[string]bool{"listChanged": true},
		},
		"serverInfo":   map[string]string{"name": backend, "version": "unknown"},
		"instructions": fmt.Sprintf("No account is connected to %s yet. Call the tool %s, or any other tool of it: the person is asked to connect one.", backend, toolName),
	})
	if err != nil {
		return wire.Message{}, err
	}
	return scan(append(append([]byte(`{"jsonrpc":"2.0","id":0,"result":`), body...), '}'))
}

func scan(raw []byte) (wire.Message, error) {
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		return m, ask.Wrap(ask.Internal, "A response could not be built.", err)
	}
	return m, nil
}

// without answers a request in which nobody can be asked, while there is no
// account: lists have what there is to see.
func (l *line) without(msg *wire.Message, why error) (contract.Reply, error) {
	list := catalog.ByMethod(msg.Method())
	switch {
	case list == catalog.Tools:
		l.mu.Lock()
		l.offered = true
		l.mu.Unlock()
		return l.result(msg, map[string]any{"tools": []any{map[string]any{
			"name": toolName, "title": "Connect an account",
			"description": fmt.Sprintf("The other tools of %s are there once the person has connected their account. Calling this one asks them to, and waits until they have.", l.step.cfg.Backend),
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{}},
		}}})
	case list != 0:
		return l.result(msg, map[string]any{list.Member(): []any{}})
	}
	return contract.Reply{}, why
}

// isOurs reports whether a call is of the tool that only we have: it was shown
// on this line, or the call waited for an account, before which nobody sees
// another tool. A modern client lists and calls on different lines.
func (l *line) isOurs(out *contract.Outgoing, waited bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (l.offered || waited) && out.Name == toolName && out.Msg.Method() == "tools/call"
}

// connected answers a call of our own tool.
func (l *line) connected(msg *wire.Message) (contract.Reply, error) {
	return l.text(msg, fmt.Sprintf("An account is connected to %s. Its tools can be listed and called now.", l.step.cfg.Backend), false)
}

// fails ends a call that does not go on. What the model can read is a result
// of the tool; other requests have only errors.
func (l *line) fails(msg *wire.Message, why error) (contract.Reply, error) {
	e := ask.From(why)
	if msg.Method() != "tools/call" || e.Code != ask.NotConnected || e.Data != nil {
		return contract.Reply{}, why
	}
	return l.text(msg, e.Message, true)
}

// required ends a call with the address at which to connect, which a client
// opens for its person before it calls again.
func (l *line) required(msg *wire.Message) (contract.Reply, error) {
	words := "To go on, connect your account with " + l.step.cfg.Backend + "."
	return l.respond(msg, "error", map[string]any{
		"code": codeURLRequired, "message": words,
		"data": map[string]any{"elicitations": []any{map[string]string{
			"mode": "url", "elicitationId": rand.Text(), "url": l.step.cfg.Accounts.Link(), "message": words,
		}}},
	})
}

func (l *line) text(msg *wire.Message, words string, failed bool) (contract.Reply, error) {
	result := map[string]any{"content": []any{map[string]string{"type": "text", "text": words}}}
	if failed {
		result["isError"] = true
	}
	return l.result(msg, result)
}

func (l *line) result(msg *wire.Message, result map[string]any) (contract.Reply, error) {
	return l.respond(msg, "result", result)
}

// respond builds the response to a request, whose result or error it is.
func (l *line) respond(msg *wire.Message, member string, value map[string]any) (contract.Reply, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return contract.Reply{}, ask.Wrap(ask.Internal, "A response could not be built.", err)
	}
	raw := append([]byte(`{"jsonrpc":"2.0","id":`), msg.Field(msg.ID)...)
	m, err := scan(append(append(append(raw, `,"`+member+`":`...), body...), '}'))
	return contract.Reply{Msg: m, Status: 200}, err
}
