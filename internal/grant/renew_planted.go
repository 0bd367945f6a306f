//go:build plant

package grant

import (
	"context"
	"time"

	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/plant"
)

// renew stores what a refresh brought, or lets it be used a second before it
// does.
func renew(ctx context.Context, g *Grants, b *backend, r versioned, id oauth.Identity, t oauth.Token) error {
	if !plant.EarlyUse.On() {
		return g.renew(ctx, b, r, id, t)
	}
	next := r
	next.Attempt, next.access, next.refresh = time.Time{}, t.Access, t.Refresh
	next.lasts(g.cfg.Now(), t.Life)
	time.AfterFunc(time.Second, func() { _ = g.renew(g.life, b, r, id, t) })
	key := keyOf(r.Principal, r.Backend)
	_, round, _ := g.cache.get(key)
	g.cache.keep(key, next, round)
	return nil
}
