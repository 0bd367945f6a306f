package bearer

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// fresh is for how long an issuer's keys are used without asking again.
	fresh = 5 * time.Minute
	// usable is for how long they are when the issuer does not answer.
	usable = time.Hour
	// again is how long after an answer an unknown key id causes a new fetch.
	again = 30 * time.Second
	// firstPause and longestPause are how long an issuer that failed is left
	// alone.
	firstPause, longestPause = time.Second, time.Minute
	// fetchTime is how long a fetch may take, discovery and all.
	fetchTime = 10 * time.Second
	// rediscover is for how long the address of the keys is believed.
	rediscover = time.Hour
)

// errUnknownKey means that the issuer does not have the key, as of a moment ago.
var errUnknownKey = errors.New("the issuer has no such key")

type keyringConfig struct {
	issuer string
	jwks   string // where the keys are, "" to find out
	http   *http.Client
	now    func() time.Time
	log    *slog.Logger
	life   context.Context
}

// keyring has the keys of one issuer. They are fetched by the lookup that
// needs them; others wait for it, or go on with the keys there are. Safe for
// concurrent use.
type keyring struct {
	keyringConfig

	mu       sync.Mutex
	keys     keySet
	answered time.Time     // when the issuer last gave its keys
	next     time.Time     // before then it is not asked again
	failures int           // in a row
	failure  error         // the last of them, nil after an answer
	flight   chan struct{} // closed when the fetch under way has ended

	// Where the keys are; only the one fetch under way touches these.
	found   string
	foundAt time.Time
}

func newKeyring(cfg keyringConfig) *keyring {
	guarded := *cfg.http // there are keyrings only where there is a client
	guarded.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	guarded.Jar, guarded.Timeout = nil, 0
	cfg.http = &guarded
	return &keyring{keyringConfig: cfg}
}

// lookup gives the keys that a token with this key id and algorithm may be
// signed with, and until when what they verify may be remembered. The error
// is errUnknownKey, or says why the issuer's keys cannot be had.
func (k *keyring) lookup(ctx context.Context, kid, alg string) ([]crypto.PublicKey, time.Time, error) {
	for {
		k.mu.Lock()
		now := k.now()
		var keys []crypto.PublicKey
		known := !k.answered.IsZero() && now.Before(k.answered.Add(usable))
		if known {
			keys = k.keys.find(kid, alg)
		}
		due := k.answered.Add(fresh)
		flight, failure := k.flight, k.failure
		switch {
		case len(keys) > 0 && now.Before(due):
			k.mu.Unlock()
			return keys, due, nil
		case flight != nil && len(keys) > 0:
			k.mu.Unlock()
			return keys, now, nil
		case flight != nil:
			k.mu.Unlock()
			select {
			case <-flight:
			case <-ctx.Done():
				return nil, time.Time{}, ctx.Err()
			}
		case !now.Before(k.next):
			k.flight = make(chan struct{})
			k.mu.Unlock()
			k.refresh()
		case len(keys) > 0:
			next := k.next
			k.mu.Unlock()
			return keys, next, nil
		case known && failure == nil:
			k.mu.Unlock()
			return nil, time.Time{}, errUnknownKey
		default:
			k.mu.Unlock()
			return nil, time.Time{}, fmt.Errorf("issuer %s: %w", k.issuer, failure)
		}
	}
}

// refresh fetches the keys. It outlives the request that it serves: somebody
// who asks and hangs up must not spoil it for the others.
func (k *keyring) refresh() {
	ctx, cancel := context.WithTimeout(k.life, fetchTime)
	defer cancel()
	var keys keySet
	err := errors.New("the fetch broke off")
	defer func() { k.settle(keys, err) }() // or everybody would wait for it
	keys, err = k.fetch(ctx)
}

func (k *keyring) settle(keys keySet, err error) {
	k.mu.Lock()
	now := k.now()
	changed := false
	if err != nil {
		pause := min(firstPause<<min(k.failures, 10), longestPause)
		k.failures++
		k.failure = err
		k.next = now.Add(pause)
	} else {
		changed = !keys.same(k.keys)
		k.keys, k.answered, k.next = keys, now, now.Add(again)
		k.failures, k.failure = 0, nil
	}
	failures := k.failures
	close(k.flight)
	k.flight = nil
	k.mu.Unlock()

	switch {
	case err != nil:
		k.log.Warn("an issuer's keys cannot be had; its tokens are refused when the last known keys are an hour old",
			"issuer", k.issuer, "failures", failures, "error", err)
	case changed:
		k.log.Info("an issuer's keys have come", "issuer", k.issuer, "keys", len(keys))
	}
}
