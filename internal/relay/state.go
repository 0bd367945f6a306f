package relay

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// A backend binds its requestState to whoever it thinks is calling, which
// behind a gateway may be the gateway. So the gateway seals the state over
// the principal, the backend, the method and what the call is about, and
// takes it back only from the same.
//
// A state that travels with questions expires with the first of them: between
// two modern peers nothing of the gateway waits for an answer, and this is
// how one that comes too late is still not taken. For that it is given out
// also where the backend has none of its own.

// What a sealed state holds before the backend's own.
const (
	stateExpires = 8 // seconds since 1970
	stateHead    = stateExpires + 1
)

const (
	stateAsks = 1 << iota // it travels with questions
	stateOurs             // the backend gave none
)

// sealState seals a backend's state, nil where it gave none. patience is how
// long the questions with it may take, zero where there are none.
func (rd *round) sealState(backend string, state *string, patience time.Duration) (string, error) {
	bound, err := rd.bound(backend)
	if err != nil {
		return "", err
	}
	var flags byte
	age := rd.relay.limits.StateAge
	if patience > 0 {
		flags, age = stateAsks, min(age, patience)
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(age).Unix()))
	if state == nil {
		plain = append(plain, flags|stateOurs)
	} else {
		plain = append(append(plain, flags), *state...)
	}
	return rd.relay.ring.Seal(seal.State, bound, plain), nil
}

// openState gives the edit that restores the backend's own requestState in a
// retry, or nil where the request carries none. ours says that the state is
// that of a call which the gateway holds.
func (rd *round) openState(backend string) (edit *wire.Edit, ours bool, err error) {
	msg := rd.call.msg
	if msg.RequestState.IsZero() {
		return nil, false, nil
	}
	bound, err := rd.bound(backend)
	if err != nil {
		return nil, false, err
	}
	plain, err := rd.relay.ring.Unseal(seal.State, bound, msg.Text(msg.RequestState))
	if err != nil || len(plain) < stateHead {
		return nil, false, ask.Wrap(ask.BadState, "The requestState is not one that was given out for this call.", err)
	}
	flags, own := plain[stateExpires], plain[stateHead:]
	if time.Now().Unix() > int64(binary.BigEndian.Uint64(plain)) {
		if flags&stateAsks != 0 {
			return nil, false, ask.Errorf(ask.Timeout, "The question was not answered in time. Call again to be asked anew.")
		}
		return nil, false, ask.Errorf(ask.BadState, "The requestState has expired. Call again without it.")
	}
	if flags&stateOurs != 0 {
		edit := wire.Drop(msg.Raw, msg.Params, msg.RequestState)
		return &edit, false, nil
	}
	return &wire.Edit{Span: msg.RequestState, With: wire.AppendString(nil, string(own))}, parking.Ours(string(own)), nil
}

// bound is what a state is bound to.
func (rd *round) bound(backend string) ([]byte, error) {
	digest, err := era.Salient(rd.call.msg)
	if err != nil {
		return nil, err
	}
	return append(seal.Words(rd.who.Issuer, rd.who.Subject, backend, rd.call.msg.Method()), digest[:]...), nil
}

func sorted(edits []wire.Edit) []wire.Edit {
	slices.SortFunc(edits, func(a, b wire.Edit) int { return int(a.Span.Start - b.Span.Start) })
	return edits
}
