package a2a

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// tool is one that a caller may use.
type tool struct {
	name, title, description string
	schema                   []byte // of its arguments
}

// maxPages bounds how much of a catalog is read for a card.
const maxPages = 10

// tools lists what a caller may use at an endpoint.
func (s *Surface) tools(ctx context.Context, at string, who contract.Caller) ([]tool, error) {
	var all []tool
	cursor := ""
	for range maxPages {
		b := append([]byte(requestHead), `"tools/list","params":{`...)
		if cursor != "" {
			b = append(wire.AppendString(append(b, `"cursor":`...), cursor), ',')
		}
		msg, err := wire.Scan(append(append(b, meta...), "}}}"...), s.scan())
		if err != nil {
			return nil, err
		}
		resp := s.cfg.Gateway.Call(ctx, at, who, &msg, nil, quiet{})
		m, err := wire.Scan(resp.Body, s.scan())
		if err != nil {
			return nil, err
		}
		if m.Kind != wire.Result {
			return nil, ask.Errorf(ask.BackendBroken, readFailure(&m).words)
		}
		for t := range wire.Elements(m.Raw, wire.Get(m.Raw, m.Result, "tools")) {
			all = append(all, readTool(m.Raw, t))
		}
		next, _ := wire.Unquote(wire.Get(m.Raw, m.Result, "nextCursor").Of(m.Raw))
		if next == "" {
			break
		}
		cursor = next
	}
	return all, nil
}

func readTool(raw []byte, at wire.Span) tool {
	text := func(key string) string {
		s, _ := wire.Unquote(wire.Get(raw, at, key).Of(raw))
		return s
	}
	return tool{text("name"), text("title"), text("description"), slices.Clone(wire.Get(raw, at, "inputSchema").Of(raw))}
}

// fields are the names of a tool's arguments, and of those that it must have.
func (t *tool) fields() (all, required []string, text map[string]bool) {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(t.schema, &s) != nil {
		return nil, nil, nil
	}
	text = make(map[string]bool)
	for name, p := range s.Properties {
		all = append(all, name)
		text[name] = p.Type == "string"
	}
	return all, s.Required, text
}

// takes gives the argument that plain text is for: the one that the tool must
// have, where that is a text.
func (t *tool) takes() (string, bool) {
	_, required, text := t.fields()
	if len(required) != 1 || !text[required[0]] {
		return "", false
	}
	return required[0], true
}

// callWith is a call of the tool with plain text.
func (t *tool) callWith(text string) (*call, bool) {
	arg, ok := t.takes()
	if !ok || text == "" {
		return nil, false
	}
	b := append(wire.AppendString([]byte{'{'}, arg), ':')
	return &call{t.name, append(wire.AppendString(b, text), '}')}, true
}

// skillKey is what a message's metadata names a skill by.
const skillKey = "skillId"

// named finds the tool that a message names by itself: in a data part, or in
// its metadata. It is nil where it names none, and without arguments where only
// the metadata does and the rest is text.
func named(msg *a2a.Message) (*call, error) {
	tool, _ := msg.Metadata[skillKey].(string)
	for _, p := range msg.Parts {
		d, ok := p.Content.(a2a.Data)
		if !ok {
			continue
		}
		raw, err := json.Marshal(d.Value)
		if err != nil {
			return nil, unfit("A data part cannot be read.")
		}
		at, err := wire.Value(raw)
		if err != nil || raw[at.Start] != '{' {
			return nil, unfit("A data part must be an object.")
		}
		if tool != "" {
			return &call{tool, raw}, nil
		}
		if wire.Get(raw, at, "tool").IsZero() {
			return nil, unfit(`A data part must name the tool: {"tool": …, "arguments": {…}}.`)
		}
		members, err := wire.Object(raw, "tool", "arguments")
		if err != nil {
			return nil, unfit(ask.From(err).Message)
		}
		name, _ := wire.Unquote(members["tool"])
		arguments := members["arguments"]
		if name == "" || arguments != nil && arguments[0] != '{' {
			return nil, unfit("tool must be a name, and arguments an object.")
		}
		if arguments == nil {
			arguments = []byte("{}")
		}
		return &call{name, arguments}, nil
	}
	if tool == "" {
		return nil, nil
	}
	return &call{Tool: tool}, nil
}

// The keys of the gateway's own questions.
const (
	keyTool      = "tool"
	keyArguments = "arguments"
)

// maxChoices bounds the choice of a tool; with more of them its name is typed.
const maxChoices = 200

// choose finds out what plain text calls, where that is plain: else it gives
// the question that must be answered first.
func choose(tools []tool, text string) (*call, *question) {
	if len(tools) == 1 {
		return tools[0].complete(nil, text)
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.name
	}
	property := map[string]any{"type": "string", "title": "Tool", "minLength": 1}
	if len(names) <= maxChoices {
		property = map[string]any{"type": "string", "title": "Tool", "enum": names}
	}
	schema, _ := json.Marshal(map[string]any{ // names can always be written
		"type": "object", "properties": map[string]any{keyTool: property}, "required": []string{keyTool},
	})
	return nil, &question{Key: keyTool, Mode: modeForm, Message: "Which tool shall be called?", Schema: schema}
}

// complete makes the call of a tool, given its arguments or plain text, or asks
// for the arguments that it must have.
func (t *tool) complete(arguments json.RawMessage, text string) (*call, *question) {
	if c, ok := t.callWith(text); ok && arguments == nil {
		return c, nil
	}
	_, required, _ := t.fields()
	if arguments != nil || len(required) == 0 {
		return &call{t.name, arguments}, nil
	}
	q := &question{Key: keyArguments, Mode: modeForm, Tool: t.name, Message: "With what shall " + t.name + " be called?", Schema: t.schema}
	q.Free = form.CheckRequested(t.schema) != nil
	return nil, q
}
