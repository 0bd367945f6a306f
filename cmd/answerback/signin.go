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
)

func newSigninCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "signin",
		Short: "Print a link that signs a browser in",
		Long: "Print a link that signs one browser in at the pages of the gateway that runs on this machine, once,\n" +
			"within 15 minutes; the sign-in then holds for 30 days. Only a gateway where nobody has to authenticate has such links; at others people\n" +
			"sign in with their issuer.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			link, err := askStatus(ctx, cfg.DataDir, http.MethodPost, "/signin")
			if err != nil {
				return fmt.Errorf("%w: start one with answerback serve", err)
			}
			if strings.TrimSpace(string(link)) == "" {
				return errors.New("this gateway has no local links: sign in at its pages with an issuer")
			}
			_, err = cmd.OutOrStdout().Write(link)
			return err
		},
	}
	cmd.AddCommand(newSigninEndCmd())
	return cmd
}

// announce says where people find their questions. The link of a local
// gateway goes to the terminal and not to the log, which others may read.
func (d *doors) announce(terminal io.Writer, asks bool, log *slog.Logger) {
	if d.open {
		log.Warn("nobody has to authenticate: every program on this machine can use every backend (identity)")
	}
	switch link := d.signin.LocalLink(); {
	case !asks:
	case link != "":
		fmt.Fprintf(terminal, "\nQuestions are answered at %s/\nSign in once, within 15 minutes, with this link (answerback signin prints another):\n  %s\n\n", d.public, link)
	case len(d.issues) > 0:
		log.Info("questions are answered at the pages", "url", d.public+"/")
	default:
		log.Warn("nobody can sign in at the pages: give one of identity.issuers a client_id")
	}
}
