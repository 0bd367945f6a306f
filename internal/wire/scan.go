package wire

import (
	"strconv"

	"github.com/answerback/answerback/ask"
)

// Limits bound what a message may be. A zero field means the default.
type Limits struct {
	Bytes int // length of the message
	Depth int // objects and arrays inside one another
}

// The limits that hold where none are given.
const (
	DefaultMaxBytes = 32 << 20
	DefaultMaxDepth = 128
)

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultMaxBytes
	}
	l.Bytes = min(l.Bytes, maxBytes)
	if l.Depth <= 0 {
		l.Depth = DefaultMaxDepth
	}
	return l
}

// NotJSON is a member of the Data of an error for what is not JSON at all:
// JSON-RPC has a number of its own for that.
const NotJSON = "parse"

// Scan reads one message in one pass. It checks the syntax and the UTF-8 of
// every byte, and notes where the routing fields stand. Raw is kept in the
// Message, neither copied nor modified.
//
// An error is an *ask.Error: BadMessage for what is not JSON or not JSON-RPC
// 2.0 as MCP has it, Ambiguous for what two parsers could read differently (a
// routing key that stands twice at its level, or is escaped or spelled in
// another case; half a surrogate pair in a routing value), TooLarge for what
// exceeds lim.
func Scan(raw []byte, lim Limits) (Message, error) {
	var s scanner
	if err := s.start(raw, lim); err != nil {
		return Message{}, err
	}
	i := space(raw, 0)
	if peek(raw, i) != '{' {
		err := ask.Errorf(ask.BadMessage, "The message is not a JSON object.")
		if _, wrong := Value(raw); wrong != nil {
			err.Data = map[string]any{NotJSON: true}
		}
		return Message{}, err
	}
	if i = s.object(i, 1, top); i >= 0 {
		s.end(i)
	}
	if s.err != nil {
		return Message{}, s.err
	}
	kind, fault := s.classify()
	if fault != "" {
		return Message{}, ask.Errorf(ask.BadMessage, "The message is not JSON-RPC 2.0: "+fault+".")
	}
	return s.message(kind), nil
}

// scanner walks over JSON text and checks it. Its methods take a position and
// return the one after what they read, or -1 after they set err.
type scanner struct {
	b     []byte
	depth int
	err   *ask.Error
	at    [slots]Span
}

// start sets the scanner up for raw. It returns an error interface, so that
// callers can return it.
func (s *scanner) start(raw []byte, lim Limits) error {
	lim = lim.orDefault()
	if len(raw) > lim.Bytes {
		return ask.Errorf(ask.TooLarge, "The message has more than "+strconv.Itoa(lim.Bytes)+" bytes.")
	}
	s.b, s.depth = raw, lim.Depth
	return nil
}

// end checks that nothing but white space follows.
func (s *scanner) end(i int) {
	if i = space(s.b, i); i < len(s.b) {
		s.syntax(i, "more text after the end")
	}
}

func (s *scanner) value(i, depth int) int {
	switch peek(s.b, i) {
	case '"':
		end, m := text(s.b, i)
		if m&broken != 0 {
			return s.syntax(end, "a broken string")
		}
		return end
	case '{':
		return s.object(i, depth, opaque)
	case '[':
		return s.array(i, depth)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	}
	end := number(s.b, i)
	if end == i {
		return s.syntax(i, "no value where one belongs")
	}
	return end
}

func (s *scanner) literal(i int, word string) int {
	end := i + len(word)
	if end > len(s.b) || string(s.b[i:end]) != word {
		return s.syntax(i, "no value where one belongs")
	}
	return end
}

func (s *scanner) array(i, depth int) int {
	if depth > s.depth {
		return s.tooDeep()
	}
	b := s.b
	i = space(b, i+1)
	if peek(b, i) == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, depth+1); i < 0 {
			return -1
		}
		i = space(b, i)
		switch peek(b, i) {
		case ',':
			i = space(b, i+1)
		case ']':
			return i + 1
		default:
			return s.syntax(i, "an array without its comma or end")
		}
	}
}

func (s *scanner) object(i, depth int, at level) int {
	if depth > s.depth {
		return s.tooDeep()
	}
	b := s.b
	i = space(b, i+1)
	if peek(b, i) == '}' {
		return i + 1
	}
	for {
		if peek(b, i) != '"' {
			return s.syntax(i, "an object without a key where one belongs")
		}
		from := i
		end, m := text(b, i)
		if m&broken != 0 {
			return s.syntax(end, "a broken string")
		}
		key := span(from, end)
		i = space(b, end)
		if peek(b, i) != ':' {
			return s.syntax(i, "a key without its colon")
		}
		i = space(b, i+1)
		if at == opaque {
			i = s.value(i, depth+1)
		} else {
			i = s.member(key, m, i, depth, at)
		}
		if i < 0 {
			return -1
		}
		i = space(b, i)
		switch peek(b, i) {
		case ',':
			i = space(b, i+1)
		case '}':
			return i + 1
		default:
			return s.syntax(i, "an object without its comma or end")
		}
	}
}

