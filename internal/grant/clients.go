package grant

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/secret"
)

// registration is the gateway as one authorization server registered it, for
// one backend. It belongs to that server alone.
type registration struct {
	Issuer   string       `json:"issuer"`
	Redirect string       `json:"redirect"`
	ID       string       `json:"id"`
	Secret   string       `json:"secret,omitempty"`
	Method   oauth.Method `json:"method"`
	Expires  time.Time    `json:"expires,omitzero"`
}

func (r *registration) identity() oauth.Identity {
	return oauth.Identity{ID: r.ID, Secret: secret.New(r.Secret), Method: r.Method, Expires: r.Expires}
}

func clientKey(issuer, backend string) string {
	sum := sha256.Sum256([]byte(issuer))
	return base64.RawURLEncoding.EncodeToString(sum[:]) + "." + backend
}

// identify says who the gateway is at an authorization server: as configured,
// else by its metadata document, else by registration.
func (g *Grants) identify(ctx context.Context, b *backend, s *oauth.Server) (oauth.Identity, error) {
	if b.ClientID != "" {
		return oauth.Identity{ID: b.ClientID, Secret: b.ClientSecret, Method: s.MethodFor(b.ClientSecret)}, nil
	}
	if doc := g.document(b); doc != "" && s.Documents {
		return oauth.Identity{ID: doc, Method: oauth.None}, nil
	}
	known, rev, err := g.registered(ctx, b, s.Issuer)
	if err != nil {
		return oauth.Identity{}, err
	}
	if known != nil && known.Redirect == g.redirect(b.Name) && (known.Expires.IsZero() || g.cfg.Now().Before(known.Expires)) {
		return known.identity(), nil
	}
	id, err := b.oauth.Register(ctx, s, g.describe(b.Name))
	if err != nil {
		return oauth.Identity{}, err
	}
	r := registration{
		Issuer: s.Issuer, Redirect: g.redirect(b.Name), ID: id.ID, Secret: id.Secret.Reveal(), Method: id.Method, Expires: id.Expires,
	}
	key := clientKey(s.Issuer, b.Name)
	value, err := g.seal(shelfClients, key, r)
	if err != nil {
		return oauth.Identity{}, err
	}
	_, err = g.clients.Put(ctx, key, rev, value, 0)
	if errors.Is(err, journal.Exists) || errors.Is(err, journal.Conflict) {
		// Somebody registered at the same time: one identity is enough.
		if known, _, err = g.registered(ctx, b, s.Issuer); err == nil && known != nil {
			return known.identity(), nil
		}
	}
	if err != nil {
		return oauth.Identity{}, journal.Refusal(err)
	}
	return id, nil
}

// registered reads a registration, nil where there is none.
func (g *Grants) registered(ctx context.Context, b *backend, issuer string) (*registration, journal.Rev, error) {
	key := clientKey(issuer, b.Name)
	item, err := g.clients.Get(ctx, key)
	if errors.Is(err, journal.NotFound) {
		return nil, journal.Rev{}, nil
	}
	if err != nil {
		return nil, journal.Rev{}, journal.Refusal(err)
	}
	var r registration
	if err := g.unseal(shelfClients, key, item.Value, &r); err != nil {
		g.cfg.Log.Warn("a registration is made anew", "backend", b.Name, "err", err)
		return nil, item.Rev, nil
	}
	if r.Issuer != issuer {
		return nil, item.Rev, nil
	}
	return &r, item.Rev, nil
}

// known gives the identity that a grant's tokens were issued to, nil where the
// gateway does not have it any more.
func (g *Grants) known(ctx context.Context, b *backend, grant *record) (*oauth.Identity, error) {
	switch grant.ClientID {
	case "":
		return nil, nil
	case b.ClientID:
		return &oauth.Identity{ID: b.ClientID, Secret: b.ClientSecret, Method: grant.Method}, nil
	case g.document(b):
		return &oauth.Identity{ID: grant.ClientID, Method: oauth.None}, nil
	}
	r, _, err := g.registered(ctx, b, grant.Issuer)
	if err != nil || r == nil || r.ID != grant.ClientID || b.ClientID != "" {
		return nil, err
	}
	found := r.identity()
	return &found, nil
}

// forget drops a registration that its server does not know any more.
func (g *Grants) forget(ctx context.Context, b *backend, issuer, id string) {
	if r, rev, err := g.registered(ctx, b, issuer); err == nil && r != nil && r.ID == id {
		if err := g.clients.Delete(ctx, clientKey(issuer, b.Name), rev); err != nil {
			g.cfg.Log.Warn("a registration that is not valid any more could not be dropped", "backend", b.Name, "err", err)
		}
	}
}
