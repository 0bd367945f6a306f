package relay

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// A backend binds its requestState to whoever it thinks is calling, which
// behind a gateway may be the gateway. So the gateway seals the state over
// the principal, the backend, the method and what the call is about, and
// takes it back only from the same.

func (rd *round) sealState(backend, state string) (string, error) {
	bound, err := rd.bound(backend)
	if err != nil {
		return "", err
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(rd.relay.limits.StateAge).Unix()))
	return rd.relay.ring.Seal(seal.State, bound, append(plain, state...)), nil
}

// openState gives the edit that restores the backend's own requestState in a
// retry, or nil where the request carries none.
func (rd *round) openState(backend string) (*wire.Edit, error) {
	msg := rd.call.msg
	if msg.RequestState.IsZero() {
		return nil, nil
	}
	bound, err := rd.bound(backend)
	if err != nil {
		return nil, err
	}
	plain, err := rd.relay.ring.Unseal(seal.State, bound, msg.Text(msg.RequestState))
	if err != nil || len(plain) < 8 {
		return nil, ask.Wrap(ask.BadState, "The requestState is not one that was given out for this call.", err)
	}
	if time.Now().Unix() > int64(binary.BigEndian.Uint64(plain)) {
		return nil, ask.Errorf(ask.BadState, "The requestState has expired. Call again without it.")
	}
	return &wire.Edit{Span: msg.RequestState, With: wire.AppendString(nil, string(plain[8:]))}, nil
}

// bound is what a state is bound to.
func (rd *round) bound(backend string) ([]byte, error) {
	digest, err := era.Salient(rd.call.msg)
	if err != nil {
		return nil, err
	}
	return append(bind(rd.who.Issuer, rd.who.Subject, backend, rd.call.msg.Method()), digest[:]...), nil
}

// bind writes words one after the other, each with its length, so that no
// other words are written alike.
func bind(words ...string) []byte {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, uint32(len(w)))
		b = append(b, w...)
	}
	return b
}

func sorted(edits []wire.Edit) []wire.Edit {
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	return edits
}