// member reads the value at i of a member of a level that is looked at.
func (s *scanner) member(key Span, m marks, i, depth int, at level) int {
	r, ok := find(at, key.Of(s.b), m)
	if !ok {
		return s.ambiguous("another spelling of the key " + r.key)
	}
	if r == nil {
		return s.value(i, depth+1)
	}
	if !s.at[r.slot].IsZero() {
		return s.ambiguous("the key " + r.key + " twice")
	}
	var end int
	switch c := peek(s.b, i); {
	case c == '{' && r.opens != opaque:
		end = s.object(i, depth+1, r.opens)
	case c == '"':
		var m marks
		end, m = text(s.b, i)
		if m&broken != 0 {
			return s.syntax(end, "a broken string")
		}
		if m&escaped != 0 && halfPair(s.b[i:end]) {
			return s.ambiguous("half a surrogate pair in the value of " + r.key)
		}
	default:
		end = s.value(i, depth+1)
	}
	if end < 0 {
		return -1
	}
	if !r.want.takes(s.b[i]) {
		return s.fail(ask.BadMessage, "The message is not JSON-RPC 2.0 as MCP has it: "+r.key+" must be "+r.want.String()+".")
	}
	s.at[r.slot] = span(i, end)
	return end
}

func (s *scanner) syntax(i int, fault string) int {
	s.fail(ask.BadMessage, "The message is not valid JSON: "+fault+", at byte "+strconv.Itoa(i)+".")
	s.err.Data = map[string]any{NotJSON: true}
	return -1
}

func (s *scanner) ambiguous(fault string) int {
	return s.fail(ask.Ambiguous, "The message can be read in two ways: it has "+fault+".")
}

func (s *scanner) tooDeep() int {
	return s.fail(ask.TooLarge, "The message has values inside one another deeper than "+strconv.Itoa(s.depth)+" levels.")
}

func (s *scanner) fail(code ask.Code, message string) int {
	s.err = ask.Errorf(code, message)
	return -1
}

// classify tells the kind of message from its top-level members, or what is
// wrong with them.
func (s *scanner) classify() (Kind, string) {
	has := func(n slot) bool { return !s.at[n].IsZero() }
	if string(s.at[slotVersion].Of(s.b)) != `"2.0"` {
		return 0, `jsonrpc must be "2.0"`
	}
	id := byte(0)
	if has(slotID) {
		id = s.b[s.at[slotID].Start]
	}
	if has(slotMethod) {
		switch {
		case has(slotResult) || has(slotError):
			return 0, "it is a request and a response at once"
		case id == 0:
			return Notification, ""
		case !aToken.takes(id):
			return 0, "the id of a request must be a string or a number"
		}
		return Request, ""
	}
	switch {
	case has(slotParams):
		return 0, "it has params without a method"
	case has(slotResult) && has(slotError):
		return 0, "it has both a result and an error"
	case has(slotResult):
		if !aToken.takes(id) {
			return 0, "the id of a result must be a string or a number"
		}
		return Result, ""
	case has(slotError):
		if id != 0 && id != 'n' && !aToken.takes(id) {
			return 0, "the id of an error must be a string, a number or null"
		}
		if !has(slotErrorCode) {
			return 0, "the error has no code"
		}
		return Failure, ""
	}
	return 0, "it has no method, result or error"
}

func (s *scanner) message(kind Kind) Message {
	at := &s.at
	return Message{
		Raw: s.b, Kind: kind,
		ID:        at[slotID],
		MethodTok: at[slotMethod],
		Params:    at[slotParams],
		Result:    at[slotResult],
		Error:     at[slotError],

		Name:           at[slotName],
		URI:            at[slotURI],
		Arguments:      at[slotArguments],
		RequestID:      at[slotRequestID],
		Token:          at[slotToken],
		RequestState:   at[slotRequestState],
		InputResponses: at[slotInputResponses],
		Mode:           at[slotMode],
		Cursor:         at[slotCursor],
		Level:          at[slotLevel],
		Ref:            at[slotRef],
		Meta:           at[slotMeta],

		MetaToken:        at[slotMetaToken],
		MetaVersion:      at[slotMetaVersion],
		MetaClientInfo:   at[slotMetaClientInfo],
		MetaCapabilities: at[slotMetaCapabilities],
		MetaLogLevel:     at[slotMetaLogLevel],
		MetaSubscription: at[slotMetaSubscription],

		ResultType:             at[slotResultType],
		InputRequests:          at[slotInputRequests],
		ResultState:            at[slotResultState],
		ResultMeta:             at[slotResultMeta],
		ResultMetaSubscription: at[slotResultMetaSubscription],
		ErrorCode:              at[slotErrorCode],
	}
}
