package question

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/wire"
)

// AnswerIn reads the answer of a client from the result object at a span.
func AnswerIn(raw []byte, at wire.Span) ask.Answer {
	answer := ask.Answer{Result: at.Of(raw)}
	action, _ := wire.Unquote(wire.Get(raw, at, "action").Of(raw))
	for _, a := range []ask.Action{ask.Accept, ask.Decline, ask.Cancel} {
		if action == a.String() {
			answer.Action = a
		}
	}
	return answer
}

// Created reports whether an ask is a form that a client or a program created
// for its own person: no server asks it.
func Created(a *ask.Ask) bool { return a.Kind == ask.Form && a.Backend == "" }

// Encode writes the values of an answer for its asker. A server gets the
// address of a file, since MCP allows no objects in an answer. The creator of a
// form gets the file with its name, type and size.
func Encode(created bool, f *form.Form, values form.Values) []byte {
	if created {
		return f.EncodeFiles(values)
	}
	return f.Encode(values)
}
