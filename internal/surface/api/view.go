package api

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/question"
)

// What a question's status can be.
const (
	StatusPending   = "pending"   // it waits for an answer, and nobody has opened it
	StatusActive    = "active"    // it waits, and somebody has opened it
	StatusExtended  = "extended"  // it waits, and was given more time
	StatusCompleted = "completed" // it was accepted
	StatusDeclined  = "declined"
	StatusCancelled = "cancelled"
	StatusFailed    = "failed" // the client that it was put to answered with an error
	StatusTimeout   = "timeout"
	StatusWithdrawn = "withdrawn" // its server took it back
	StatusAbandoned = "abandoned" // nobody was left to answer it, or to hear the answer
)

// Summary is a question in a list. Times are in milliseconds since 1970.
type Summary struct {
	ID                  string `json:"id"`
	Mode                string `json:"mode"` // "form" or "url"
	Status              string `json:"status"`
	Backend             string `json:"backend"`          // who asks
	During              string `json:"during,omitempty"` // the method of the call that caused it
	Name                string `json:"name,omitempty"`   // the tool, prompt or resource that was called
	Client              string `json:"client,omitempty"` // what the client that called calls itself; proves nothing
	Group               string `json:"group,omitempty"`  // whom it is for, where that is a group
	Message             string `json:"message"`          // the server's words; cut in a list
	CreatedAt           int64  `json:"createdAt"`
	TimeoutAt           int64  `json:"timeoutAt"`
	ExtensionsRemaining int    `json:"extensionsRemaining"`
}

// Ask is a question in full.
type Ask struct {
	Summary
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"` // of a form, as its server wrote it
	FormDefinition  json.RawMessage `json:"formDefinition,omitempty"`  // of a form in our own language, which then says all that the schema does, and more
	Files           []File          `json:"files,omitempty"`           // what you gave for its file fields so far
	Sensitive       []string        `json:"sensitive,omitempty"`       // the fields that ask for a secret
	URL             string          `json:"url,omitempty"`             // where its server wants the person to go; not checked
	Outcome         *Outcome        `json:"outcome,omitempty"`         // how it ended; nil while it is open
}

// Outcome is how a question ended. It never has the values that were given.
type Outcome struct {
	Ending      string   `json:"ending"`           // answered, expired, withdrawn, abandoned or refused
	Action      string   `json:"action,omitempty"` // accept, decline or cancel, where somebody did that
	ByYou       bool     `json:"byYou"`
	At          int64    `json:"at"`
	Abandonment string   `json:"abandonment,omitempty"` // why it was left without a decision, where it was: one of five names
	Reason      *Problem `json:"reason,omitempty"`      // why it ended without an answer
	Undelivered *Problem `json:"undelivered,omitempty"` // why the outcome did not reach the asker, where it did not
}

// Page is the list of what waits, oldest first.
type Page struct {
	Asks []Summary `json:"asks"`
	More bool      `json:"more"` // there are further ones
}

// Receipt is what somebody is told whose answer was taken.
type Receipt struct {
	Status      string   `json:"status"`    // completed, declined or cancelled
	Delivered   bool     `json:"delivered"` // the asker has it
	Undelivered *Problem `json:"undelivered,omitempty"`
}

// Extension is what somebody is told who was given more time.
type Extension struct {
	Status              string `json:"status"`
	NewTimeoutAt        int64  `json:"newTimeoutAt"`
	ExtensionsRemaining int    `json:"extensionsRemaining"`
}

// maxTeaser is how many characters of a message stand in a list.
const maxTeaser = 200

func summaryOf(v *desk.View) Summary {
	a := &v.Ask
	return Summary{
		ID: a.ID, Mode: a.Kind.String(), Status: statusOf(v),
		Backend: a.Backend, During: a.During, Name: a.Name, Client: a.Client, Group: a.Addressee.Group,
		Message:             question.Read(a.Params).Message,
		CreatedAt:           a.Asked.UnixMilli(),
		TimeoutAt:           a.Deadline.UnixMilli(),
		ExtensionsRemaining: v.Extendable(),
	}
}

func (h *Handler) askOf(v *desk.View, who desk.Viewer) Ask {
	p := question.Read(v.Ask.Params)
	a := Ask{Summary: summaryOf(v)}
	if v.Ask.Kind == ask.URL {
		a.URL = p.URL
	} else {
		a.RequestedSchema, a.FormDefinition = p.Schema, p.Definition
		a.Sensitive = p.Secrets(h.forms)
	}
	if out := v.Outcome; out != nil {
		a.Outcome = &Outcome{
			Ending: out.Ending.String(), At: out.At.UnixMilli(), ByYou: !out.By.IsZero() && out.By == who.Principal,
			Abandonment: string(out.Abandonment()), Reason: reasonOf(out.Err), Undelivered: reasonOf(v.Undelivered),
		}
		if out.Answer.Action != ask.NoAction {
			a.Outcome.Action = out.Answer.Action.String()
		}
	}
	return a
}

func statusOf(v *desk.View) string {
	switch {
	case v.Outcome == nil && v.Extensions > 0:
		return StatusExtended
	case v.Outcome == nil && v.Active:
		return StatusActive
	case v.Outcome == nil:
		return StatusPending
	}
	switch v.Outcome.Ending {
	case ask.Answered:
		return statusAfter(v.Outcome.Answer.Action)
	case ask.Expired:
		return StatusTimeout
	case ask.Withdrawn:
		return StatusWithdrawn
	}
	return StatusAbandoned
}

func statusAfter(a ask.Action) string {
	switch a {
	case ask.Accept:
		return StatusCompleted
	case ask.Decline:
		return StatusDeclined
	case ask.Cancel:
		return StatusCancelled
	}
	return StatusFailed
}

func reasonOf(e *ask.Error) *Problem {
	if e == nil {
		return nil
	}
	return &Problem{Code: string(e.Code), Message: e.Message}
}

func teaser(s string) string {
	if utf8.RuneCountInString(s) <= maxTeaser {
		return s
	}
	return string([]rune(s)[:maxTeaser]) + "…"
}

// Time gives a time of the API as Go has it.
func Time(ms int64) time.Time { return time.UnixMilli(ms) }
