package office

import (
	"maps"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
)

// The kinds of errors, which stand in an error's data under "type".
const (
	kindValidation = "validation" // with errors, retry_allowed, retry_limit and retry_count
	kindTimeout    = "timeout"    // with elapsed_ms and timeout_ms
	kindSubmission = "submission" // with code, message and reason
	kindSystem     = "system"     // with code, message and details
)

// invalid refuses an answer that does not fit its form.
func invalid(errs form.Errors, tries desk.Attempts) *ask.Error {
	return &ask.Error{
		Code: ask.InvalidContent, Message: "Form validation failed",
		Data: map[string]any{
			"type": kindValidation, "errors": errs,
			"retry_allowed": !tries.Over(), "retry_limit": tries.Limit, "retry_count": tries.Count,
		},
	}
}

// over refuses what comes too late for a form.
func over(v *desk.View) *ask.Error {
	e := &ask.Error{Code: ask.TooLate, Message: "The form is no longer open.", Data: map[string]any{}}
	if v.Outcome.Ending == ask.Expired {
		e.Message = "The form was not answered in time."
		e.Data["type"] = kindTimeout
		e.Data["elapsed_ms"] = v.Outcome.At.Sub(v.Ask.Asked).Milliseconds()
		e.Data["timeout_ms"] = v.Ask.Deadline.Sub(v.Ask.Asked).Milliseconds()
	}
	return e
}

// Fault gives an error of the Office with its kind in its data, for whoever
// writes it down. Number is the error's own in the words of that place.
func Fault(err error, number func(*ask.Error) int) *ask.Error {
	e := *ask.From(err)
	e.Data = maps.Clone(e.Data)
	if e.Data == nil {
		e.Data = map[string]any{}
	}
	if e.Data["type"] != nil {
		return &e
	}
	e.Data["code"], e.Data["message"] = number(&e), e.Message
	switch e.Code {
	case ask.Internal, ask.JournalUnavailable, ask.StoreFull, ask.StoreCorrupt, ask.ShuttingDown, ask.Overloaded:
		e.Data["type"], e.Data["details"] = kindSystem, string(e.Code)
	default:
		e.Data["type"] = kindSubmission // its reason is there with every error
	}
	return &e
}
