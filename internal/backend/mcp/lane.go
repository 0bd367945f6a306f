package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 30 * time.Second
	// steady is how long a process must have run for its end not to count
	// as one more failure to start.
	steady = time.Minute
)

// lanes are the processes that serve modern requests, one for each principal.
type lanes struct {
	mu   sync.Mutex
	quit chan struct{} // closed when no process may be started any more
	live map[ask.Principal]*lane
}

func (l *lanes) closed() bool {
	select {
	case <-l.quit:
		return true
	default:
		return false
	}
}

// lane is the process of one principal. It is started at the first call,
// anew after a crash, and stopped when it has not been used for a while.
type lane struct {
	backend *Backend
	who     ask.Principal
	gate    chan struct{} // held while the process is being started

	mu       sync.Mutex
	now      *running // nil while there is no process
	failures int
	retryAt  time.Time
	users    int
	idle     *time.Timer
}

// running is a process and its board.
type running struct {
	duplex
	proc  *process
	since time.Time
}

// laneLine is the line to a lane. It holds no process: the lane is looked up
// at each call, so that an idle one can be given up.
type laneLine struct {
	b   *Backend
	who ask.Principal
}

var _ contract.Line = laneLine{}

func (laneLine) Welcome() wire.Message { return wire.Message{} }

func (laneLine) Done() <-chan struct{} { return nil }

func (laneLine) Listen() {}

func (laneLine) Close(context.Context) {}

func (l laneLine) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	ln, err := l.b.enter(l.who)
	if err != nil {
		return contract.Reply{}, err
	}
	defer l.b.exit(ln)
	r, err := ln.ready(ctx)
	if err != nil {
		return contract.Reply{}, err
	}
	return r.call(ctx, &out, sink)
}

// Notify sends a notification where a process runs: a new one would not know
// what it is about.
func (l laneLine) Notify(ctx context.Context, msg []byte) error {
	ln, err := l.b.enter(l.who)
	if err != nil {
		return err
	}
	defer l.b.exit(ln)
	ln.mu.Lock()
	r := ln.now
	ln.mu.Unlock()
	if r == nil {
		return nil
	}
	return r.send(ctx, msg)
}

// enter gives the lane of a principal and counts one more user of it.
func (b *Backend) enter(who ask.Principal) (*lane, error) {
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	if b.lanes.closed() {
		return nil, b.shut()
	}
	ln := b.lanes.live[who]
	if ln == nil {
		if len(b.lanes.live) >= b.cfg.Limits.Processes {
			return nil, unreachable(b.cfg.Name, "as many people use it as it may have processes", nil)
		}
		ln = &lane{backend: b, who: who, gate: make(chan struct{}, 1)}
		ln.idle = time.AfterFunc(b.cfg.Limits.Idle, func() { b.retire(ln) })
		b.lanes.live[who] = ln
	}
	ln.users++
	ln.idle.Stop()
	return ln, nil
}

func (b *Backend) exit(ln *lane) {
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	if ln.users--; ln.users == 0 && !b.lanes.closed() {
		ln.idle.Reset(b.cfg.Limits.Idle)
	}
}

// retire gives up a lane that nobody has used for a while.
func (b *Backend) retire(ln *lane) {
	b.lanes.mu.Lock()
	if ln.users > 0 || b.lanes.closed() || b.lanes.live[ln.who] != ln {
		b.lanes.mu.Unlock()
		return
	}
	delete(b.lanes.live, ln.who)
	b.lanes.mu.Unlock()
	b.crew.spawn(func() { ln.stop(context.Background()) })
}

func (l *lanes) close(ctx context.Context) {
	l.mu.Lock()
	if !l.closed() {
		close(l.quit)
	}
	all := make([]*lane, 0, len(l.live))
	for _, ln := range l.live {
		ln.idle.Stop()
		all = append(all, ln)
	}
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, ln := range all {
		wg.Go(func() { ln.stop(ctx) })
	}
	wg.Wait()
}

// ready gives the running process, starting one where there is none.
func (ln *lane) ready(ctx context.Context) (*running, error) {
	select {
	case ln.gate <- struct{}{}:
		defer func() { <-ln.gate }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ln.mu.Lock()
	r, wait := ln.now, time.Until(ln.retryAt)
	ln.mu.Unlock()
	if r != nil {
		return r, nil
	}
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-ln.backend.lanes.quit:
	}
	if ln.backend.lanes.closed() {
		return nil, ln.backend.shut()
	}
	return ln.start()
}

func (ln *lane) start() (*running, error) {
	r := &running{duplex: duplex{board: newBoard(ln.backend, nil)}, since: time.Now()}
	_, err := ln.backend.start(func(p *process) handler {
		r.proc, r.board.send = p, p.send
		return &talk{board: r.board, ended: func(why *ask.Error) { ln.down(r, why) }}
	})
	if err != nil {
		r.end(ask.From(err))
		ln.failed()
		return nil, err
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if r.life.Err() == nil {
		ln.now = r
	}
	return r, nil
}

// down notes that a process ended.
func (ln *lane) down(r *running, why *ask.Error) {
	ln.mu.Lock()
	if ln.now == r {
		ln.now = nil
	}
	ln.mu.Unlock()
	if !r.end(why) {
		return // it was stopped
	}
	if time.Since(r.since) > steady {
		ln.mu.Lock()
		ln.failures = 0
		ln.mu.Unlock()
	}
	ln.failed()
}

// failed puts off the next start.
func (ln *lane) failed() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.retryAt = time.Now().Add(min(firstBackoff<<min(ln.failures, 16), maxBackoff))
	ln.failures++
}

// stop ends the lane's process and waits for it.
func (ln *lane) stop(ctx context.Context) {
	select {
	case ln.gate <- struct{}{}:
		defer func() { <-ln.gate }()
	case <-ctx.Done():
		return
	}
	ln.mu.Lock()
	r := ln.now
	ln.now = nil
	ln.mu.Unlock()
	if r == nil {
		return
	}
	r.end(ln.backend.shut())
	r.proc.stop(ctx)
	r.crew.dismiss(ctx)
}
