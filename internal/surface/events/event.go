package events

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire/sse"
)

// schemaVersion grows when an event changes so that a consumer could tell.
// New types and new members do not: consumers must pass over them.
const schemaVersion = 1

// The types of events. events.schema.json describes each.
const (
	typeStarted       = "call-started"
	typeProgress      = "progress"
	typeLog           = "log"
	typeNotification  = "notification"
	typeAsked         = "elicitation-request"
	typeSettled       = "elicitation-settled"
	typeComplete      = "elicitation-complete"
	typeSampling      = "sampling-request"
	typeSampled       = "sampling-settled"
	typeWarning       = "timeout-warning"
	typeAuthRequired  = "data-tool-auth-required"
	typeLost          = "events-lost"
	typeResult        = "tool-result"
	typeError         = "error"
	answerElicitation = "elicitation-response"
	answerSampling    = "sampling-response"
)

// Times are in milliseconds since 1970, as in the API.

type startedEvent struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schemaVersion"`
	CallID        string `json:"callId"`
	Tool          string `json:"tool"`
	Backend       string `json:"backend,omitempty"` // where the path names one
	Elicitation   bool   `json:"elicitation"`       // whether the call may wait for a person
	Sampling      bool   `json:"sampling"`
	At            int64  `json:"at"`
}

type progressEvent struct {
	Type     string          `json:"type"`
	Progress json.RawMessage `json:"progress,omitempty"`
	Total    json.RawMessage `json:"total,omitempty"`
	Message  json.RawMessage `json:"message,omitempty"`
}

type logEvent struct {
	Type   string          `json:"type"`
	Level  json.RawMessage `json:"level,omitempty"`
	Logger json.RawMessage `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

type notificationEvent struct {
	Type   string          `json:"type"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

type askedEvent struct {
	Type            string          `json:"type"`
	ID              string          `json:"id"`
	Mode            string          `json:"mode"` // "form" or "url"
	Message         string          `json:"message"`
	Backend         string          `json:"backend"`
	Tool            string          `json:"tool,omitempty"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	Sensitive       []string        `json:"sensitive,omitempty"` // fields that ask for a secret
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"`
	Deadline        int64           `json:"deadline"`
}

type samplingEvent struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Backend  string          `json:"backend"`
	Tool     string          `json:"tool,omitempty"`
	Params   json.RawMessage `json:"params"`
	Deadline int64           `json:"deadline"`
}

type settledEvent struct {
	Type    string  `json:"type"`
	ID      string  `json:"id"`
	Outcome string  `json:"outcome"`          // answered, expired, withdrawn or abandoned
	Action  string  `json:"action,omitempty"` // accept, decline or cancel, where it was answered here
	Reason  *reason `json:"reason,omitempty"`
}

type completeEvent struct {
	Type          string `json:"type"`
	ElicitationID string `json:"elicitationId"`
}

type warningEvent struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Deadline int64  `json:"deadline"`
}

// authRequiredEvent has its fields under data, because that is where readers
// of data- parts look for them.
type authRequiredEvent struct {
	Type string       `json:"type"`
	Data authRequired `json:"data"`
}

type authRequired struct {
	CallID          string          `json:"callId"`
	Tool            string          `json:"tool"`
	Backend         string          `json:"backend,omitempty"`
	Mode            string          `json:"mode"` // "form", "url" or "sampling"
	Message         string          `json:"message"`
	URL             string          `json:"url,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`

	page bool // the question waits on a page of the gateway's
}

type lostEvent struct {
	Type  string `json:"type"`
	After uint64 `json:"after"` // the last event before those that are lost
}

type resultEvent struct {
	Type   string          `json:"type"`
	Result json.RawMessage `json:"result"`
}

type errorEvent struct {
	Type    string          `json:"type"`
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Backend *backendError   `json:"backendError,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// backendError is an error of the server's own.
type backendError struct {
	Code json.RawMessage `json:"code,omitempty"`
}

type reason struct {
	Code    ask.Code `json:"code"`
	Message string   `json:"message"`
}

func reasonOf(e *ask.Error) *reason {
	if e == nil {
		return nil
	}
	return &reason{e.Code, e.Message}
}

func millis(t time.Time) int64 { return t.UnixMilli() }

// frame writes an event as it goes over the wire. n is its number, 0 for one
// that has none and is not kept.
func frame(n uint64, kind string, event any) []byte {
	data, err := json.Marshal(event)
	if err != nil {
		// What is embedded was scanned before, so this is a fault of ours.
		kind, data = typeError, []byte(`{"type":"error","code":"internal","message":"An event could not be written."}`)
	}
	id := ""
	if n > 0 {
		id = strconv.FormatUint(n, 10)
	}
	return sse.Append(nil, id, kind, data)
}
