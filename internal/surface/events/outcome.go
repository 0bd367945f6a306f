package events

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// The numbers of errors by which a server says that somebody has to be asked.
const (
	codeURLRequired       = "-32042"
	codeMissingCapability = "-32021"
)

// codeBackend is what an error of the server's own is called.
const codeBackend = "backend_error"

// conclude writes the last event of a call: its result, or why there is none.
// Where somebody would have had to be asked, that is a result too: an error of
// the tool is what a model reads.
func (c *call) conclude(resp contract.Response, why *ask.Error, unasked []authRequired) {
	// What waits on a page is in the result already.
	unasked = slices.DeleteFunc(slices.Clone(unasked), func(need authRequired) bool { return need.page })
	msg, err := wire.Scan(resp.Body, c.surface.scan())
	switch {
	case len(resp.Body) == 0 || err != nil || why != nil && msg.Kind == wire.Failure:
		if why == nil {
			why = cutOff
		}
		c.fail(errorEvent{Code: string(why.Code), Message: why.Message})
	case msg.Kind == wire.Result:
		result := msg.Field(msg.Result)
		if len(unasked) > 0 && bytes.Equal(wire.Get(msg.Raw, msg.Result, "isError").Of(msg.Raw), []byte("true")) {
			result = withGuidance(unasked, result, wire.Get(msg.Raw, msg.Result, "content").Of(msg.Raw))
		}
		c.succeed(result)
	default:
		c.concludeError(&msg, unasked)
	}
}

func (c *call) concludeError(msg *wire.Message, unasked []authRequired) {
	code := msg.Field(msg.ErrorCode)
	message, _ := wire.Unquote(wire.Get(msg.Raw, msg.Error, "message").Of(msg.Raw))
	data := wire.Get(msg.Raw, msg.Error, "data")
	switch string(code) {
	case codeURLRequired:
		for _, need := range c.pages(msg.Raw, data) {
			c.needs(need)
			unasked = append(unasked, need)
		}
	case codeMissingCapability:
		if len(unasked) == 0 {
			need := c.lacking(msg.Raw, data, message)
			c.needs(need)
			unasked = append(unasked, need)
		}
	}
	if len(unasked) > 0 {
		c.succeed(withGuidance(unasked, nil, nil))
		return
	}
	ev := errorEvent{Code: codeBackend, Message: message, Data: data.Of(msg.Raw)}
	if reason, ok := wire.Unquote(wire.Get(msg.Raw, data, "reason").Of(msg.Raw)); ok {
		ev.Code = reason
	} else {
		ev.Backend = &backendError{code}
	}
	c.fail(ev)
}

func (c *call) succeed(result json.RawMessage) {
	c.last(typeResult, resultEvent{typeResult, result})
}

func (c *call) fail(ev errorEvent) {
	ev.Type = typeError
	c.last(typeError, ev)
}

func (c *call) last(kind string, event any) {
	c.keepEnd(kind, event)
	c.log.add(kind, event, false, true)
}

// pages reads the visits that a server wants before it serves the call.
func (c *call) pages(raw []byte, data wire.Span) []authRequired {
	var needs []authRequired
	for at := range wire.Elements(raw, wire.Get(raw, data, "elicitations")) {
		if len(needs) == maxUnasked {
			break
		}
		p := readParams(at.Of(raw))
		needs = append(needs, authRequired{
			CallID: c.id, Tool: c.start.tool, Backend: c.start.at, Mode: ask.URL.String(),
			Message: p.message, URL: p.url, ElicitationID: p.elicitationID,
		})
	}
	return needs
}

// lacking says what a server misses that would only ask a client which can be.
func (c *call) lacking(raw []byte, data wire.Span, message string) authRequired {
	need := authRequired{CallID: c.id, Tool: c.start.tool, Backend: c.start.at, Mode: ask.Form.String(), Message: message}
	required := wire.Get(raw, data, "requiredCapabilities")
	elicitation := wire.Get(raw, required, "elicitation")
	switch {
	case !wire.Get(raw, elicitation, "url").IsZero():
		need.Mode = ask.URL.String()
	case elicitation.IsZero() && !wire.Get(raw, required, "sampling").IsZero():
		need.Mode = ask.Sampling.String()
	}
	return need
}

// withGuidance makes the result of a call that failed because nobody could be
// asked: what is missing comes first, then what the tool itself said.
func withGuidance(unasked []authRequired, result, content []byte) json.RawMessage {
	var b strings.Builder
	for _, need := range unasked {
		b.WriteString("This tool needs something that could not be asked for here")
		switch {
		case need.Mode == ask.URL.String() && need.URL != "":
			b.WriteString(": the person has to open " + need.URL + " first.")
		case need.Mode == ask.URL.String():
			b.WriteString(": the person has to open a page first.")
		case need.Mode == ask.Sampling.String():
			b.WriteString(": an answer of the client's model.")
		default:
			b.WriteString(": an answer of the person to a form.")
		}
		if need.Message != "" {
			b.WriteString(" The server says: " + quoted(need.Message))
		}
		b.WriteString("\n")
	}
	b.WriteString("Tell the person what is missing. Do not call this tool again until they say that it is done.")
	text := wire.AppendString([]byte(`{"type":"text","text":`), b.String())
	text = append(text, '}')
	if at, err := wire.Value(content); err == nil && content[at.Start] == '[' {
		for e := range wire.Elements(content, at) {
			text = append(append(text, ','), e.Of(content)...)
		}
	}
	text = append(append([]byte{'['}, text...), ']')
	if result == nil {
		return append(append([]byte(`{"content":`), text...), `,"isError":true}`...)
	}
	at, err := wire.Value(result)
	if err != nil {
		return result
	}
	return wire.Splice(nil, result, wire.Set(result, at, wire.Get(result, at, "content"), "content", text))
}

// maxQuoted is how much of a server's words goes into ours.
const maxQuoted = 500

func quoted(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return "“" + s + "”"
}
