package parking

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// Config is what a Lot needs. Desk may be nil where nobody is asked anything,
// Results where responses die with the gateway. All else is required.
type Config struct {
	Desk    *desk.Desk // takes the answers that clients bring
	Ring    *seal.Ring
	Results Results
	Home    string // the gateway's, as a word of an id of Results
	Log     *slog.Logger
	Limits  Limits
}

// Limits bound what a Lot holds.
type Limits struct {
	Total time.Duration // all time of a call, people included
	Away  time.Duration // how long a call waits for its client
	Round time.Duration // how long a modern client is kept waiting before it is asked to call again
	Each  int           // calls of one principal
	Scan  wire.Limits
}

// Lot holds the calls that outlive their requests: those of modern clients at
// legacy backends, which cannot be started again when a client comes back with
// an answer, and those whose clients were told to call again. Safe for
// concurrent use.
type Lot struct {
	desk    *desk.Desk
	ring    *seal.Ring
	results Results
	home    string
	log     *slog.Logger
	limits  Limits

	mu    sync.Mutex
	calls map[string]*Call
	each  map[ask.Principal]int
	told  map[string][]*Call // those whose clients were told to call again, by what tells calls apart
}

// New makes an empty lot.
func New(cfg Config) (*Lot, error) {
	switch {
	case cfg.Ring == nil:
		return nil, errors.New("parking: no key ring given")
	case cfg.Log == nil:
		return nil, errors.New("parking: no logger given")
	case cfg.Results != nil && cfg.Home == "":
		return nil, errors.New("parking: no home given")
	case cfg.Limits.Total <= 0 || cfg.Limits.Away <= 0 || cfg.Limits.Round <= 0 || cfg.Limits.Each <= 0:
		return nil, errors.New("parking: every limit must be set")
	}
	return &Lot{
		desk: cfg.Desk, ring: cfg.Ring, results: cfg.Results, home: cfg.Home, log: cfg.Log, limits: cfg.Limits,
		calls: make(map[string]*Call), each: make(map[ask.Principal]int), told: make(map[string][]*Call),
	}, nil
}

// Admit makes room for the call in its lot, within the limit of its principal.
// A call that was let in stays. The error's code is TooManyOpen.
func (pk *Call) Admit() error {
	l := pk.lot
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.calls[pk.id] == pk:
		return nil
	case l.each[pk.terms.Who] >= l.limits.Each:
		return ask.Errorf(ask.TooManyOpen, "You have as many calls under way as you may have.")
	}
	l.each[pk.terms.Who]++
	l.calls[pk.id] = pk
	pk.holds = pk.terms.Held.Keep()
	return nil
}

// readmit is Admit for a call that was let in before a restart, whatever the
// limit says now. It fails where another call has its id.
func (pk *Call) readmit() error {
	l := pk.lot
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.calls[pk.id] {
	case pk:
		return nil
	case nil:
		l.each[pk.terms.Who]++
		l.calls[pk.id] = pk
		return nil
	}
	return errors.New("two calls have the id " + pk.id)
}

// Forget takes the call out of its lot: it did not come to begin.
func (pk *Call) Forget() { pk.lot.remove(pk) }

func (l *Lot) remove(pk *Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[pk.id] != pk {
		return
	}
	if pk.holds {
		pk.holds = false
		pk.terms.Held.Release()
	}
	l.untell(pk)
	delete(l.calls, pk.id)
	if l.each[pk.terms.Who]--; l.each[pk.terms.Who] == 0 {
		delete(l.each, pk.terms.Who)
	}
}

// End gives all calls up.
func (l *Lot) End(why *ask.Error) {
	l.mu.Lock()
	all := make([]*Call, 0, len(l.calls))
	for _, pk := range l.calls {
		all = append(all, pk)
	}
	l.mu.Unlock()
	for _, pk := range all {
		pk.end(why)
	}
}

// Attach finds the call that a retry belongs to, by the requestState that it
// was sent away with. A state is good for one retry: of two at the same time
// one is refused. The error's code is BadState.
func (l *Lot) Attach(ctx context.Context, who ask.Principal, state string) (*Call, error) {
	id, round, _ := strings.Cut(state, ".")
	n, err := strconv.Atoi(round)
	pk := l.find(ctx, who, id)
	if err != nil || pk == nil {
		return nil, ask.Errorf(ask.BadState, "The call that this requestState belongs to is over. Call again without it.")
	}
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.gone || pk.round != n && !(pk.revived && n > pk.round) {
		return nil, ask.Errorf(ask.BadState, "This requestState was used already.")
	}
	pk.round, pk.revived = n+1, false
	if pk.patient != nil {
		pk.patient.Stop()
	}
	return pk, nil
}

// find gives the call with this id of this principal: the one that is held,
// or one whose response was kept before a restart.
func (l *Lot) find(ctx context.Context, who ask.Principal, id string) *Call {
	l.mu.Lock()
	pk := l.calls[id]
	l.mu.Unlock()
	if pk != nil && pk.terms.Who == who {
		return pk
	}
	if pk != nil || l.results == nil {
		return nil
	}
	pk, err := l.kept(ctx, who, id)
	if err != nil {
		l.log.Warn("a kept response cannot be read", "err", err)
	}
	return pk
}
