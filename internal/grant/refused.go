package grant

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant/oauth"
)

// Refused says that a backend did not take what For gave. It reports whether
// For has something else by now, with which the request is worth sending
// again. Where it does not, the person has to connect, and For says so, unless
// the token is good and only not enough for this request: then For gives it
// still, and Wanted tells when there is one that is.
func (g *Grants) Refused(ctx context.Context, who ask.Principal, name string, used Use, why oauth.Challenge) bool {
	b := g.backend(name)
	if b == nil {
		return false
	}
	for range maxLooks {
		r, err := g.load(ctx, who, name)
		if err != nil {
			return false
		}
		again, changed := g.refused(ctx, b, r, used, why)
		if !changed {
			return again
		}
	}
	return false
}

// refused is Refused for a grant as it was read. Where somebody else changed it
// first, nothing is decided, and changed is true.
func (g *Grants) refused(ctx context.Context, b *backend, r versioned, used Use, why oauth.Challenge) (again, changed bool) {
	if g.unusable(b, &r.record) != nil {
		_, changed = g.note(ctx, b, r, r.record, why)
		return false, changed
	}
	if r.use(b).Value.Reveal() != used.Value.Reveal() {
		return true, false // somebody refreshed or connected it meanwhile
	}
	next := r.record
	switch {
	case why.InsufficientScope:
		next.Unmet = true
		_, changed = g.note(ctx, b, r, next, why)
		return false, changed
	case r.refresh.Reveal() != "" && !r.Again:
		// It may have been withdrawn early: a new one tells. If that one is
		// refused as well, no third is asked for.
		if next.Stale = true; !r.Stale {
			if stored, changed := g.note(ctx, b, r, next, why); !stored {
				return false, changed
			}
		}
		_, err := g.For(ctx, r.Principal, r.Backend)
		return err == nil, false
	}
	stored, changed := g.note(ctx, b, r, next.broken(Rejected), why)
	if stored {
		g.audit(Event{Kind: Lost, Principal: r.Principal, Backend: r.Backend, Why: Rejected, Issuer: r.Issuer})
	}
	return false, changed
}

// note stores what a backend said it wants, unless somebody else changed the
// grant first.
func (g *Grants) note(ctx context.Context, b *backend, old versioned, next record, why oauth.Challenge) (stored, lost bool) {
	if b.Kind == OAuth {
		if len(why.Scopes) > 0 {
			next.Want = why.Scopes
		}
		if _, err := oauth.CheckAddress(why.ResourceMetadata); err == nil {
			next.Metadata = why.ResourceMetadata
		}
	}
	if old.URL != "" && (old.URL != b.URL || old.Kind != b.Kind) {
		next = next.broken(Moved)
	}
	next.URL, next.Kind = b.URL, b.Kind
	_, err := g.save(ctx, next, old.rev)
	if overtaken(err) != nil {
		g.cfg.Log.Warn("what a backend wants could not be noted", "backend", b.Name, "err", err)
	}
	return err == nil, err != nil && overtaken(err) == nil
}
