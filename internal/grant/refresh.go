package grant

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/plant"
	"github.com/answerback/answerback/internal/secret"
)

const (
	// attemptTime is how long a refresh may take, with everything: the
	// server's answer and storing it.
	attemptTime = time.Minute
	// retryAfter is how long a server that failed is left alone.
	retryAfter = 5 * time.Second
	// maxFlights bounds the refreshes under way at once.
	maxFlights = 1024
)

// flight is a refresh that several wait for.
type flight struct {
	done chan struct{}
	err  error // set before done is closed
}

// refreshed waits until somebody's grant was refreshed, by whomever, and says
// nothing of how: the grant does, when it is read again.
func (g *Grants) refreshed(ctx context.Context, b *backend, who ask.Principal) error {
	key := keyOf(who, b.Name)
	g.mu.Lock()
	f := g.flights[key]
	if f == nil {
		if g.closed {
			g.mu.Unlock()
			return ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
		}
		if len(g.flights) >= maxFlights {
			g.mu.Unlock()
			return ask.Errorf(ask.BackendUnreachable, "Too many connections are being renewed. Try again.")
		}
		f = &flight{done: make(chan struct{})}
		g.flights[key] = f
		g.work.Go(func() {
			// Others wait for it too, so it does not end with this request.
			ctx, cancel := context.WithTimeout(g.life, attemptTime)
			defer cancel()
			f.err = g.refresh(ctx, b, who)
			g.mu.Lock()
			delete(g.flights, key)
			g.mu.Unlock()
			close(f.done)
		})
	}
	g.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refresh refreshes a grant once. Of several gateways the one does it that
// announces it first. Announced is what may be spent: a gateway that dies
// before it stored what it got leaves the announcement behind, and the token
// is then not shown again, unless its server is known to leave tokens as they
// are. Nothing narrower can be told from what is stored: the announcement is
// the last thing before the request.
func (g *Grants) refresh(ctx context.Context, b *backend, who ask.Principal) error {
	changed, stop := g.changes(who, b.Name)
	defer stop()
	r, err := g.load(ctx, who, b.Name)
	if err != nil {
		return err
	}
	now := g.cfg.Now()
	if r.Broken != "" || r.fresh(now) || r.refresh.Reveal() == "" {
		return nil
	}
	if now.Before(r.NotBefore) {
		return unreachable(b.Name, errors.New("it failed a moment ago"))
	}
	if now.Before(r.Attempt) && !g.cfg.Alone {
		return await(ctx, changed, r.Attempt.Sub(now))
	}
	if !r.Attempt.IsZero() && !r.Stays {
		return g.lose(ctx, r, Interrupted)
	}
	if r.Stale && b.Issuer == "" {
		// The backend refused the token early: perhaps it trusts another
		// server now, whose tokens this one cannot give.
		found, err := b.oauth.Resource(ctx, b.URL, oauth.Challenge{ResourceMetadata: r.Metadata})
		if err == nil && !slices.Contains(found.Servers, r.Issuer) {
			return g.lose(ctx, r, Moved)
		}
	}
	id, err := g.known(ctx, b, &r.record)
	if err != nil {
		return err
	}
	if id == nil {
		return g.lose(ctx, r, Moved)
	}
	return g.spend(ctx, b, r, *id)
}

// await waits for a change or for the end of somebody else's refresh.
func await(ctx context.Context, changed <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
		return unreachable("the backend", context.Cause(ctx))
	}
	return nil
}

// spend announces a refresh, performs it and stores what it brings.
func (g *Grants) spend(ctx context.Context, b *backend, r versioned, id oauth.Identity) error {
	next := r.record
	next.Attempt = plant.Without(plant.SilentRefresh, g.cfg.Now().Add(attemptTime))
	plant.Kill("grant.announce.before")
	rev, err := g.save(ctx, next, r.rev)
	if err != nil {
		return overtaken(err)
	}
	plant.Kill("grant.announce.after")
	token, err := b.oauth.Refresh(ctx, r.Token, id, r.Resource, r.refresh)
	announced := versioned{next, rev}
	switch e, refused := errors.AsType[*oauth.Error](err); {
	case err == nil:
		return renew(ctx, g, b, announced, id, token)
	case refused && e.Status < 500 && e.Status != 429:
		g.cfg.Log.Warn("a connection could not be renewed", "backend", b.Name, "principal", r.Principal.String(), "err", err)
		if e.Code == oauth.InvalidClient {
			g.forget(ctx, b, r.Issuer, r.ClientID)
		}
		return g.lose(ctx, announced, Withdrawn)
	case oauth.IsUnreadable(err) && !r.Stays:
		return g.lose(ctx, announced, Interrupted)
	}
	// The server cannot be reached, or broke off. Its being away must not
	// disconnect everybody, so the same token is tried again later.
	next.Attempt, next.NotBefore = time.Time{}, g.cfg.Now().Add(retryAfter)
	if _, err := g.save(ctx, next, rev); err != nil {
		g.cfg.Log.Warn("a failed renewal could not be noted", "backend", b.Name, "err", err)
	}
	return unreachable(b.Name, err)
}

