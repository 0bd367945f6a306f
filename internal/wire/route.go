package wire

import (
	"bytes"
	"strings"
)

// level is a place in a message whose members are looked at.
type level uint8

const (
	opaque level = iota // any other place: its members mean nothing here
	top
	inParams
	inMeta
	inRef
	inResult
	inResultMeta
	inError
)

// want is the type that a member must have.
type want uint8

const (
	anything want = iota
	aString
	aNumber
	aToken // a string or a number
	anObject
	maybeObject // an object or null
)

func (w want) String() string {
	switch w {
	case aString:
		return "a string"
	case aNumber:
		return "a number"
	case aToken:
		return "a string or a number"
	case anObject, maybeObject:
		return "an object"
	}
	return "any value"
}

// takes reports whether a valid value that starts with c has the type.
func (w want) takes(c byte) bool {
	isNumber := c == '-' || c-'0' <= 9
	switch w {
	case aString:
		return c == '"'
	case aNumber:
		return isNumber
	case aToken:
		return c == '"' || isNumber
	case anObject:
		return c == '{'
	case maybeObject:
		return c == '{' || c == 'n'
	}
	return true
}

// slot numbers the spans that a scan finds.
type slot uint8

const (
	slotVersion slot = iota
	slotID
	slotMethod
	slotParams
	slotResult
	slotError
	slotName
	slotURI
	slotArguments
	slotRequestID
	slotToken
	slotRequestState
	slotInputResponses
	slotMode
	slotCursor
	slotLevel
	slotRef
	slotMeta
	slotMetaToken
	slotMetaVersion
	slotMetaClientInfo
	slotMetaCapabilities
	slotMetaLogLevel
	slotMetaSubscription
	slotRefType
	slotRefName
	slotRefURI
	slotResultType
	slotInputRequests
	slotResultState
	slotResultMeta
	slotResultMetaSubscription
	slotErrorCode
	slots
)

// route is a member whose value decides something: at its level it may stand
// once, and only in this spelling.
type route struct {
	key   string
	slot  slot
	want  want
	opens level // the level inside its value, when that is an object
}

const prefix = "io.modelcontextprotocol/"

// routes lists the routing members of each level. The members of params.ref
// have no span in a Message, but whoever walks to them may rely on them as well.
var routes = [...][]route{
	top: {
		{"jsonrpc", slotVersion, anything, opaque},
		{"id", slotID, anything, opaque},
		{"method", slotMethod, aString, opaque},
		{"params", slotParams, anObject, inParams},
		{"result", slotResult, anObject, inResult},
		{"error", slotError, anObject, inError},
	},
	inParams: {
		{"name", slotName, anything, opaque},
		{"uri", slotURI, anything, opaque},
		{"arguments", slotArguments, anything, opaque},
		{"requestId", slotRequestID, aToken, opaque},
		{"progressToken", slotToken, aToken, opaque},
		{"requestState", slotRequestState, anything, opaque},
		{"inputResponses", slotInputResponses, anything, opaque},
		{"mode", slotMode, anything, opaque},
		{"cursor", slotCursor, anything, opaque},
		{"level", slotLevel, anything, opaque},
		{"ref", slotRef, anything, inRef},
		{"_meta", slotMeta, maybeObject, inMeta},
	},
	inMeta: {
		{"progressToken", slotMetaToken, aToken, opaque},
		{prefix + "protocolVersion", slotMetaVersion, anything, opaque},
		{prefix + "clientInfo", slotMetaClientInfo, anything, opaque},
		{prefix + "clientCapabilities", slotMetaCapabilities, anything, opaque},
		{prefix + "logLevel", slotMetaLogLevel, anything, opaque},
		{prefix + "subscriptionId", slotMetaSubscription, aToken, opaque},
	},
	inRef: {
		{"type", slotRefType, anything, opaque},
		{"name", slotRefName, anything, opaque},
		{"uri", slotRefURI, anything, opaque},
	},
	inResult: {
		{"resultType", slotResultType, anything, opaque},
		{"inputRequests", slotInputRequests, anything, opaque},
		{"requestState", slotResultState, anything, opaque},
		{"_meta", slotResultMeta, maybeObject, inResultMeta},
	},
	inResultMeta: {
		{prefix + "subscriptionId", slotResultMetaSubscription, aToken, opaque},
	},
	inError: {
		{"code", slotErrorCode, aNumber, opaque},
	},
}

// find gives the route of a key at a level, nil for a key without one. It is
// not ok when the key is another spelling of a route's: some parsers unescape
// it, or ignore case, and would take it for that route.
func find(at level, token []byte, m marks) (r *route, ok bool) {
	name := token[1 : len(token)-1]
	list := routes[at]
	if m != 0 {
		text, _ := Unquote(token)
		for i := range list {
			if strings.EqualFold(text, list[i].key) {
				return &list[i], false
			}
		}
		return nil, true
	}
	for i := range list {
		r := &list[i]
		if len(r.key) != len(name) {
			continue
		}
		if r.key == string(name) {
			return r, true
		}
		if bytes.EqualFold(name, []byte(r.key)) {
			return r, false
		}
	}
	return nil, true
}
