package grant

import "github.com/answerback/answerback/ask"

// maxWanted bounds for how many grants somebody can wait at once.
const maxWanted = 100_000

// Wanted says that somebody has to connect a backend, and gives a channel that
// is closed when they have, wherever that was: also when they did before. All
// who wait for the same share it. It may also be closed where it is not known;
// For tells.
func (g *Grants) Wanted(who ask.Principal, backend string) <-chan struct{} {
	key, w := keyOf(who, backend), &g.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.wanted[key]; ok {
		return c
	}
	c := make(chan struct{})
	if w.wanted == nil {
		w.wanted = map[string]chan struct{}{}
	}
	for k, old := range w.wanted {
		if len(w.wanted) < maxWanted {
			break
		}
		close(old) // whoever waits there looks again
		delete(w.wanted, k)
	}
	w.wanted[key] = c
	g.look(key, c) // it may have been connected between the call's failing and now
	return c
}

// look ends one wait for a grant if it is there. It asks the store: what a
// watch tells may be of a version that a backend has refused since. So may
// what it reads itself, once it acts on it; but whoever wants a grant after
// that has another channel.
func (g *Grants) look(key string, wanted chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.work.Go(func() {
		item, err := g.grants.Get(g.life, key)
		if err != nil {
			return
		}
		if r, err := g.open(item); err == nil && g.satisfied(&r.record) {
			g.met(key, wanted)
		}
	})
}

// satisfied reports whether a grant is one that somebody waits for.
func (g *Grants) satisfied(r *record) bool {
	b := g.backend(r.Backend)
	return b != nil && g.unusable(b, r) == nil && !r.Unmet && !r.Stale
}

// met ends a wait for a grant.
func (g *Grants) met(key string, wanted chan struct{}) {
	w := &g.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wanted[key] == wanted {
		close(wanted)
		delete(w.wanted, key)
	}
}

// checkWanted looks whether a change is what somebody waits for.
func (g *Grants) checkWanted(key string) {
	w := &g.waiting
	w.mu.Lock()
	c, ok := w.wanted[key]
	w.mu.Unlock()
	if ok {
		g.look(key, c)
	}
}
