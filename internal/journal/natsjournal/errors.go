package natsjournal

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/answerback/answerback/internal/journal"
)

// Codes of the engine's errors that we tell apart.
const (
	errMsgNotFound    = 10037
	errStreamNotFound = 10059
	errWrongLast      = 10071
	errWrongLastConst = 10164
)

// apiError is an error of the engine, as it stands in its replies.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string {
	return fmt.Sprintf("NATS says %q (%d)", e.Description, e.ErrCode)
}

// wrongLast reports that the compare-and-set was lost.
func (e *apiError) wrongLast() bool {
	return e.ErrCode == errWrongLast || e.ErrCode == errWrongLastConst
}

// reason says what a refused write means to a caller. Whatever is not about
// room is a server that cannot do its work now.
func (e *apiError) reason() journal.Reason {
	switch e.ErrCode {
	case 10002, // limits of the account
		10023, 10028, 10047, // memory or storage of the server
		10077: // limits of the stream
		return journal.Full
	case 10054: // message size
		return journal.TooLarge
	}
	return journal.Unavailable
}

func fail(why journal.Reason, what string, cause error) *journal.Error {
	return &journal.Error{Reason: why, Message: what, Cause: cause}
}

// unavailable is the error for a store that does not work, for good where it
// was found to be damaged.
func unavailable(what string, cause error) *journal.Error {
	if errors.Is(cause, journal.Corrupt) {
		return fail(journal.Corrupt, what, cause)
	}
	return fail(journal.Unavailable, what, cause)
}

func corrupt(what string, cause error) *journal.Error {
	return fail(journal.Corrupt, what, cause)
}

// parse reads a reply of the engine into v, which has a member for its error.
func parse(reply []byte, v any) error {
	if err := json.Unmarshal(reply, v); err != nil {
		return fmt.Errorf("reading a reply of NATS: %w", err)
	}
	return nil
}
