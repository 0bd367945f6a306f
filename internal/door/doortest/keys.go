// Package doortest has credentials for the tests of backends. It connects
// nobody, and knows no backend.
package doortest

import (
	"context"
	"slices"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/secret"
)

// Keys are what people's requests are authorized with: the first of each
// person's is used, and a refused one is dropped. Safe for concurrent use.
type Keys struct {
	mu      sync.Mutex
	of      map[ask.Principal][]string
	refused []contract.Challenge
}

var _ door.Credentials = (*Keys)(nil)

// Connect gives somebody a further key.
func (k *Keys) Connect(who ask.Principal, keys ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = make(map[ask.Principal][]string)
	}
	k.of[who] = append(k.of[who], keys...)
}

// Challenges are how keys were refused, in order.
func (k *Keys) Challenges() []contract.Challenge {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.refused)
}

// Authorize gives somebody's first key as a bearer token.
func (k *Keys) Authorize(_ context.Context, who ask.Principal) (door.Authorization, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.of[who]) == 0 {
		return door.Authorization{}, ask.Errorf(ask.NotConnected, "No account.")
	}
	return door.Authorization{Header: "Authorization", Value: secret.New("Bearer " + k.of[who][0])}, nil
}

// Refused drops the key that was used, and reports whether there is another.
func (k *Keys) Refused(_ context.Context, who ask.Principal, used door.Authorization, why contract.Challenge) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused = append(k.refused, why)
	if len(k.of[who]) > 0 && used.Value.Reveal() == "Bearer "+k.of[who][0] {
		k.of[who] = k.of[who][1:]
	}
	return len(k.of[who]) > 0
}
