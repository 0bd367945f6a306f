package a2a

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// call is what a task calls.
type call struct {
	Tool      string
	Arguments json.RawMessage `json:",omitempty"`
}

// Ids and tokens are the request's own, so they can be the same in each.
const (
	requestHead = `{"jsonrpc":"2.0","id":1,"method":`
	meta        = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"a2a","title":"A2A","version":"1.0"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}}`
)

// request writes one round of the call, with the answers to the questions of
// the round before.
func (c *call) request(state string, answered []question) []byte {
	b := append([]byte(requestHead), `"tools/call","params":{"name":`...)
	b = wire.AppendString(b, c.Tool)
	b = append(b, `,"arguments":`...)
	if len(c.Arguments) == 0 {
		b = append(b, "{}"...)
	} else {
		b = append(b, c.Arguments...)
	}
	if state != "" {
		b = wire.AppendString(append(b, `,"requestState":`...), state)
	}
	if len(answered) > 0 {
		b = append(b, `,"inputResponses":{`...)
		for i, q := range answered {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(wire.AppendString(b, q.Key), ':'), q.Answer...)
		}
		b = append(b, '}')
	}
	return append(append(append(b, ','), meta...), `,"progressToken":"1"}}}`...)
}

// outcome is what one round of a call came to: the state in which its task
// ends, or what is wanted before it can go on.
type outcome struct {
	state a2a.TaskState // one that is terminal, "" where the call goes on
	words string        // why
	parts []*a2a.Part   // the result

	asked        []question
	requestState string
	held         bool
}

// refusals are the reasons of the gateway's own for which a call was not begun.
var refusals = []ask.Code{ask.UnknownName, ask.UnknownBackend, ask.NotAllowed, ask.BadMessage, ask.Ambiguous, ask.TooLarge, ask.TooManyOpen}

// The numbers with which a server says that it did not begin.
var rejections = []string{"-32602", "-32601", "-32600"}

// readOutcome reads the response to a round.
func readOutcome(resp contract.Response, lim wire.Limits) outcome {
	m, err := wire.Scan(resp.Body, lim)
	if len(resp.Body) == 0 || err != nil {
		return outcome{state: a2a.TaskStateFailed, words: "The call ended without a result."}
	}
	if m.Kind == wire.Failure {
		return readFailure(&m)
	}
	if m.Text(m.ResultType) == "input_required" {
		out := outcome{requestState: m.Text(m.ResultState), held: resp.Held}
		for in := range wire.Members(m.Raw, m.InputRequests) {
			key, _ := wire.Unquote(in.Key.Of(m.Raw))
			out.asked = append(out.asked, readQuestion(key, m.Raw, in.Value))
		}
		return out
	}
	out := outcome{state: a2a.TaskStateCompleted, parts: readContent(m.Raw, m.Result)}
	if string(wire.Get(m.Raw, m.Result, "isError").Of(m.Raw)) == "true" {
		out.state, out.words = a2a.TaskStateFailed, "The tool reported an error."
		if text := textOf(out.parts); text != "" {
			out.words = text
		}
	}
	return out
}

func readFailure(m *wire.Message) outcome {
	out := outcome{state: a2a.TaskStateFailed}
	out.words, _ = wire.Unquote(wire.Get(m.Raw, m.Error, "message").Of(m.Raw))
	if out.words == "" {
		out.words = "The call failed."
	}
	reason, ours := wire.Unquote(wire.Get(m.Raw, wire.Get(m.Raw, m.Error, "data"), "reason").Of(m.Raw))
	if ours && slices.Contains(refusals, ask.Code(reason)) || !ours && slices.Contains(rejections, string(m.Field(m.ErrorCode))) {
		out.state = a2a.TaskStateRejected
	}
	return out
}

// readContent makes parts of the content of a result.
func readContent(raw []byte, result wire.Span) []*a2a.Part {
	var parts []*a2a.Part
	for at := range wire.Elements(raw, wire.Get(raw, result, "content")) {
		parts = append(parts, readBlock(raw, at))
	}
	if at := wire.Get(raw, result, "structuredContent"); !at.IsZero() {
		parts = append(parts, dataPart(at.Of(raw)))
	}
	return parts
}

func readBlock(raw []byte, at wire.Span) *a2a.Part {
	text := func(of wire.Span, key string) string {
		s, _ := wire.Unquote(wire.Get(raw, of, key).Of(raw))
		return s
	}
	bytes := func(of wire.Span, key string) ([]byte, bool) {
		var b []byte
		err := json.Unmarshal(wire.Get(raw, of, key).Of(raw), &b)
		return b, err == nil
	}
	switch text(at, "type") {
	case "text":
		return a2a.NewTextPart(text(at, "text"))
	case "image", "audio":
		if b, ok := bytes(at, "data"); ok {
			return &a2a.Part{Content: a2a.Raw(b), MediaType: text(at, "mimeType")}
		}
	case "resource_link":
		if uri := text(at, "uri"); uri != "" {
			return &a2a.Part{Content: a2a.URL(uri), Filename: text(at, "name"), MediaType: text(at, "mimeType")}
		}
	case "resource":
		inner := wire.Get(raw, at, "resource")
		p := &a2a.Part{Filename: text(inner, "uri"), MediaType: text(inner, "mimeType")}
		if !wire.Get(raw, inner, "text").IsZero() {
			p.Content = a2a.Text(text(inner, "text"))
			return p
		}
		if b, ok := bytes(inner, "blob"); ok {
			p.Content = a2a.Raw(b)
			return p
		}
	}
	return dataPart(at.Of(raw))
}

// dataPart is a part whose numbers and order stay as they are written.
func dataPart(raw []byte) *a2a.Part {
	return &a2a.Part{Content: a2a.Data{Value: json.RawMessage(slices.Clone(raw))}, MediaType: "application/json"}
}

// maxWords is how much of a tool's own words a status repeats.
const maxWords = 2000

func textOf(parts []*a2a.Part) string {
	var texts []string
	for _, p := range parts {
		if t, ok := p.Content.(a2a.Text); ok && t != "" {
			texts = append(texts, string(t))
		}
	}
	return cut(strings.Join(texts, "\n"), maxWords)
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
