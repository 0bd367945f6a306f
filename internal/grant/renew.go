//go:build !plant

package grant

import (
	"context"

	"github.com/answerback/answerback/internal/grant/oauth"
)

// renew stores what a refresh brought before anybody uses it.
func renew(ctx context.Context, g *Grants, b *backend, r versioned, id oauth.Identity, t oauth.Token) error {
	return g.renew(ctx, b, r, id, t)
}
