package flight

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Board is the calls in flight at one surface. Safe for concurrent use.
type Board struct {
	kept func(ask string) bool

	mu      sync.Mutex
	trips   map[*Trip]struct{}
	closed  bool
	changed chan struct{} // has room for one: something ended, was asked or settled
}

// New makes a board. kept says whether an open question survives the gateway;
// nil means that none does.
func New(kept func(ask string) bool) *Board {
	if kept == nil {
		kept = func(string) bool { return false }
	}
	return &Board{kept: kept, trips: map[*Trip]struct{}{}, changed: make(chan struct{}, 1)}
}

// Begin counts a call in, which its trip's End counts out. It is nil once the
// board drains.
func (b *Board) Begin() *Trip {
	t := &Trip{board: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.trips[t] = struct{}{}
	return t
}

func (b *Board) change() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// lookEvery is how often a board that drains looks again: that a question came
// to be kept is nothing that it is told.
const lookEvery = 50 * time.Millisecond

// Drain refuses new calls, and waits until no call is in flight but those that
// wait for questions which are kept, or until ctx ends.
func (b *Board) Drain(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for b.working() {
		select {
		case <-b.changed:
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (b *Board) working() bool {
	for _, c := range b.Calls() {
		if !c.Waits {
			return true
		}
	}
	return false
}

// Call is a call in flight, for the operator.
type Call struct {
	Backend, Name string // "" where they are not known
	Waits         bool   // for a question that is kept
}

// String names the call.
func (c Call) String() string {
	if c.Backend != "" && c.Name != "" {
		return c.Backend + "/" + c.Name
	}
	return cmp.Or(c.Name, c.Backend, "a request")
}

// Calls gives the calls in flight, in the order of their names.
func (b *Board) Calls() []Call {
	b.mu.Lock()
	trips := slices.Collect(maps.Keys(b.trips))
	b.mu.Unlock()
	calls := make([]Call, len(trips))
	for i, t := range trips {
		calls[i] = t.call()
	}
	slices.SortFunc(calls, func(x, y Call) int { return cmp.Compare(x.String(), y.String()) })
	return calls
}

// Trip is one call in flight. A nil Trip is that of nobody, and takes whatever
// it is told.
type Trip struct {
	board *Board

	mu            sync.Mutex
	backend, name string
	asks          map[string]struct{} // open questions; made at the first
}

// End counts the call out.
func (t *Trip) End() {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	delete(t.board.trips, t)
	t.board.mu.Unlock()
	t.board.change()
}

// Calls says what is called.
func (t *Trip) Calls(backend, name string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.backend, t.name = backend, name
	t.mu.Unlock()
}

// Asked says that the call waits for a question.
func (t *Trip) Asked(ask string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	if t.asks == nil {
		t.asks = map[string]struct{}{}
	}
	t.asks[ask] = struct{}{}
	t.mu.Unlock()
	t.board.change()
}

// Settled says that it waits for it no longer.
func (t *Trip) Settled(ask string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	delete(t.asks, ask)
	t.mu.Unlock()
	t.board.change()
}

func (t *Trip) call() Call {
	t.mu.Lock()
	c := Call{Backend: t.backend, Name: t.name}
	asks := slices.Collect(maps.Keys(t.asks))
	t.mu.Unlock()
	c.Waits = slices.ContainsFunc(asks, t.board.kept)
	return c
}

type tripKey struct{}

// With gives a context that carries the trip.
func With(ctx context.Context, t *Trip) context.Context { return context.WithValue(ctx, tripKey{}, t) }

// Of gives the trip of a context, nil where it has none.
func Of(ctx context.Context) *Trip {
	t, _ := ctx.Value(tripKey{}).(*Trip)
	return t
}
