package parking

import (
	"strconv"
	"time"

	"github.com/answerback/answerback/internal/wire"
)

// held is how long the client of a request is held: not at all where it does
// not want to hear of progress.
func (pk *Call) held(msg *wire.Message) time.Duration {
	if msg.MetaToken.IsZero() {
		return 0
	}
	return pk.terms.Hold
}

// hold keeps a client waiting. A nil hold does not.
type hold struct {
	beat  *time.Ticker
	until *time.Timer
}

func (pk *Call) hold(msg *wire.Message) *hold {
	d := pk.held(msg)
	if d <= 0 {
		return nil
	}
	return &hold{time.NewTicker(pk.terms.Beat), time.NewTimer(d)}
}

func (h *hold) tick() <-chan time.Time {
	if h == nil {
		return nil
	}
	return h.beat.C
}

func (h *hold) over() <-chan time.Time {
	if h == nil {
		return nil
	}
	return h.until.C
}

func (h *hold) stop() {
	if h != nil {
		h.beat.Stop()
		h.until.Stop()
	}
}

// stillWaiting tells a client that is held what for. Progress only ever
// grows: by a little, so that the backend's own still fits.
func (pk *Call) stillWaiting() {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if !pk.ownPages() || pk.sink == nil {
		return
	}
	pk.reached += 0.001
	b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), pk.msg.Field(pk.msg.MetaToken)...)
	b = strconv.AppendFloat(append(b, `,"progress":`...), pk.reached, 'f', 3, 64)
	b = wire.AppendString(append(b, `,"message":`...), "Waiting for an answer at "+pk.pages[len(pk.pages)-1].Link)
	if m, err := wire.Scan(append(b, "}}"...), pk.lot.limits.Scan); err == nil {
		pk.sink.Notify(&m)
	}
}
