package bearer

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Examine asks an issuer for its keys as a Bearer would, and gives how many of
// them can be used. It is for an operator who wants to know what is wrong.
func Examine(ctx context.Context, i Issuer, client *http.Client) (keys int, err error) {
	if err := i.check(); err != nil {
		return 0, err
	}
	k := newKeyring(keyringConfig{issuer: i.URL, jwks: i.JWKS, http: client, now: time.Now, log: slog.New(slog.DiscardHandler), life: ctx})
	set, err := k.fetch(ctx)
	return len(set), err
}