// renew stores what a refresh brought. Only then is it used.
func (g *Grants) renew(ctx context.Context, b *backend, r versioned, id oauth.Identity, t oauth.Token) error {
	next := r.record
	next.Attempt, next.NotBefore = time.Time{}, time.Time{}
	next.Again, next.Stale = r.Stale, false
	next.access = t.Access
	next.lasts(g.cfg.Now(), t.Life)
	if t.Refresh.Reveal() != "" {
		next.Stays = t.Refresh.Reveal() == r.refresh.Reveal()
		next.refresh = t.Refresh
	} else {
		next.Stays = true
	}
	if t.Scopes != nil {
		next.Granted = t.Scopes
	}
	plant.Kill("grant.renew.before")
	err := g.store(ctx, next, r.rev)
	plant.Kill("grant.renew.after")
	switch {
	case err == nil:
		g.audit(Event{Kind: Refreshed, Principal: r.Principal, Backend: b.Name, Issuer: r.Issuer})
		return nil
	case errors.Is(err, journal.NotFound), errors.Is(err, journal.Conflict):
		// It was revoked or connected anew meanwhile: nobody will use these.
		g.discard(b, next, id)
		return nil
	}
	g.cfg.Log.Error("a renewed connection could not be stored; it must be made again", "backend", b.Name, "principal", r.Principal.String(), "err", err)
	return journal.Refusal(err)
}

// store saves a record although the store may be away for a moment. Where it
// is not known whether a write arrived, the same is written again, and found
// there if it had.
func (g *Grants) store(ctx context.Context, next record, rev journal.Rev) error {
	pause := 50 * time.Millisecond
	for {
		_, err := g.save(ctx, next, rev)
		if err == nil || g.arrived(err, next) {
			return nil
		}
		if !errors.Is(err, journal.Unavailable) {
			return err
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
			pause = min(2*pause, 2*time.Second)
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// arrived reports whether a conflict is with the very record that was written.
func (g *Grants) arrived(err error, next record) bool {
	e, ok := errors.AsType[*journal.Error](err)
	if !ok || e.Item == nil {
		return false
	}
	there, err := g.open(*e.Item)
	return err == nil && there.Broken == next.Broken && there.access.Reveal() == next.access.Reveal() && there.key.Reveal() == next.key.Reveal()
}

// lose notes that a grant is not usable any more, and why.
func (g *Grants) lose(ctx context.Context, r versioned, why Reason) error {
	plant.Kill("grant.lose.before")
	if err := g.store(ctx, r.broken(why), r.rev); err != nil {
		return overtaken(err)
	}
	plant.Kill("grant.lose.after")
	g.audit(Event{Kind: Lost, Principal: r.Principal, Backend: r.Backend, Why: why, Issuer: r.Issuer})
	return nil
}

// overtaken is nil where somebody else changed the grant first: it is read
// again then.
func overtaken(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, journal.Conflict) || errors.Is(err, journal.NotFound) || errors.Is(err, journal.Exists) {
		return nil
	}
	return journal.Refusal(err)
}

// discard gives tokens back that nobody will use.
func (g *Grants) discard(b *backend, r record, id oauth.Identity) {
	if r.Revoke == "" {
		return
	}
	for _, t := range []struct {
		token secret.Text
		hint  string
	}{{r.refresh, "refresh_token"}, {r.access, "access_token"}} {
		if t.token.Reveal() == "" {
			continue
		}
		if err := b.oauth.Revoke(g.life, r.Revoke, id, t.token, t.hint); err != nil {
			g.cfg.Log.Warn("a token could not be given back", "backend", b.Name, "err", err)
		}
	}
}

func unreachable(backend string, cause error) error {
	return ask.Wrap(ask.BackendUnreachable, "The authorization server of "+backend+" cannot be reached, or fails. Try again later.", cause)
}
