package observe

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/wire"
)

// Bounds on what one line takes over from others. Ids, codes and names of the
// gateway's own are far below them.
const (
	maxWho  = 1024 // of an issuer, a subject or a group
	maxWord = 256  // of everything else
)

// lineTime is how a line writes when something happened: in UTC, with a fixed
// width, so that lines sort as text.
const lineTime = "2006-01-02T15:04:05.000000Z"

// appendLine appends a record as one JSON object, without a line end. Members
// that say nothing are left out.
func appendLine(b []byte, r *desk.Record) []byte {
	b = append(b, `{"at":"`...)
	b = r.At.UTC().AppendFormat(b, lineTime)
	b = append(b, '"')
	b = appendWord(b, "transition", r.Transition)
	b = appendWord(b, "ask", r.Ask)
	if r.Kind != 0 {
		b = appendWord(b, "kind", r.Kind.String())
	}
	b = appendWord(b, "backend", r.Backend)
	b = appendWord(b, "name", r.Name)
	b = appendWord(b, "client", r.Client)
	if who := r.Addressee; who.Group != "" {
		b = append(b, `,"addressee":{"group":`...)
		b = append(wire.AppendString(b, clip(who.Group, maxWho)), '}')
	} else {
		b = appendWho(b, "addressee", who.Principal)
	}
	b = appendWord(b, "rung", r.Rung)
	b = appendWho(b, "by", r.By)
	b = appendWord(b, "surface", r.Surface)
	if r.Digest != "" {
		b = appendWord(b, "action", r.Action.String())
	}
	if r.Ending != 0 {
		b = appendWord(b, "ending", r.Ending.String())
	}
	b = appendWord(b, "code", string(r.Code))
	b = appendWord(b, "reason", string(r.Reason))
	if r.Kind != 0 {
		b = append(b, `,"since_ms":`...)
		b = strconv.AppendInt(b, max(0, r.Since.Milliseconds()), 10)
	}
	b = appendWord(b, "digest", r.Digest)
	return append(b, '}')
}

// AccountRecord is something that happened to an account that somebody has
// connected, or tried to. It holds no secret.
type AccountRecord struct {
	At         time.Time
	Transition string // connected and the like, as package grant calls it
	Ask        string // the question for which it was connected, if there is one
	Backend    string
	By         ask.Principal // whose it is, or who tried
	Issuer     string        // of the account, "" where it is a key
	Reason     string        // why it was lost
}

// appendAccount appends such a record as appendLine does.
func appendAccount(b []byte, r *AccountRecord) []byte {
	b = append(b, `{"at":"`...)
	b = r.At.UTC().AppendFormat(b, lineTime)
	b = append(b, '"')
	b = appendWord(b, "transition", r.Transition)
	b = appendWord(b, "ask", r.Ask)
	b = appendWord(b, "backend", r.Backend)
	b = appendWho(b, "by", r.By)
	b = appendWord(b, "issuer", r.Issuer)
	b = appendWord(b, "reason", r.Reason)
	return append(b, '}')
}

func appendWord(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return wire.AppendString(appendKey(b, key), clip(value, maxWord))
}

func appendWho(b []byte, key string, who ask.Principal) []byte {
	if who.IsZero() {
		return b
	}
	b = append(appendKey(b, key), `{"issuer":`...)
	b = wire.AppendString(b, clip(who.Issuer, maxWho))
	b = append(b, `,"subject":`...)
	return append(wire.AppendString(b, clip(who.Subject, maxWho)), '}')
}

func appendKey(b []byte, key string) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

// clip cuts s after at most limit bytes, between two characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
