package relay

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/answerback/answerback/ask"
)

// lot holds the calls that outlive their requests: those of modern clients at
// legacy backends, which cannot be started again when a client comes back with
// an answer, and those whose clients were told to call again.
type lot struct {
	relay *Relay

	mu    sync.Mutex
	calls map[string]*parked
	each  map[ask.Principal]int
	told  map[string][]*parked // those whose clients were told to call again, by what tells calls apart
}

// admit makes room for a call, within the limit of its principal. A call that
// was let in stays.
func (l *lot) admit(pk *parked) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.calls[pk.id] == pk:
		return nil
	case l.each[pk.who] >= l.relay.limits.Parked:
		return ask.Errorf(ask.TooManyOpen, "You have as many calls under way as you may have.")
	}
	l.each[pk.who]++
	l.calls[pk.id] = pk
	return nil
}

// remove forgets a call.
func (l *lot) remove(pk *parked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[pk.id] != pk {
		return
	}
	l.untell(pk)
	delete(l.calls, pk.id)
	if l.each[pk.who]--; l.each[pk.who] == 0 {
		delete(l.each, pk.who)
	}
}

// end gives all calls up.
func (l *lot) end(why *ask.Error) {
	l.mu.Lock()
	all := make([]*parked, 0, len(l.calls))
	for _, pk := range l.calls {
		all = append(all, pk)
	}
	l.mu.Unlock()
	for _, pk := range all {
		pk.end(why)
	}
}

// attach finds the call that a retry belongs to. A state is good for one
// retry: of two at the same time one is refused.
func (l *lot) attach(ctx context.Context, who ask.Principal, state string) (*parked, error) {
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
func (l *lot) find(ctx context.Context, who ask.Principal, id string) *parked {
	l.mu.Lock()
	pk := l.calls[id]
	l.mu.Unlock()
	if pk != nil && pk.who == who {
		return pk
	}
	if pk != nil || l.relay.results == nil {
		return nil
	}
	pk, err := l.kept(ctx, who, id)
	if err != nil {
		l.relay.log.Warn("a kept response cannot be read", "err", err)
	}
	return pk
}
