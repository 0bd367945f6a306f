package ask

import "errors"

// Code is a machine-readable reason. The set is closed: what is not in it is
// Internal. On the wire it is the `data.reason` of an error.
type Code string

// Every reason that Answerback gives.
const (
	Internal Code = "internal"

	// The question cannot be asked.
	ClientLacksCapability Code = "client_lacks_capability"
	ModeNotDeclared       Code = "mode_not_declared"
	NoClient              Code = "no_client"
	BadSchema             Code = "bad_schema"
	AsksForSecret         Code = "asks_for_secret"
	SwitchedOff           Code = "switched_off"
	RateLimited           Code = "rate_limited"
	TooManyOpen           Code = "too_many_open"
	Overloaded            Code = "overloaded"

	// The question was asked and ended without an answer.
	Timeout         Code = "timeout"
	ClientGone      Code = "client_gone"
	ClientCancelled Code = "client_cancelled"
	SessionExpired  Code = "session_expired"
	BackendWithdrew Code = "backend_withdrew"
	BackendLost     Code = "backend_lost"
	ShuttingDown    Code = "shutting_down"
	FormInvalidated Code = "form_invalidated"

	// Nothing can be promised, because it could not be stored.
	JournalUnavailable Code = "journal_unavailable"
	StoreFull          Code = "store_full"
	StoreCorrupt       Code = "store_corrupt"

	// An answer that cannot be taken.
	TooLate        Code = "too_late"
	Unknown        Code = "unknown_ask"
	NotYours       Code = "not_yours"
	InvalidContent Code = "invalid_content"

	// An answer that cannot be given out.
	NotAnswered Code = "not_answered"
	Collected   Code = "already_collected"

	// The call failed.
	BadMessage         Code = "bad_message"
	Ambiguous          Code = "ambiguous_message"
	TooLarge           Code = "too_large"
	UnknownMethod      Code = "unknown_method"
	UnknownName        Code = "unknown_name"
	UnknownBackend     Code = "unknown_backend"
	NotAllowed         Code = "not_allowed"
	BadHeader          Code = "header_mismatch"
	BadVersion         Code = "unsupported_version"
	MissingCapability  Code = "missing_capability"
	BadState           Code = "bad_request_state"
	BackendUnreachable Code = "backend_unreachable"
	BackendTimeout     Code = "backend_timeout"
	BackendBroken      Code = "backend_broken"
	OutcomeUnknown     Code = "outcome_unknown"
	NotConnected       Code = "not_connected"

	// The call goes on, and a person must answer first.
	Waiting Code = "waiting_for_person"
)

// Error is the one error that crosses package borders. Message is a sentence
// that is safe to show to anybody; Cause is only ever logged. Errors are
// values: they are not modified after they were made.
type Error struct {
	Code    Code
	Message string
	Data    map[string]any // further members of the wire error's data, or nil
	Cause   error
}

// Errorf makes an Error without a cause. The message is used as it stands.
func Errorf(code Code, message string) *Error {
	return &Error{Code: code, Message: message}
}

// Wrap makes an Error that keeps its cause for the log.
func Wrap(code Code, message string, cause error) *Error {
	return &Error{Code: code, Message: message, Cause: cause}
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return string(e.Code) + ": " + e.Message + ": " + e.Cause.Error()
	}
	return string(e.Code) + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Cause }

// From gives err as an *Error, finding one it wraps or making it Internal.
// It is nil for a nil err.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: Internal, Message: "Something went wrong inside the gateway.", Cause: err}
}

// CodeOf gives the code of err: Internal for an error that has none, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return From(err).Code
}
