package era

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// The numbers that JSON-RPC and MCP give to errors.
const (
	codeParse             = -32700
	codeInvalidRequest    = -32600
	codeMethodNotFound    = -32601
	codeInvalidParams     = -32602
	codeInternal          = -32603
	codeServer            = -32000 // what SDKs call ConnectionClosed; legacy only
	codeFormInvalid       = -32007 // an answer that its form does not accept; legacy only
	codeHeaderMismatch    = -32020
	codeMissingCapability = -32021
	codeBadVersion        = -32022
)

// Members of an error's Data that BadMessage has a number of its own for.
const (
	DataParse   = wire.NotJSON // true: the message is not JSON
	DataMissing = "missing"    // the name of the _meta field that a request lacks
)

const (
	dataReason   = "reason"
	dataName     = "name"
	dataRequired = "requiredCapabilities"
)

// Row is one line of the table of errors: the numbers that a code has in the
// two eras.
type Row struct {
	Code           ask.Code
	Legacy, Modern int
}

// The table of errors. No legacy number is one by which a modern server is
// known, and no modern number is in the range that the specification closed
// (-32000 to -32019): what was there is an internal error, told apart by its
// reason.
var rows = [...]Row{
	{ask.Internal, codeInternal, codeInternal},

	{ask.ClientLacksCapability, codeMethodNotFound, codeMissingCapability},
	{ask.ModeNotDeclared, codeInvalidParams, codeMissingCapability},
	{ask.NoClient, codeServer, codeInternal},
	{ask.BadSchema, codeInvalidParams, codeInvalidParams},
	{ask.AsksForSecret, codeInvalidParams, codeInvalidParams},
	{ask.SwitchedOff, codeMethodNotFound, codeMethodNotFound},
	{ask.RateLimited, codeServer, codeInternal},
	{ask.TooManyOpen, codeServer, codeInternal},
	{ask.Overloaded, codeServer, codeInternal},

	{ask.Timeout, codeServer, codeInternal},
	{ask.ClientGone, codeServer, codeInternal},
	{ask.ClientCancelled, codeServer, codeInternal},
	{ask.SessionExpired, codeServer, codeInternal},
	{ask.BackendWithdrew, codeServer, codeInternal},
	{ask.BackendLost, codeServer, codeInternal},
	{ask.ShuttingDown, codeServer, codeInternal},
	{ask.FormInvalidated, codeServer, codeInternal},

	{ask.JournalUnavailable, codeServer, codeInternal},
	{ask.StoreFull, codeServer, codeInternal},
	{ask.StoreCorrupt, codeServer, codeInternal},

	{ask.TooLate, codeInvalidParams, codeInvalidParams},
	{ask.Unknown, codeInvalidParams, codeInvalidParams},
	{ask.NotYours, codeInvalidParams, codeInvalidParams},
	{ask.InvalidContent, codeFormInvalid, codeInvalidParams},

	{ask.NotAnswered, codeInvalidParams, codeInvalidParams},
	{ask.Collected, codeInvalidParams, codeInvalidParams},

	{ask.BadMessage, codeInvalidRequest, codeInvalidRequest},
	{ask.Ambiguous, codeInvalidRequest, codeInvalidRequest},
	{ask.TooLarge, codeInvalidRequest, codeInvalidRequest},
	{ask.UnknownMethod, codeMethodNotFound, codeMethodNotFound},
	{ask.UnknownName, codeInvalidParams, codeInvalidParams},
	{ask.UnknownBackend, codeInvalidParams, codeInvalidParams},
	{ask.NotAllowed, codeInvalidParams, codeInvalidParams},
	{ask.BadHeader, codeInvalidRequest, codeHeaderMismatch},
	{ask.BadVersion, codeInvalidParams, codeBadVersion},
	{ask.MissingCapability, codeMethodNotFound, codeMissingCapability},
	{ask.BadState, codeInvalidParams, codeInvalidParams},
	{ask.BackendUnreachable, codeServer, codeInternal},
	{ask.BackendTimeout, codeServer, codeInternal},
	{ask.BackendBroken, codeInternal, codeInternal},
	{ask.OutcomeUnknown, codeServer, codeInternal},
	{ask.NotConnected, codeServer, codeInternal},

	{ask.Waiting, codeServer, codeInternal},
}

