package observe

import "github.com/answerback/answerback/ask"

// Every value of a label is from a closed set, so that no stranger can make
// the gateway hold another series. What is not in the set is "other".
const other = "other"

var rungs = map[string]bool{"client": true, "link": true, "page": true}

var surfaces = map[string]bool{
	"mcp": true, "page": true, "api": true, "terminal": true, "events": true, "a2a": true,
}

var reasons = map[string]bool{
	string(ask.UserCancelled): true, string(ask.ClientDisconnected): true, string(ask.TimedOut): true,
	string(ask.SessionOver): true, string(ask.Invalidated): true,
}

var codes = map[ask.Code]bool{
	ask.Internal: true, ask.ClientLacksCapability: true, ask.ModeNotDeclared: true, ask.NoClient: true,
	ask.BadSchema: true, ask.AsksForSecret: true, ask.SwitchedOff: true, ask.RateLimited: true, ask.TooManyOpen: true, ask.Overloaded: true,
	ask.Timeout: true, ask.ClientGone: true, ask.ClientCancelled: true, ask.SessionExpired: true, ask.BackendWithdrew: true,
	ask.BackendLost: true, ask.ShuttingDown: true, ask.FormInvalidated: true,
	ask.JournalUnavailable: true, ask.StoreFull: true, ask.StoreCorrupt: true,
	ask.TooLate: true, ask.Unknown: true, ask.NotYours: true, ask.InvalidContent: true, ask.NotAnswered: true, ask.Collected: true,
	ask.BadMessage: true, ask.Ambiguous: true, ask.TooLarge: true, ask.UnknownMethod: true,
	ask.UnknownName: true, ask.UnknownBackend: true, ask.NotAllowed: true, ask.BadHeader: true,
	ask.BadVersion: true, ask.MissingCapability: true, ask.BadState: true, ask.BackendUnreachable: true,
	ask.BackendTimeout: true, ask.BackendBroken: true, ask.OutcomeUnknown: true, ask.NotConnected: true, ask.Waiting: true,
}

func among(set map[string]bool, value string) string {
	if set[value] {
		return value
	}
	return other
}

func codeLabel(c ask.Code) string {
	if codes[c] {
		return string(c)
	}
	return other
}
