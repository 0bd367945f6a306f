package grant

import (
	"context"
	"errors"
	"time"

	"github.com/answerback/answerback/ask"
)

// early is how long before its end a token is refreshed, or half of its life
// where that is less.
const early = time.Minute

// maxLooks bounds how often one lookup starts over, because others change the
// same grant meanwhile.
const maxLooks = 5

// For gives what to send to a backend in somebody's name, refreshing it where
// that is due. It is the zero Use for a backend that needs no grant. The error
// is a *Needed where the person must connect first; other errors are passing:
// BackendUnreachable where the authorization server is.
func (g *Grants) For(ctx context.Context, who ask.Principal, name string) (Use, error) {
	b := g.backend(name)
	if b == nil {
		return Use{}, nil
	}
	for range maxLooks {
		r, err := g.read(ctx, who, name)
		if err != nil {
			return Use{}, err
		}
		if n := g.unusable(b, &r.record); n != nil {
			return Use{}, n
		}
		now := g.cfg.Now()
		if r.Kind == Key || r.fresh(now) {
			return r.use(b), nil
		}
		if r.refresh.Reveal() == "" {
			if r.alive(now) {
				return r.use(b), nil
			}
			return Use{}, g.needed(b, Expired, r.wanted())
		}
		if err := g.refreshed(ctx, b, who); err != nil {
			if n, ok := errors.AsType[*Needed](err); ok {
				return Use{}, n
			}
			if r.alive(now) && ctx.Err() == nil {
				return r.use(b), nil // it is good for a moment longer
			}
			return Use{}, err
		}
	}
	return Use{}, ask.Errorf(ask.BackendUnreachable, "The connection to "+name+" changes too fast to be used. Try again.")
}

// read gives a grant from memory, or else from the store.
func (g *Grants) read(ctx context.Context, who ask.Principal, backend string) (versioned, error) {
	key := keyOf(who, backend)
	r, round, ok := g.cache.get(key)
	if ok {
		return r, nil
	}
	r, err := g.load(ctx, who, backend)
	if err == nil {
		g.cache.keep(key, r, round)
	}
	return r, err
}

// unusable says why a grant cannot be used for a backend as it is configured
// now; nil where it can.
func (g *Grants) unusable(b *backend, r *record) *Needed {
	switch {
	case r.Broken != "":
		return g.needed(b, r.Broken, r.wanted())
	case r.URL != b.URL || r.Kind != b.Kind || b.Kind == OAuth && b.Issuer != "" && r.Issuer != b.Issuer:
		// A token for one server must not be shown to another.
		return g.needed(b, Moved, nil)
	}
	return nil
}

// alive reports whether the access token is good, as far as is known.
func (r *record) alive(now time.Time) bool {
	return !r.Stale && (r.Expires.IsZero() || now.Before(r.Expires))
}

// fresh reports whether it will be for a while.
func (r *record) fresh(now time.Time) bool {
	due := r.Due
	if due.IsZero() {
		due = r.Expires.Add(-early)
	}
	return !r.Stale && (r.Expires.IsZero() || now.Before(due))
}

// lasts says how long the access token is good, from now on. Zero is for as
// long as nobody says otherwise.
func (r *record) lasts(now time.Time, life time.Duration) {
	r.Expires, r.Due = time.Time{}, time.Time{}
	if life > 0 {
		r.Expires = now.Add(life).UTC()
		r.Due = r.Expires.Add(-min(early, life/2))
	}
}

func (r *record) use(b *backend) Use {
	if r.Kind == Key {
		return Use{Header: b.Header, Value: prefixed(b.Prefix, r.key)}
	}
	return Use{Header: "Authorization", Value: prefixed("Bearer ", r.access)}
}

// wanted are the scopes to ask for at the next connection, as far as they are
// known: all that were asked for before, and what the backend wants now.
func (r *record) wanted() []string { return union(r.Asked, r.Want) }
