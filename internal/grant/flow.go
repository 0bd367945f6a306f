package grant

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal"
)

const (
	// flowAge is how long somebody has to sign in elsewhere.
	flowAge = 10 * time.Minute
	// maxFlows is how many connections one person can have under way.
	maxFlows = 20
)

// flow is a connection under way. It is kept sealed, under its person and the
// digest of its state: the state of another person's is not found.
type flow struct {
	Principal   ask.Principal `json:"principal"`
	Backend     string        `json:"backend"`
	URL         string        `json:"url"`
	Session     string        `json:"session"` // the digest of the browser session that began it
	Ask         string        `json:"ask,omitempty"`
	Issuer      string        `json:"issuer"`
	SendsIssuer bool          `json:"sends_issuer,omitempty"`
	Token       string        `json:"token_endpoint"`
	Revoke      string        `json:"revocation_endpoint,omitempty"`
	ClientID    string        `json:"client_id"`
	Method      oauth.Method  `json:"method"`
	Resource    string        `json:"resource"`
	Redirect    string        `json:"redirect"`
	Scopes      []string      `json:"scopes,omitempty"`
	Verifier    string        `json:"verifier"`
	Expires     time.Time     `json:"expires"`
}

func (f *flow) request(state string) oauth.Request {
	return oauth.Request{
		ClientID: f.ClientID, Redirect: f.Redirect, State: state, Verifier: f.Verifier, Resource: f.Resource, Scopes: f.Scopes,
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte("answerback connect\n" + text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func flowKey(who ask.Principal, state string) string { return personOf(who) + "." + digest(state) }

// putFlow keeps a flow under its state.
func (g *Grants) putFlow(ctx context.Context, state string, f flow) error {
	open := 0
	for _, err := range g.flows.Scan(ctx, personOf(f.Principal)) {
		if err != nil {
			return journal.Refusal(err)
		}
		if open++; open >= maxFlows {
			return ask.Errorf(ask.TooManyOpen, "You have begun to connect too often. Finish one, or wait ten minutes.")
		}
	}
	key := flowKey(f.Principal, state)
	f.Expires = g.cfg.Now().Add(flowAge).UTC()
	value, err := g.seal(shelfFlows, key, f)
	if err != nil {
		return err
	}
	if _, err := g.flows.Put(ctx, key, journal.Rev{}, value, flowAge); err != nil {
		return journal.Refusal(err)
	}
	return nil
}

// takeFlow takes out the flow of a state, once. A visit that does not match
// does not use it up.
func (g *Grants) takeFlow(ctx context.Context, v Visit, backend, state string) (flow, error) {
	key := flowKey(v.Who, state)
	item, err := g.flows.Get(ctx, key)
	if errors.Is(err, journal.NotFound) {
		return flow{}, g.refuse(v, backend, errors.New("no connection of this person has this state"))
	}
	if err != nil {
		return flow{}, journal.Refusal(err)
	}
	var f flow
	if err := g.unseal(shelfFlows, key, item.Value, &f); err != nil {
		return flow{}, g.refuse(v, backend, err)
	}
	switch {
	case f.Principal != v.Who:
		return flow{}, g.refuse(v, backend, errors.New("it is another person's"))
	case subtle.ConstantTimeCompare([]byte(f.Session), []byte(digest(v.Session))) != 1:
		return flow{}, g.refuse(v, backend, errors.New("it was begun in another browser session"))
	case f.Backend != backend:
		return flow{}, g.refuse(v, backend, errors.New("it came back to the address of another backend"))
	case !g.cfg.Now().Before(f.Expires):
		return flow{}, g.refuse(v, backend, errors.New("it is too old"))
	}
	if err := g.flows.Delete(ctx, key, item.Rev); errors.Is(err, journal.Conflict) || errors.Is(err, journal.NotFound) {
		return flow{}, g.refuse(v, backend, errors.New("it was taken a moment ago"))
	} else if err != nil {
		return flow{}, journal.Refusal(err)
	}
	return f, nil
}
