package grant

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// Suspend gives a stored grant as a backup is restored with: it keeps what it
// holds, and is not used until it is confirmed or its person connects again,
// because it may have been revoked after the backup was taken. One that is not
// usable anyway stays as it is.
func Suspend(ring *seal.Ring, key string, value []byte) ([]byte, error) {
	plain, err := ring.Unseal(seal.Secret, bind(shelfGrants, key), string(value))
	if err != nil {
		return nil, err
	}
	var s stored
	if err := json.Unmarshal(plain, &s); err != nil {
		return nil, errors.New("it is not in a form that this version reads")
	}
	if s.Version != recordVersion || s.Broken != "" {
		return value, nil
	}
	s.Broken = Suspended
	if plain, err = json.Marshal(s); err != nil {
		return nil, err
	}
	return []byte(ring.Seal(seal.Secret, bind(shelfGrants, key), plain)), nil
}

// Confirm lets suspended grants be used again: those of one person, or of
// everybody where who is zero, and for one backend, or for all where name is
// empty. It gives how many there were.
func (g *Grants) Confirm(ctx context.Context, who ask.Principal, name string) (int, error) {
	prefix := ""
	if !who.IsZero() {
		prefix = personOf(who)
	}
	n := 0
	for item, err := range g.grants.Scan(ctx, prefix) {
		if err != nil {
			return n, journal.Refusal(err)
		}
		r, err := g.open(item)
		if err != nil {
			return n, err
		}
		if r.Broken != Suspended || name != "" && r.Backend != name {
			continue
		}
		next := r.record
		next.Broken = ""
		_, err = g.save(ctx, next, r.rev)
		if overtaken(err) != nil {
			return n, overtaken(err)
		}
		if err != nil {
			continue // it was revoked or connected again meanwhile
		}
		n++
		g.audit(Event{Kind: Confirmed, Principal: r.Principal, Backend: r.Backend, Issuer: r.Issuer})
	}
	return n, nil
}
