package upload

import (
	"context"
	"sync"
)

// maxOver is how many questions wait to be tidied up after.
const maxOver = 1024

// Tidier removes the drafts of questions that ended without them. It has a
// goroutine of its own, so that nobody waits for it. Safe for concurrent use.
type Tidier struct {
	store *Store
	over  chan string
	end   context.CancelFunc
	wg    sync.WaitGroup
}

// Tidy starts a Tidier, which runs until it is closed.
func (s *Store) Tidy() *Tidier {
	ctx, end := context.WithCancel(context.Background())
	t := &Tidier{store: s, over: make(chan string, maxOver), end: end}
	t.wg.Go(func() {
		for {
			select {
			case id := <-t.over:
				t.tidy(ctx, id)
			case <-ctx.Done():
				return
			}
		}
	})
	return t
}

// Over says that a question has ended and that none of its drafts was sent.
// It never waits: what the Tidier does not get to, also because it is still on
// its way in, goes when its time is over.
func (t *Tidier) Over(askID string) {
	select {
	case t.over <- askID:
	default:
	}
}

// Close ends what is under way and waits for it.
func (t *Tidier) Close() {
	t.end()
	t.wg.Wait()
}

// tidy asks the store only about questions that files were given for, which
// are few.
func (t *Tidier) tidy(ctx context.Context, askID string) {
	s := t.store
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	there, err := s.room.has(ctx, askID)
	if err == nil && there {
		var all []draft
		if all, err = s.drafts(ctx, askID); err == nil {
			n := s.drop(ctx, all, func(*draft) bool { return true })
			s.cfg.Log.Info("files of a question that is over removed", "ask", askID, "files", n)
		}
	}
	if err != nil {
		s.cfg.Log.Warn("drafts not removed: they go when their time is over", "ask", askID, "err", err)
	}
}
