package question

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
)

// Terms are what a form says about how long it waits; nothing of a nil form.
func Terms(f *form.Form) ask.Terms {
	if f == nil {
		return ask.Terms{}
	}
	t := f.Definition().Timeout
	return ask.Terms{
		Timeout: t.Initial, Warn: t.WarnBefore,
		Extension: t.Extension, Extensions: t.MaxExtensions, NoExtension: t.NoExtension,
	}
}
