package bearer

import (
	"context"
	"crypto/rand"
	"crypto/sha512"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/answerback/answerback/internal/identity"
)

// Bearer checks the credentials of callers. It is safe for concurrent use,
// and runs nothing of its own: Close only ends fetches that are under way.
type Bearer struct {
	resource    string
	metadataURL string
	issuers     map[string]*issuer
	scopes      []string // what every issuer asks for, if all ask for the same
	keys        []staticKey
	cache       *cache
	parser      *jwt.Parser
	salt        [32]byte
	document    []byte
	now         func() time.Time
	life        context.Context
	end         context.CancelFunc
}

// New makes a Bearer. It fetches nothing: an issuer that is down at the start
// is asked when somebody comes with its token. Errors name every fault by its
// field.
func New(cfg Config) (*Bearer, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("bearer: %w", err)
	}
	b := &Bearer{
		resource:    cfg.Resource,
		metadataURL: cfg.MetadataURL,
		issuers:     make(map[string]*issuer, len(cfg.Issuers)),
		cache:       newCache(cfg.CacheSize),
		parser:      newParser(),
		now:         cfg.Now,
	}
	if cfg.CacheSize == 0 {
		b.cache = newCache(defaultCache)
	}
	if b.now == nil {
		b.now = time.Now
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if _, err := rand.Read(b.salt[:]); err != nil {
		return nil, fmt.Errorf("bearer: no randomness: %w", err)
	}
	var err error
	if b.document, err = document(cfg); err != nil {
		return nil, fmt.Errorf("bearer: metadata: %w", err)
	}
	b.life, b.end = context.WithCancel(context.Background())
	for i, each := range cfg.Issuers {
		b.issuers[each.URL] = newIssuer(each, cfg.Resource, newKeyring(keyringConfig{
			issuer: each.URL, jwks: each.JWKS, http: cfg.HTTP, now: b.now, log: log, life: b.life,
		}))
		if i == 0 {
			b.scopes = slices.Clone(each.Scopes)
		} else if !slices.Equal(b.scopes, each.Scopes) {
			b.scopes = nil
		}
	}
	for _, key := range cfg.Keys {
		b.keys = append(b.keys, newStaticKey(key, b.digest(key.Key.Reveal())))
	}
	return b, nil
}

// Close ends what is under way. Afterwards only static keys and tokens that
// are remembered are taken. It can be called more than once.
func (b *Bearer) Close() { b.end() }

// Authenticate says who sent the request. The error is a *Refusal. It may
// wait for the issuer's keys, at most ten seconds, when they are not there or
// it falls to this request to ask for them again.
func (b *Bearer) Authenticate(r *http.Request) (identity.Person, error) {
	token, refusal := b.credential(r)
	if refusal != nil {
		return identity.Person{}, refusal
	}
	sum := b.digest(token)
	now := b.now()
	if person, ok := b.cache.get(sum, now); ok {
		return person, nil
	}
	if !isToken68(token) {
		return identity.Person{}, b.malformed("The Authorization header has not exactly one token.")
	}
	if person, ok := matchKey(b.keys, sum); ok {
		return person, nil
	}
	if len(b.issuers) == 0 {
		return identity.Person{}, b.invalid("The key is unknown.", nil)
	}
	person, until, refusal := b.verify(r.Context(), token)
	if refusal != nil {
		return identity.Person{}, refusal
	}
	b.cache.put(sum, person, until, now)
	return person, nil
}

// digest stands for a credential, so that none is kept. The salt keeps digests
// of one process from meaning anything to another. SHA-512/256 because every
// call waits for it, and where the processor has no instructions for SHA-256
// it is the quicker of the two.
func (b *Bearer) digest(credential string) digest {
	var room [2048]byte // spares most tokens an allocation
	return sha512.Sum512_256(append(append(room[:0], b.salt[:]...), credential...))
}
