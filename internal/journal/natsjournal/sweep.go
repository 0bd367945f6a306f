package natsjournal

import (
	"context"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// maxTrash is how many messages may wait to be removed. More are found by the
// next scan.
const maxTrash = 10_000

// trash is a message that the engine keeps and that may go.
type trash struct {
	*table
	seq uint64
}

// passed notes a message that a scan passed over because it is over. The
// engine removes most of them by itself, but not an ask that was still open,
// and not one that came back after a crash.
func (j *Journal) passed(t *table, m *stored) {
	if m.frame.kind == kindAsk && m.frame.pinned && m.frame.until > j.before {
		j.lapsed.Add(1)
	}
	if !m.frame.pinned || m.frame.until == journal.Never || t.clock.now()-m.frame.until < int64(t.slack) {
		return
	}
	select {
	case j.trash <- trash{t, m.seq}:
	default:
	}
}

// sweep removes what scans have noted, until the journal is closed. A removal
// may be undone by a crash, which changes nothing: the message is over.
func (j *Journal) sweep() {
	for {
		select {
		case <-j.life.Done():
			return
		case m := <-j.trash:
			m.remove(j.life)
		}
	}
}

func (m *trash) remove(ctx context.Context) {
	ctx, cancel := m.link.limit(ctx)
	defer cancel()
	_, err := m.link.request(ctx, "STREAM.MSG.DELETE."+m.stream, map[string]any{"seq": m.seq, "no_erase": true})
	if err == nil || ctx.Err() != nil {
		return
	}
	// The engine does not work now. The next scan finds the message again.
	select {
	case <-ctx.Done():
	case <-time.After(retryPause):
	}
}
