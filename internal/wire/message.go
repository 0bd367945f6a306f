package wire

import "math"

// Span is a half-open range of bytes in a message. The zero Span means absent:
// no member of a message can start at its first byte. A Message is mostly spans,
// and every call that waits has some on its stack, so they are small: no text
// is longer than maxBytes.
type Span struct{ Start, End int32 }

const maxBytes = math.MaxInt32

func span(start, end int) Span { return Span{int32(start), int32(end)} }

// Whole gives the span of all of raw, or of as much of it as a span can hold,
// which is more than Scan and Value take.
func Whole(raw []byte) Span { return span(0, min(len(raw), maxBytes)) }

// Of gives the bytes of raw at s, nil when s is absent. They share raw's memory
// and cannot be appended to over it.
func (s Span) Of(raw []byte) []byte {
	if s.IsZero() {
		return nil
	}
	return raw[s.Start:s.End:s.End]
}

// IsZero reports whether s is absent.
func (s Span) IsZero() bool { return s == Span{} }

// Len gives the number of bytes in s.
func (s Span) Len() int { return int(s.End - s.Start) }

// Kind says which of the four JSON-RPC messages a Message is.
type Kind uint8

// The kinds of message. A Failure is an error response.
const (
	Request Kind = iota + 1
	Notification
	Result
	Failure
)

// String gives the kind's name as it stands in logs.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Result:
		return "result"
	case Failure:
		return "error"
	}
	return "unknown"
}

// Message is one JSON-RPC message: its bytes, and where its routing fields
// stand in them. The spans are raw JSON values, strings with their quotes, and
// absent where the message has no such member. Only ids, tokens, params,
// result, error, error.code and the _meta objects have had their type checked.
//
// A Message is a value and shares Raw with whoever scanned it. It is safe for
// concurrent use as long as nobody writes to Raw.
type Message struct {
	Raw  []byte
	Kind Kind

	ID        Span // a string or a number; in a Failure it may be null or absent
	MethodTok Span
	Params    Span // an object
	Result    Span // an object
	Error     Span // an object

	// Members of params.
	Name           Span
	URI            Span
	Arguments      Span
	RequestID      Span // a string or a number
	Token          Span // progressToken: a string or a number
	RequestState   Span
	InputResponses Span
	Mode           Span
	Cursor         Span
	Level          Span
	Ref            Span
	Meta           Span // _meta: an object or null

	// Members of params._meta. All but the first have the prefix of MCP.
	MetaToken        Span // progressToken: a string or a number
	MetaVersion      Span // protocolVersion
	MetaClientInfo   Span
	MetaCapabilities Span // clientCapabilities
	MetaLogLevel     Span
	MetaSubscription Span // subscriptionId: a string or a number

	// Members of result.
	ResultType             Span
	InputRequests          Span
	ResultState            Span // requestState
	ResultMeta             Span // _meta: an object or null
	ResultMetaSubscription Span // MCP's subscriptionId in _meta: a string or a number

	ErrorCode Span // error.code: a number
}

// Root gives the span of the whole message, without the white space around it.
func (m *Message) Root() Span {
	start, end := space(m.Raw, 0), len(m.Raw)
	for end > start && isSpace(m.Raw[end-1]) {
		end--
	}
	return span(start, end)
}

// Field gives the bytes at s, nil when s is absent.
func (m *Message) Field(s Span) []byte { return s.Of(m.Raw) }

// Text gives the string at s, unquoted: "" when s is absent or not a string.
func (m *Message) Text(s Span) string {
	text, _ := Unquote(s.Of(m.Raw))
	return text
}

// Method gives the method, "" for a response. It allocates only for methods
// that MCP does not know.
func (m *Message) Method() string {
	token := m.MethodTok.Of(m.Raw)
	if len(token) < 2 {
		return ""
	}
	if known := knownMethod(token[1 : len(token)-1]); known != "" {
		return known
	}
	return m.Text(m.MethodTok)
}

// knownMethod gives a constant for the name of a method of MCP, "" for others.
func knownMethod(name []byte) string {
	for _, known := range methods {
		if string(name) == known {
			return known
		}
	}
	return ""
}

// methods are those of both eras, the frequent ones first.
var methods = [...]string{
	"tools/call",
	"notifications/progress",
	"tools/list",
	"resources/read",
	"prompts/get",
	"ping",
	"initialize",
	"notifications/initialized",
	"notifications/cancelled",
	"notifications/message",
	"elicitation/create",
	"sampling/createMessage",
	"roots/list",
	"server/discover",
	"prompts/list",
	"resources/list",
	"resources/templates/list",
	"resources/subscribe",
	"resources/unsubscribe",
	"subscriptions/listen",
	"completion/complete",
	"logging/setLevel",
	"notifications/subscriptions/acknowledged",
	"notifications/tools/list_changed",
	"notifications/prompts/list_changed",
	"notifications/resources/list_changed",
	"notifications/resources/updated",
	"notifications/roots/list_changed",
	"notifications/elicitation/complete",
	"notifications/tasks/status",
	"tasks/get",
	"tasks/result",
	"tasks/list",
	"tasks/cancel",
}
