package relay

import (
	"context"
	"sync"

	"github.com/answerback/answerback/internal/contract"
)

// rejoined counts how many calls share a line after a restart. Calls that had
// one session at a server before it have one line after it, whether their
// clients are attached or away. The line is closed with the last of its users,
// so that the end of one call does not end the others.
type rejoined struct {
	mu    sync.Mutex
	users map[contract.Line]int
}

// share gives one more user of a line its own handle. Every handle must be
// closed.
func (r *rejoined) share(line contract.Line) contract.Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users == nil {
		r.users = make(map[contract.Line]int)
	}
	r.users[line]++
	return &sharedLine{Line: line, of: r}
}

// leave reports whether the user who leaves a line is its last one.
func (r *rejoined) leave(line contract.Line) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users[line]--; r.users[line] > 0 {
		return false
	}
	delete(r.users, line)
	return true
}

// sharedLine is one user's handle of a line.
type sharedLine struct {
	contract.Line
	of   *rejoined
	once sync.Once
}

func (l *sharedLine) Close(ctx context.Context) {
	l.once.Do(func() {
		if l.of.leave(l.Line) {
			l.Line.Close(ctx)
		}
	})
}
