package office

import (
	"encoding/json"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/question"
)

// The states of a form.
const (
	Pending   = "pending"   // nobody has opened it
	Active    = "active"    // somebody has
	Extended  = "extended"  // it was given more time
	Completed = "completed" // it was answered
	Declined  = "declined"  // somebody said no
	Cancelled = "cancelled" // somebody left it, or nobody could answer it any more
	TimedOut  = "timeout"
)

// Form is a form as its creator sees it. Times are in milliseconds since 1970.
type Form struct {
	ElicitationID  string          `json:"elicitationId"`
	Mode           string          `json:"mode"` // "form"
	Status         string          `json:"status"`
	CreatedAt      int64           `json:"createdAt"`
	TimeoutAt      int64           `json:"timeoutAt"`
	FormDefinition json.RawMessage `json:"formDefinition,omitempty"`
	// Of a form that was completed. Result has no values of sensitive fields,
	// unless it is being collected.
	Result      json.RawMessage `json:"result,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`    // what the submission said of itself
	Uncollected []string        `json:"uncollected,omitempty"` // the sensitive fields whose values wait to be collected
	CollectedAt int64           `json:"collectedAt,omitempty"` // when the result was collected
}

// Extension is what somebody is told who asked for more time.
type Extension struct {
	NewTimeoutAt        int64 `json:"newTimeoutAt"`
	ExtensionsRemaining int   `json:"extensionsRemaining"`
}

func (o *Office) formOf(v *desk.View) Form {
	q := question.Read(v.Ask.Params)
	f := Form{
		ElicitationID: v.Ask.ID, Mode: "form", Status: statusOf(v),
		CreatedAt: v.Ask.Asked.UnixMilli(), TimeoutAt: v.Ask.Deadline.UnixMilli(), FormDefinition: q.Definition,
	}
	if f.Status == Completed {
		if read, err := q.Form(o.forms); err == nil {
			f.fill(read, v.Outcome.Answer.Result)
		}
	}
	return f
}

func statusOf(v *desk.View) string {
	switch {
	case v.Outcome == nil && v.Extensions > 0:
		return Extended
	case v.Outcome == nil && v.Active:
		return Active
	case v.Outcome == nil:
		return Pending
	}
	switch out := v.Outcome; {
	case out.Ending == ask.Expired:
		return TimedOut
	case out.Ending != ask.Answered:
		return Cancelled
	case out.Answer.Action == ask.Accept:
		return Completed
	case out.Answer.Action == ask.Decline:
		return Declined
	}
	return Cancelled
}

// MaxExtension is the longest extension that can be asked for at once.
const MaxExtension = time.Hour
