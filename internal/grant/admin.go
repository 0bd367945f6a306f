package grant

import (
	"context"
	"errors"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// Info is what can be told of a grant. It holds no secret.
type Info struct {
	Principal ask.Principal `json:"principal"`
	Backend   string        `json:"backend"`
	Kind      Kind          `json:"kind"`
	// Why is why it is not usable; empty while it is.
	Why       Reason    `json:"why,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	Updated   time.Time `json:"updated,omitzero"`
	Expires   time.Time `json:"expires,omitzero"` // of the token; it is refreshed where it can be
	Refreshes bool      `json:"refreshes,omitempty"`
	Issuer    string    `json:"issuer,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`
}

func (r *record) info() Info {
	return Info{
		Principal: r.Principal, Backend: r.Backend, Kind: r.Kind, Why: r.Broken, Since: r.Since, Updated: r.Updated,
		Expires: r.Expires, Refreshes: r.refresh.Reveal() != "", Issuer: r.Issuer, Scopes: r.Granted,
	}
}

// List tells of the grants of one person, or of everybody where who is zero,
// at most limit, in no order. One that cannot be read ends it with an error,
// after those before it.
func (g *Grants) List(ctx context.Context, who ask.Principal, limit int) ([]Info, error) {
	prefix := ""
	if !who.IsZero() {
		prefix = personOf(who)
	}
	byKey := map[string]int{} // a record that changes meanwhile comes twice
	var all []Info
	for item, err := range g.grants.Scan(ctx, prefix) {
		if err != nil {
			return all, journal.Refusal(err)
		}
		r, err := g.open(item)
		if err != nil {
			return all, err
		}
		if r.Broken == Never {
			continue // what a backend wants is noted, and nobody gave it yet
		}
		if at, twice := byKey[item.Key]; twice {
			all[at] = r.info()
			continue
		}
		if len(all) == limit {
			break
		}
		byKey[item.Key] = len(all)
		all = append(all, r.info())
	}
	return all, nil
}

// Revoke forgets somebody's grant for a backend, and then gives its tokens
// back to their authorization server, if it takes them. told says whether
// nothing is left that could be used elsewhere, as far as the server says. The
// error has the code UnknownName where there is nothing to revoke.
func (g *Grants) Revoke(ctx context.Context, who ask.Principal, name string) (told bool, err error) {
	for range maxLooks {
		key := keyOf(who, name)
		item, err := g.grants.Get(ctx, key)
		if errors.Is(err, journal.NotFound) {
			return false, ask.Errorf(ask.UnknownName, "There is no such connection.")
		}
		if err != nil {
			return false, journal.Refusal(err)
		}
		r, unreadable := g.open(item)
		err = g.grants.Delete(ctx, key, item.Rev)
		g.cache.drop(key)
		if overtaken(err) != nil {
			return false, overtaken(err)
		}
		if err != nil {
			continue // it changed; the newer one is meant as well
		}
		g.audit(Event{Kind: Revoked, Principal: who, Backend: name, Issuer: r.Issuer})
		if unreadable != nil {
			return false, nil
		}
		return g.giveBack(ctx, &r.record), nil
	}
	return false, ask.Errorf(ask.BadState, "The connection changes too fast to be revoked. Try again.")
}

// giveBack tells the authorization server of a grant that its tokens are not
// used any more.
func (g *Grants) giveBack(ctx context.Context, r *record) bool {
	b := g.backend(r.Backend)
	if b == nil || b.Kind != OAuth || r.Revoke == "" {
		return r.access.Reveal() == "" && r.key.Reveal() == ""
	}
	id, err := g.known(ctx, b, r)
	if err != nil || id == nil {
		return false
	}
	told := true
	if r.refresh.Reveal() != "" {
		err = b.oauth.Revoke(ctx, r.Revoke, *id, r.refresh, "refresh_token")
		told = err == nil
	}
	if err2 := b.oauth.Revoke(ctx, r.Revoke, *id, r.access, "access_token"); err2 != nil && r.refresh.Reveal() == "" {
		err, told = err2, false // with a refresh token gone, servers drop its access tokens
	}
	if !told {
		g.cfg.Log.Warn("the authorization server could not be told of a revocation", "backend", r.Backend, "err", err)
	}
	return told
}

// Resealed counts what Reseal did.
type Resealed struct {
	Sealed     int `json:"sealed"`     // made anew with the first key of the ring
	Current    int `json:"current"`    // that were already
	Unreadable int `json:"unreadable"` // with a key that the ring does not have
}

// Reseal seals everything that is kept anew with the first key of the ring, so
// that older keys can be taken out of it. It may be repeated, and run while
// the gateway works. Connections under way are left alone: they are gone in
// ten minutes.
func (g *Grants) Reseal(ctx context.Context) (Resealed, error) {
	var n Resealed
	for name, shelf := range map[string]journal.Shelf{shelfGrants: g.grants, shelfClients: g.clients} {
		for item, err := range shelf.Scan(ctx, "") {
			if err != nil {
				return n, journal.Refusal(err)
			}
			if g.cfg.Ring.Current(string(item.Value)) {
				n.Current++
				continue
			}
			aad := bind(name, item.Key)
			plain, err := g.cfg.Ring.Unseal(seal.Secret, aad, string(item.Value))
			if err != nil {
				g.cfg.Log.Warn("a sealed record cannot be opened with the key ring", "shelf", name, "key", item.Key, "err", err)
				n.Unreadable++
				continue
			}
			_, err = shelf.Put(ctx, item.Key, item.Rev, []byte(g.cfg.Ring.Seal(seal.Secret, aad, plain)), 0)
			if overtaken(err) != nil {
				return n, overtaken(err)
			}
			n.Sealed++ // by us, or by whoever wrote it meanwhile
		}
	}
	return n, nil
}
