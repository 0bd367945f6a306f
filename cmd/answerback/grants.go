package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// whose is the person that a command about grants is about.
type whose struct{ issuer, subject string }

func (w *whose) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.issuer, "issuer", "", "the issuer with which the person signs in")
	cmd.Flags().StringVar(&w.subject, "subject", "", "the issuer's name (sub) of the person")
	cmd.MarkFlagsRequiredTogether("issuer", "subject")
}

func (w *whose) query(backend string) string {
	q := url.Values{}
	for name, value := range map[string]string{"issuer": w.issuer, "subject": w.subject, "backend": backend} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

func newGrantsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List and revoke the accounts that people have connected",
		Long: "List and revoke the accounts that people have connected to backends, and seal what is kept of them with a\n" +
			"new key. The gateway that runs with the same data_dir is asked. Tokens and keys are never shown.",
		Args: cobra.NoArgs,
	}
	list := newGrantsListCmd()
	cmd.RunE = list.RunE // by itself the command lists
	cmd.AddCommand(list, newGrantsRevokeCmd(), newGrantsConfirmCmd(), newGrantsResealCmd())
	return cmd
}

func newGrantsListCmd() *cobra.Command {
	var who whose
	var output string
	cmd := &cobra.Command{
		Use: "list", Short: "List connected accounts, of everybody or of one person", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return fmt.Errorf("--output is %q: it must be table or json", output)
			}
			var all grantList
			if err := askGrants(cmd, http.MethodGet, "?"+who.query(""), &all); err != nil {
				return err
			}
			if output == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(all.Grants)
			}
			return grantTable(cmd, &all)
		},
	}
	who.flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table for people, json for programs")
	return cmd
}

func grantTable(cmd *cobra.Command, all *grantList) error {
	if len(all.Grants) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "Nobody has connected an account.")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BACKEND\tISSUER\tSUBJECT\tKIND\tSINCE\tSTATE\tSCOPES")
	for i := range all.Grants {
		g := &all.Grants[i]
		state, since := "connected", ""
		if g.Why != "" {
			state = string(g.Why)
		}
		if !g.Since.IsZero() {
			since = g.Since.UTC().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Line(g.Backend, 24), terminal.Line(g.Principal.Issuer, 80), terminal.Line(g.Principal.Subject, 80),
			terminal.Line(string(g.Kind), 10), since, terminal.Line(state, 30), terminal.Line(strings.Join(g.Scopes, " "), 60))
	}
	if all.More {
		fmt.Fprintln(cmd.ErrOrStderr(), "There are more: name a person with --issuer and --subject.")
	}
	return w.Flush()
}

func newGrantsRevokeCmd() *cobra.Command {
	var who whose
	cmd := &cobra.Command{
		Use: "revoke BACKEND", Short: "Forget somebody's account, and tell its authorization server", Args: cobra.ExactArgs(1),
		Long: "Forget the account that somebody has connected to a backend, and tell its authorization server that the\n" +
			"tokens are not used any more. Without --issuer and --subject it is that of the local person, on a gateway\n" +
			"at which nobody has to authenticate.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if who.issuer == "" {
				who = whose{identity.Local.Issuer, identity.Local.Subject}
			}
			var done grantRevoked
			if err := askGrants(cmd, http.MethodDelete, "?"+who.query(args[0]), &done); err != nil {
				return err
			}
			words := "revoked; its server was told"
			if !done.Told {
				words = "forgotten here; its server could not be told, so revoke it there as well"
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), words)
			return err
		},
	}
	who.flags(cmd)
	return cmd
}

func newGrantsResealCmd() *cobra.Command {
	return &cobra.Command{
		Use: "reseal", Short: "Seal everything anew with the first key of the key ring", Args: cobra.NoArgs,
		Long: "Seal all accounts and registrations anew with the first key of the file keys in data_dir. To rotate: put a\n" +
			"new key at the top of that file, restart the gateway, run this, and take the old key out.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var n grant.Resealed
			if err := askGrants(cmd, http.MethodPost, "/reseal", &n); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "sealed anew: %d; already with the first key: %d; unreadable: %d\n", n.Sealed, n.Current, n.Unreadable)
			if n.Unreadable > 0 {
				return errors.New("some records were sealed with keys that are not in the ring: put those back, or revoke what they hold")
			}
			return nil
		},
	}
}

// askGrants asks the gateway that runs with the configuration's data_dir.
func askGrants(cmd *cobra.Command, method, path string, result any) error {
	return askRunning(cmd, method, grantsPath+path, "accounts are read", result)
}

// grantsPath is where the status socket serves grants.
const grantsPath = "/grants"

// maxGrants is how many grants one list has.
const maxGrants = 10_000

type grantList struct {
	Grants []grant.Info `json:"grants"`
	More   bool         `json:"more,omitempty"`
}

type grantRevoked struct {
	Told bool `json:"told"`
}

// serveGrants serves grants to the gateway's owner.
func serveGrants(mux *http.ServeMux, g *grant.Grants) {
	handle := func(pattern string, do func(ctx context.Context, who ask.Principal, q url.Values) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			result, err := do(r.Context(), ask.Principal{Issuer: q.Get("issuer"), Subject: q.Get("subject")}, q)
			if err != nil {
				http.Error(w, ask.From(err).Message, http.StatusConflict)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(result) // who asked may be gone
		})
	}
	handle("GET "+grantsPath, func(ctx context.Context, who ask.Principal, _ url.Values) (any, error) {
		all, err := g.List(ctx, who, maxGrants+1)
		list := grantList{Grants: all[:min(len(all), maxGrants)], More: len(all) > maxGrants}
		slices.SortFunc(list.Grants, func(a, b grant.Info) int {
			return strings.Compare(a.Backend+"\n"+a.Principal.String(), b.Backend+"\n"+b.Principal.String())
		})
		return list, err
	})
	handle("DELETE "+grantsPath, func(ctx context.Context, who ask.Principal, q url.Values) (any, error) {
		told, err := g.Revoke(ctx, who, q.Get("backend"))
		return grantRevoked{told}, err
	})
	handle("POST "+grantsPath+"/confirm", func(ctx context.Context, who ask.Principal, q url.Values) (any, error) {
		n, err := g.Confirm(ctx, who, q.Get("backend"))
		return grantsConfirmed{n}, err
	})
	handle("POST "+grantsPath+"/reseal", func(ctx context.Context, _ ask.Principal, _ url.Values) (any, error) { return g.Reseal(ctx) })
}
