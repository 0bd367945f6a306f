package relay

import (
	"context"
	"slices"
	"sync"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// returnedLine is the line of a solo session from before a restart: that of
// the first of its calls that could be taken up. Where none could, its backend
// did not outlive the gateway: the client can fetch what it missed, and with
// its next call it learns that the session is over.
type returnedLine struct {
	lost chan struct{} // closed once the client was told that the backend is lost

	mu     sync.Mutex
	lines  []contract.Line // that of the session first, then those that serve one call
	over   bool            // lost is closed
	closed bool
}

func newReturnedLine() *returnedLine { return &returnedLine{lost: make(chan struct{})} }

// adopt takes the line of a call. After the session's end it is closed with
// its backend.
func (l *returnedLine) adopt(line contract.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && !slices.Contains(l.lines, line) {
		l.lines = append(l.lines, line)
	}
}

// line is the one for the session's further calls, nil where there is none.
func (l *returnedLine) line() contract.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return nil
	}
	return l.lines[0]
}

// lose says that the session is over.
func (l *returnedLine) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.lost)
	}
}

func (l *returnedLine) Welcome() wire.Message {
	if line := l.line(); line != nil {
		return line.Welcome()
	}
	return wire.Message{}
}

func (l *returnedLine) Notify(ctx context.Context, msg []byte) error {
	if line := l.line(); line != nil {
		return line.Notify(ctx, msg)
	}
	return nil
}

func (l *returnedLine) Listen() {
	if line := l.line(); line != nil {
		line.Listen()
	}
}

func (l *returnedLine) Done() <-chan struct{} {
	if line := l.line(); line != nil {
		return line.Done()
	}
	return l.lost
}

func (l *returnedLine) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	if line := l.line(); line != nil {
		return line.Call(ctx, out, sink)
	}
	l.lose()
	return contract.Reply{}, lostCall(nil)
}

func (l *returnedLine) Close(ctx context.Context) {
	l.mu.Lock()
	l.closed = true
	lines := l.lines
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, line := range lines {
		wg.Go(func() { line.Close(ctx) })
	}
	wg.Wait()
	l.lose()
}

// adopt gives the place of a backend the line of a call that was taken up.
// Where the place has another one, the line serves that call alone.
func (j *join) adopt(e *Entry, line contract.Line) {
	name := e.Backend.Name()
	j.mu.Lock()
	sl := j.slots[name]
	if sl == nil {
		sl = &slot{backend: e.Backend}
		j.slots[name] = sl
	}
	j.mu.Unlock()
	sl.mu.Lock()
	defer sl.mu.Unlock()
	switch {
	case sl.line == nil:
		sl.line = line
	case sl.line != line:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.beside = append(j.beside, line)
	}
}
