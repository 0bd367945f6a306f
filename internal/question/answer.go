package question

import (
	"github.com/answerback/answerback/ask"
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
