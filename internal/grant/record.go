package grant

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/secret"
)

// record is one grant as it is known in this process. It is not modified
// after it was read: changes are made to a copy and stored.
type record struct {
	facts
	access, refresh, key secret.Text
}

// facts are what a record says that is not secret by itself.
type facts struct {
	Version   int           `json:"v"`
	Principal ask.Principal `json:"principal"`
	Backend   string        `json:"backend"`
	URL       string        `json:"url"` // of the backend that it was given for
	Kind      Kind          `json:"kind"`
	// Broken is why the grant is not usable; empty while it is.
	Broken  Reason    `json:"broken,omitempty"`
	Since   time.Time `json:"since,omitzero"` // connected
	Updated time.Time `json:"updated,omitzero"`

	Issuer   string       `json:"issuer,omitempty"`
	Token    string       `json:"token_endpoint,omitempty"`
	Revoke   string       `json:"revocation_endpoint,omitempty"`
	Resource string       `json:"resource,omitempty"`
	ClientID string       `json:"client_id,omitempty"`
	Method   oauth.Method `json:"method,omitempty"`
	Asked    []string     `json:"asked,omitempty"`   // scopes that were asked for
	Granted  []string     `json:"granted,omitempty"` // scopes that were granted

	// Expires is when the access token ends, Due when it is refreshed; a record
	// of an older version has the first only.
	Expires time.Time `json:"expires,omitzero"`
	Due     time.Time `json:"due,omitzero"`
	// Stays means that the server was seen to leave refresh tokens as they are.
	Stays bool `json:"stays,omitempty"`
	// Stale means that the backend refused the access token before its time;
	// Again, that the one it refused came from a refresh for that reason.
	Stale bool `json:"stale,omitempty"`
	Again bool `json:"again,omitempty"`
	// Attempt is the time by which a refresh under way has ended. One that is
	// past was interrupted: whether the refresh token is spent is not known.
	Attempt time.Time `json:"attempt,omitzero"`
	// NotBefore is when a refresh that failed may be tried again.
	NotBefore time.Time `json:"not_before,omitzero"`

	// Want and Metadata are what the backend asked for when it last refused:
	// scopes, and where it describes itself. Unmet means that what there is
	// was not enough, and nobody connected since.
	Want     []string `json:"want,omitempty"`
	Metadata string   `json:"metadata,omitempty"`
	Unmet    bool     `json:"unmet,omitempty"`
}

const recordVersion = 1

// stored is a record in the form in which it is sealed.
type stored struct {
	facts
	Access  string `json:"access,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	Key     string `json:"key,omitempty"`
}

// keyOf is the key of a grant on its shelf: a digest, so that the store names
// nobody, and the backend.
func keyOf(who ask.Principal, backend string) string { return personOf(who) + "." + backend }

func personOf(who ask.Principal) string {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(who.Issuer)))
	h.Write(n[:])
	h.Write([]byte(who.Issuer))
	h.Write([]byte(who.Subject))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// bind is what a sealed value is bound to: its shelf and its key, so that
// values cannot be swapped.
func bind(shelf, key string) []byte { return []byte(shelf + "\n" + key) }

func (g *Grants) seal(shelf, key string, v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return []byte(g.cfg.Ring.Seal(seal.Secret, bind(shelf, key), plain)), nil
}

// unseal opens a value into v. Its error says nothing of the value.
func (g *Grants) unseal(shelf, key string, value []byte, v any) error {
	plain, err := g.cfg.Ring.Unseal(seal.Secret, bind(shelf, key), string(value))
	if err != nil {
		return fmt.Errorf("%s on shelf %s cannot be opened with the key ring: %w", key, shelf, err)
	}
	if json.Unmarshal(plain, v) != nil {
		return fmt.Errorf("%s on shelf %s is not in a form that this version reads", key, shelf)
	}
	return nil
}

// versioned is a record and the version of the store that it is. The zero
// version is of a record that is not there.
type versioned struct {
	record
	rev journal.Rev
}

// load reads a grant from the store. One that is not there is a record that
// was never connected.
func (g *Grants) load(ctx context.Context, who ask.Principal, backend string) (versioned, error) {
	key := keyOf(who, backend)
	item, err := g.grants.Get(ctx, key)
	if errors.Is(err, journal.NotFound) {
		return versioned{record: record{facts: facts{Principal: who, Backend: backend, Broken: Never}}}, nil
	}
	if err != nil {
		return versioned{}, journal.Refusal(err)
	}
	return g.open(item)
}

func (g *Grants) open(item journal.Item) (versioned, error) {
	var s stored
	if err := g.unseal(shelfGrants, item.Key, item.Value, &s); err != nil {
		return versioned{}, ask.Wrap(ask.StoreCorrupt, "A stored connection cannot be read. The operator must restore the key ring, or revoke the connection.", err)
	}
	if s.Version != recordVersion || keyOf(s.Principal, s.Backend) != item.Key {
		return versioned{}, ask.Wrap(ask.StoreCorrupt, "A stored connection cannot be read.", fmt.Errorf("%s on shelf %s is of another version or of somebody else", item.Key, shelfGrants))
	}
	r := record{facts: s.facts, access: secret.New(s.Access), refresh: secret.New(s.Refresh), key: secret.New(s.Key)}
	return versioned{record: r, rev: item.Rev}, nil
}

// save stores r in place of the version rev, which may be none. The error is
// the journal's own.
func (g *Grants) save(ctx context.Context, r record, rev journal.Rev) (journal.Rev, error) {
	key := keyOf(r.Principal, r.Backend)
	r.Version, r.Updated = recordVersion, g.cfg.Now().UTC()
	value, err := g.seal(shelfGrants, key, stored{facts: r.facts, Access: r.access.Reveal(), Refresh: r.refresh.Reveal(), Key: r.key.Reveal()})
	if err != nil {
		return journal.Rev{}, err
	}
	next, err := g.grants.Put(ctx, key, rev, value, 0)
	g.cache.drop(key)
	return next, err
}

// broken gives r without its tokens, and with the reason.
func (r record) broken(why Reason) record {
	r.Broken, r.Attempt, r.Stale, r.Again = why, time.Time{}, false, false
	r.Expires, r.Due = time.Time{}, time.Time{}
	r.access, r.refresh, r.key = secret.Text{}, secret.Text{}, secret.Text{}
	return r
}
