package grant

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/secret"
)

// Visit is who sits at the browser, as their sign-in says.
type Visit struct {
	Who ask.Principal
	// Session stands for this sign-in and no other.
	Session string
}

// Plan is what connecting means, for a page to show before anybody agrees.
type Plan struct {
	Backend string
	Kind    Kind
	// Host is where the person is sent, Address all of it without the query.
	// Both are empty for a key.
	Host, Address string
	Scopes        []string
	Why           Reason // why it is needed; empty where it is connected already
	Since         time.Time
	Header        string // of a key
}

// Plan finds out what connecting a backend means for somebody.
func (g *Grants) Plan(ctx context.Context, v Visit, name string) (Plan, error) {
	b, r, err := g.visited(ctx, v, name)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Backend: name, Kind: b.Kind, Why: r.Broken, Since: r.Since, Header: b.Header}
	if p.Why == "" && r.Unmet {
		p.Why = MoreScopes
	}
	if b.Kind == Key {
		return p, nil
	}
	s, resource, err := g.discover(ctx, b, &r.record)
	if err != nil {
		return Plan{}, err
	}
	at, err := url.Parse(s.Authorize)
	if err != nil {
		return Plan{}, unreachable(name, err)
	}
	at.RawQuery = ""
	p.Host, p.Address = at.Host, at.String()
	p.Scopes = scopesFor(b, &r.record, &s, resource.Scopes)
	return p, nil
}

// visited gives the backend and what there is of somebody's grant for it.
func (g *Grants) visited(ctx context.Context, v Visit, name string) (*backend, versioned, error) {
	b := g.backend(name)
	if b == nil || v.Who.IsZero() || v.Session == "" {
		return nil, versioned{}, ask.Errorf(ask.UnknownBackend, "There is nothing to connect here.")
	}
	r, err := g.load(ctx, v.Who, name)
	if ask.CodeOf(err) == ask.StoreCorrupt {
		return nil, versioned{}, err
	}
	return b, r, err
}

// discover finds the authorization server of a backend, and how the backend
// calls itself as a resource. What the backend wants is added to r.
func (g *Grants) discover(ctx context.Context, b *backend, r *record) (oauth.Server, oauth.Resource, error) {
	failed := func(err error) (oauth.Server, oauth.Resource, error) {
		g.cfg.Log.Warn("no authorization server found", "backend", b.Name, "err", err)
		return oauth.Server{}, oauth.Resource{}, ask.Wrap(ask.BackendBroken, "It cannot be found out where to sign in for "+b.Name+". Its operator must look into it.", err)
	}
	if r.Metadata == "" && len(r.Want) == 0 {
		// The backend never refused a request of theirs, so it could not say.
		if why, err := b.oauth.Probe(ctx, b.URL); err == nil {
			r.Metadata, r.Want = why.ResourceMetadata, why.Scopes
		}
	}
	resource, err := b.oauth.Resource(ctx, b.URL, oauth.Challenge{ResourceMetadata: r.Metadata})
	switch {
	case err == nil:
	case b.Issuer != "" && errors.Is(err, oauth.ErrNoMetadata):
		resource = oauth.Resource{Resource: b.URL, Servers: []string{b.Issuer}}
	default:
		return failed(err)
	}
	issuer := resource.Servers[0]
	if b.Issuer != "" {
		// What the operator wrote counts, and a backend that names others is
		// not one to send this issuer's tokens to.
		if issuer = b.Issuer; !slices.Contains(resource.Servers, issuer) {
			return failed(errors.New("the backend does not name the configured issuer among its authorization servers"))
		}
	}
	s, err := b.oauth.Server(ctx, issuer)
	if err != nil {
		return failed(err)
	}
	return s, resource, nil
}