// connectionClosed is the name that SDKs give to -32000 where no client is
// connected. The modern era has no number for it, so the name is in the data.
const connectionClosed = "ConnectionClosed"

// names are the names of errors by which servers know them in both eras.
var names = map[ask.Code]string{
	ask.NoClient:       connectionClosed,
	ask.ClientGone:     connectionClosed,
	ask.SessionExpired: connectionClosed,
}

// Codes gives the table of errors, one row for each code. The caller owns it.
func Codes() []Row { return slices.Clone(rows[:]) }

// Number gives the JSON-RPC number of an error in an era. A code that is in no
// table is an internal error.
func Number(e *ask.Error, era Era) int {
	if e.Code == ask.BadMessage {
		if e.Data[DataParse] == true {
			return codeParse
		}
		if _, ok := e.Data[DataMissing]; ok {
			return codeInvalidParams
		}
	}
	for _, r := range rows {
		if r.Code == e.Code {
			if era == Modern {
				return r.Modern
			}
			return r.Legacy
		}
	}
	return codeInternal
}

// AppendResult appends the whole JSON-RPC response with a result. id is the raw
// token of the request's id.
func AppendResult(dst, id, result []byte) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	return append(append(append(dst, `,"result":`...), result...), '}')
}

// AppendError appends the whole JSON-RPC error response for e. id is the raw
// token of the request's id; where it is nil, a legacy response has a null id
// and a modern one none.
func AppendError(dst, id []byte, e *ask.Error, era Era) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	switch {
	case id != nil:
		dst = append(append(append(dst, `"id":`...), id...), ',')
	case era != Modern:
		dst = append(dst, `"id":null,`...)
	}
	dst = append(dst, `"error":`...)
	dst = appendErrorObject(dst, e, era)
	return append(dst, '}')
}

// ErrorObject gives the error object of e alone: code, message, and data with
// the reason and whatever else e carries. The cause is never in it.
func ErrorObject(e *ask.Error, era Era) []byte { return appendErrorObject(nil, e, era) }

func appendErrorObject(dst []byte, e *ask.Error, era Era) []byte {
	number := Number(e, era)
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = append(dst, `,"message":`...)
	dst = wire.AppendString(dst, e.Message)
	dst = append(dst, `,"data":{"`+dataReason+`":`...)
	dst = wire.AppendString(dst, string(e.Code))
	name := names[e.Code]
	if name != "" {
		dst = wire.AppendString(append(dst, `,"`+dataName+`":`...), name)
	}
	for _, key := range slices.Sorted(maps.Keys(e.Data)) {
		if key == dataReason || key == dataName && name != "" {
			continue
		}
		text, ok := marshal(e.Data[key])
		if !ok {
			continue // the error itself matters more than what it came with
		}
		dst = append(wire.AppendString(append(dst, ','), key), ':')
		dst = append(dst, text...)
	}
	if _, ok := e.Data[dataRequired]; !ok && number == codeMissingCapability {
		dst = append(dst, `,"`+dataRequired+`":{}`...) // the schema demands it
	}
	return append(dst, "}}"...)
}

func marshal(v any) ([]byte, bool) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, false
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), true
}

// Status gives the HTTP status with which a JSON-RPC error of this number is
// answered.
func Status(era Era, code int) int {
	switch code {
	case codeParse, codeInvalidRequest:
		return http.StatusBadRequest
	}
	if era != Modern {
		return http.StatusOK
	}
	switch code {
	case codeMethodNotFound:
		return http.StatusNotFound
	case codeHeaderMismatch, codeMissingCapability, codeBadVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// StatusOf gives the HTTP status with which the modern era answers e. Unlike
// Status it knows a request without its _meta from other bad params, and a
// body that is too large from one that is not JSON-RPC.
func StatusOf(e *ask.Error) int {
	if e.Code == ask.TooLarge {
		return http.StatusRequestEntityTooLarge
	}
	if _, ok := e.Data[DataMissing]; ok && e.Code == ask.BadMessage {
		return http.StatusBadRequest
	}
	return Status(Modern, Number(e, Modern))
}

// IsModernError reports whether a message is an error response that only a
// modern server gives.
func IsModernError(m *wire.Message) bool {
	switch string(m.Field(m.ErrorCode)) {
	case "-32020", "-32021", "-32022":
		return m.Kind == wire.Failure
	}
	return false
}
