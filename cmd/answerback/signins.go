package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/signins"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// signinShelf is where sign-ins are kept.
const signinShelf = "signins"

// keepSignins has sign-ins kept across restarts. A local one holds for 30 days,
// because signing in again takes the terminal; one with an issuer for as long
// as configured, and an hour without use.
func keepSignins(ctx context.Context, c *signin.Config, store journal.Journal, ring *seal.Ring, log *slog.Logger) (*signins.Store, error) {
	c.Idle = time.Hour
	if c.Local {
		c.SessionAge = 30 * 24 * time.Hour
		c.Idle = c.SessionAge
	}
	kept, err := signins.Open(ctx, signins.Config{Shelf: store.Shelf(signinShelf), Ring: ring, Idle: min(c.Idle, c.SessionAge), Now: time.Now, Log: log})
	if err != nil {
		return nil, fmt.Errorf("the sign-ins that were kept cannot be read: %w", err)
	}
	c.Store = kept
	return kept, nil
}

// signinsPath is where the status socket takes the end of sign-ins.
const signinsPath = "/signins"

// serveSignins lets the gateway's owner end the sign-ins of one person, or of
// everybody.
func serveSignins(mux *http.ServeMux, kept *signins.Store) {
	mux.HandleFunc("DELETE "+signinsPath, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		n, err := kept.End(r.Context(), ask.Principal{Issuer: q.Get("issuer"), Subject: q.Get("subject")})
		if err != nil {
			http.Error(w, ask.From(err).Message, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, n)
	})
}

// newSigninEndCmd ends sign-ins.
func newSigninEndCmd() *cobra.Command {
	var who whose
	var all bool
	cmd := &cobra.Command{
		Use:   "end",
		Short: "End the sign-ins of one person, or of everybody, at all browsers",
		Long: "End the sign-ins of one person, or of everybody with --all, at all browsers. They hold across restarts of\n" +
			"the gateway otherwise. The gateway that runs with the same data_dir is asked.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all == (who.issuer != "") {
				return usageError{errors.New("say whose: --issuer and --subject, or --all")}
			}
			cfg, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), requestTime)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://answerback"+signinsPath+"?"+who.query(""), nil)
			if err != nil {
				return err
			}
			resp, err := sendLocal(cfg.DataDir)(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
			if err != nil {
				return err
			}
			if resp.StatusCode != http.StatusOK {
				return errors.New(terminal.Line(strings.TrimSpace(string(body)), 500))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "sign-ins ended: %s\n", terminal.Line(strings.TrimSpace(string(body)), 20))
			return err
		},
	}
	who.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "everybody")
	return cmd
}

// formSigner signs form tokens with the key ring, so that a form that was open
// before a restart can be sent after it.
type formSigner struct{ ring *seal.Ring }

func (s formSigner) Sign(msg []byte) []byte { return s.ring.Digest(seal.Form, msg) }

func (s formSigner) Signed(msg, signature []byte) bool {
	return s.ring.Digested(seal.Form, msg, signature)
}