// scopesFor chooses the scopes to ask for: what the backend said it wants,
// else what its metadata lists; with everything that was asked for before, so
// that nothing is lost, and what the operator wrote.
func scopesFor(b *backend, r *record, s *oauth.Server, listed []string) []string {
	scopes := r.Want
	if len(scopes) == 0 {
		scopes = listed
	}
	scopes = union(b.Scopes, r.Asked, scopes)
	if slices.Contains(s.Scopes, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

// Begin starts connecting, after the person agreed, and gives the address
// that their browser goes to. question is the id of the ask for which they
// connect, or empty; whose it is must have been checked.
func (g *Grants) Begin(ctx context.Context, v Visit, name, question string) (string, error) {
	b, r, err := g.visited(ctx, v, name)
	if err != nil {
		return "", err
	}
	if b.Kind != OAuth {
		return "", ask.Errorf(ask.UnknownBackend, "There is nowhere to sign in for "+name+": it takes a key.")
	}
	s, resource, err := g.discover(ctx, b, &r.record)
	if err != nil {
		return "", err
	}
	id, err := g.identify(ctx, b, &s)
	if err != nil {
		if e, ok := errors.AsType[*ask.Error](err); ok {
			return "", e
		}
		g.cfg.Log.Warn("the gateway has no identity at an authorization server", "backend", name, "issuer", s.Issuer, "err", err)
		return "", ask.Wrap(ask.BackendBroken, "The authorization server of "+name+" does not know this gateway. Its operator must register it.", err)
	}
	f := flow{
		Principal: v.Who, Backend: name, URL: b.URL, Session: digest(v.Session), Ask: question,
		Issuer: s.Issuer, Token: s.Token, Revoke: s.Revoke, SendsIssuer: s.SendsIssuer, Method: id.Method,
		ClientID: id.ID, Resource: resource.Resource, Redirect: g.redirect(name),
		Scopes: scopesFor(b, &r.record, &s, resource.Scopes), Verifier: oauth.NewVerifier(),
	}
	state := oauth.NewVerifier()
	to, err := s.AuthorizeURL(f.request(state))
	if err != nil {
		return "", unreachable(name, err)
	}
	if err := g.putFlow(ctx, state, f); err != nil {
		return "", err
	}
	return to, nil
}

// Done is a connection that was made.
type Done struct {
	Backend string
	Ask     string // for which it was made, if there is one
}

// Finish takes what the authorization server sent the browser back with, at
// the callback of this backend, and stores the grant. It counts once, and only
// for who began it, in the browser session in which they did. The error has
// the code NotConnected where the person or the server said no, BadState for
// what is not a connection under way of this visitor's.
func (g *Grants) Finish(ctx context.Context, v Visit, name, rawQuery string) (Done, error) {
	b := g.backend(name)
	if b == nil || b.Kind != OAuth || v.Who.IsZero() || v.Session == "" {
		return Done{}, ask.Errorf(ask.UnknownBackend, "There is nothing to connect here.")
	}
	a, err := oauth.ParseAnswer(rawQuery)
	if err != nil {
		return Done{}, g.refuse(v, name, err)
	}
	f, err := g.takeFlow(ctx, v, name, a.State)
	if err != nil {
		return Done{}, err
	}
	done := Done{Backend: name, Ask: f.Ask}
	if err := a.From(f.Issuer, f.SendsIssuer); err != nil {
		return done, g.refuse(v, name, err)
	}
	if f.URL != b.URL || b.Issuer != "" && f.Issuer != b.Issuer {
		return done, ask.Errorf(ask.BadState, name+" was changed meanwhile. Connect again.")
	}
	if a.Error != "" {
		if a.Denied() {
			return done, ask.Errorf(ask.NotConnected, "Access was declined where you signed in. Nothing was connected.")
		}
		return done, ask.Errorf(ask.NotConnected, "The server where you signed in refused. Nothing was connected; try again later.")
	}
	r := record{facts: facts{
		Principal: v.Who, Backend: name, URL: f.URL, Kind: OAuth, Since: g.cfg.Now().UTC(), Issuer: f.Issuer, Token: f.Token, Revoke: f.Revoke,
		Resource: f.Resource, ClientID: f.ClientID, Method: f.Method, Asked: f.Scopes, Granted: f.Scopes,
	}}
	id, err := g.known(ctx, b, &r)
	if err != nil {
		return done, err
	}
	if id == nil {
		return done, ask.Errorf(ask.BadState, "This gateway is known under another id by now. Connect again.")
	}
	t, err := b.oauth.Exchange(ctx, f.Token, *id, f.request(""), a.Code)
	if err != nil {
		g.cfg.Log.Warn("a connection could not be made", "backend", name, "principal", v.Who.String(), "issuer", f.Issuer, "err", err)
		if oauth.IsRefusal(err, oauth.InvalidClient) {
			g.forget(ctx, b, f.Issuer, f.ClientID)
		}
		return done, ask.Wrap(ask.NotConnected, "The server where you signed in did not give access. Connect again.", err)
	}
	r.access, r.refresh = t.Access, t.Refresh
	r.lasts(g.cfg.Now(), t.Life)
	if t.Scopes != nil {
		r.Granted = t.Scopes
	}
	return done, g.connect(ctx, b, r, *id, f.Ask)
}

// maxKeyLength is how long a key may be that somebody enters.
const maxKeyLength = 8 << 10

// EnterKey stores a key that somebody typed. question is as in Begin.
func (g *Grants) EnterKey(ctx context.Context, v Visit, name, question string, key secret.Text) (Done, error) {
	b, _, err := g.visited(ctx, v, name)
	if err != nil {
		return Done{}, err
	}
	text := strings.TrimSpace(key.Reveal())
	switch {
	case b.Kind != Key:
		return Done{}, ask.Errorf(ask.UnknownBackend, name+" takes no key: sign in for it.")
	case text == "":
		return Done{}, ask.Errorf(ask.BadMessage, "Enter the key.")
	case len(text) > maxKeyLength || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return Done{}, ask.Errorf(ask.BadMessage, "This is not a key: it is too long, or has characters that keys do not have.")
	}
	r := record{facts: facts{Principal: v.Who, Backend: name, URL: b.URL, Kind: Key, Since: g.cfg.Now().UTC()}, key: secret.New(text)}
	return Done{Backend: name, Ask: question}, g.connect(ctx, b, r, oauth.Identity{}, question)
}

// connect stores a new grant in place of whatever there is.
func (g *Grants) connect(ctx context.Context, b *backend, next record, id oauth.Identity, question string) error {
	// The visitor may close the page now; what they gave is kept all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	for range maxLooks {
		old, err := g.load(ctx, next.Principal, next.Backend)
		if err != nil {
			return err
		}
		next.Metadata = old.Metadata
		if err = g.store(ctx, next, old.rev); err == nil {
			g.audit(Event{Kind: Connected, Principal: next.Principal, Backend: b.Name, Ask: question, Issuer: next.Issuer})
			return nil
		}
		if overtaken(err) != nil {
			g.discard(b, next, id)
			return overtaken(err)
		}
	}
	g.discard(b, next, id)
	return ask.Errorf(ask.BadState, "The connection to "+b.Name+" was changed at the same time. Connect again.")
}

// refuse notes an answer that is none, and tells its bearer nothing of why.
func (g *Grants) refuse(v Visit, name string, cause error) error {
	g.cfg.Log.Warn("an answer of an authorization server is refused", "backend", name, "principal", v.Who.String(), "err", cause)
	g.audit(Event{Kind: Denied, Principal: v.Who, Backend: name})
	return ask.Wrap(ask.BadState, "This is not the answer to a connection of yours, or it was used already. Connect again.", cause)
}
