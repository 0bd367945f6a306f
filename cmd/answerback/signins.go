package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/signins"
)

// signinShelf is where sign-ins are kept.
const signinShelf = "signins"

// keepSignins has sign-ins kept across restarts. A local one holds for 30 days,
// because signing in again takes the terminal; one with an issuer for as long
// as configured, and an hour without use.
func keepSignins(ctx context.Context, c *signin.Config, store journal.Journal, ring *seal.Ring, log *slog.Logger) error {
	c.Idle = time.Hour
	if c.Local {
		c.SessionAge = 30 * 24 * time.Hour
		c.Idle = c.SessionAge
	}
	kept, err := signins.Open(ctx, signins.Config{Shelf: store.Shelf(signinShelf), Ring: ring, Idle: min(c.Idle, c.SessionAge), Now: time.Now, Log: log})
	if err != nil {
		return fmt.Errorf("the sign-ins that were kept cannot be read: %w", err)
	}
	c.Store = kept
	return nil
}

// formSigner signs form tokens with the key ring, so that a form that was open
// before a restart can be sent after it.
type formSigner struct{ ring *seal.Ring }

func (s formSigner) Sign(msg []byte) []byte { return s.ring.Digest(seal.Form, msg) }

func (s formSigner) Signed(msg, signature []byte) bool {
	return s.ring.Digested(seal.Form, msg, signature)
}
