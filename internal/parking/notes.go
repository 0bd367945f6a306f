package parking

import (
	"strconv"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// maxHeldNotes bounds the notifications kept while no client listens.
const maxHeldNotes = 64

// board puts the client of a round on the line, and tells it first what it
// missed.
func (pk *Call) board(msg *wire.Message, sink contract.Sink) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	pk.msg, pk.sink = msg, sink
	if len(pk.open)+len(pk.pages) > 0 {
		pk.signal()
	}
	notes := pk.notes
	if pk.last != nil {
		notes = append(notes, pk.last)
	}
	pk.notes, pk.last = nil, nil
	for _, raw := range notes {
		pk.tell(raw)
	}
}

// unboard takes the client of a request off the line, unless another has come.
func (pk *Call) unboard(msg *wire.Message) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.msg == msg {
		pk.msg, pk.sink = nil, nil
	}
}

// Notify passes a notification of the call on to its client, or keeps it for
// later. The bytes are not kept.
func (pk *Call) Notify(raw []byte) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	pk.tell(raw)
}

// Passes reports whether the client that began the call is the one to hear of
// it, and as things come.
func (pk *Call) Passes() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return !pk.told && pk.terms.Hold == 0
}

// tell is Notify for whoever has the lock. Progress carries the token of the
// round under way; log messages go only to who wants them.
func (pk *Call) tell(raw []byte) {
	m, err := wire.Scan(raw, pk.lot.limits.Scan)
	if err != nil {
		return
	}
	progress := m.Method() == "notifications/progress"
	if progress {
		pk.reached = max(pk.reached, progressOf(&m))
	}
	switch {
	case pk.sink == nil && progress:
		pk.last = append(pk.last[:0], raw...)
	case pk.sink == nil:
		if len(pk.notes) < maxHeldNotes {
			pk.notes = append(pk.notes, append([]byte(nil), raw...))
		}
	case progress:
		token := pk.msg.Field(pk.msg.MetaToken)
		if token == nil {
			return
		}
		if m, err = wire.Scan(wire.Splice(nil, raw, wire.Edit{Span: m.Token, With: token}), pk.lot.limits.Scan); err == nil {
			pk.sink.Notify(&m)
		}
	case pk.terms.Era == era.Legacy:
		pk.sink.Notify(&m)
	case m.Method() == "notifications/message" && pk.msg.MetaLogLevel.IsZero():
	case m.Method() == "notifications/elicitation/complete":
	default:
		pk.sink.Notify(&m)
	}
}

// progressOf reads how far a notification says that the work has come.
func progressOf(m *wire.Message) float64 {
	n, err := strconv.ParseFloat(string(wire.Get(m.Raw, m.Params, "progress").Of(m.Raw)), 64)
	if err != nil {
		return 0
	}
	return n
}
