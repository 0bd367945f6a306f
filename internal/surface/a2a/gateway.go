package a2a

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// Gateway is what stands behind the surface. *relay.Relay is one. Safe for
// concurrent use.
type Gateway interface {
	// Knows reports whether there is an endpoint named at for that caller; ""
	// always is one.
	Knows(at string, who contract.Caller) bool
	// Call carries one request of the modern era. When ctx ends the call is
	// cancelled.
	Call(ctx context.Context, at string, who contract.Caller, msg *wire.Message, params http.Header, peer contract.Peer) contract.Response
}

// Shelf keeps tasks, so that nobody can read them where they are kept. An id is
// words of letters, digits, '-' and '_', joined by dots. One gateway at a time
// writes under an id. Safe for concurrent use.
type Shelf interface {
	// Keep keeps a value for a while, in place of what was there. The error of
	// one that is too large has the code TooLarge.
	Keep(ctx context.Context, id string, value []byte, ttl time.Duration) error
	// Kept gives a value, nil where there is none.
	Kept(ctx context.Context, id string) ([]byte, error)
	// Drop forgets a value. It is no error where there is none.
	Drop(ctx context.Context, id string) error
	// Below gives the values whose ids begin with the words of prefix, without
	// those that cannot be opened.
	Below(ctx context.Context, prefix string) iter.Seq2[[]byte, error]
	// Restore gives take, after a restart, the same values. One that take fails
	// over, or panics over, is set aside, and the rest goes on. The error is
	// the store's.
	Restore(ctx context.Context, prefix string, take func(value []byte) error) error
}

// Outward posts to addresses that callers gave, where those may be reached.
// Safe for concurrent use.
type Outward interface {
	// Check says what is wrong with an address, in words for who gave it.
	Check(address string) error
	// Do sends a request, and follows no redirect.
	Do(*http.Request) (*http.Response, error)
}
