package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/identity"
)

type grantsConfirmed struct {
	Confirmed int `json:"confirmed"`
}

func newGrantsConfirmCmd() *cobra.Command {
	var who whose
	var everything bool
	cmd := &cobra.Command{
		Use: "confirm BACKEND | --all", Short: "Let suspended accounts be used again after a restore", Args: cobra.MaximumNArgs(1),
		Long: "After a restore all accounts are suspended, because an account that was revoked after the backup is in the\n" +
			"backup still. Confirm one account by its backend and its person (--issuer and --subject; without them that of\n" +
			"the local person), or all of them with --all. A person can also connect the account again. Where an\n" +
			"authorization server replaces refresh tokens, the one in the backup may be spent: then the person has to\n" +
			"connect again in any case.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if everything == (len(args) == 1) {
				return errors.New("name one backend, or say --all")
			}
			backend := ""
			if !everything {
				backend = args[0]
				if who.issuer == "" {
					who = whose{identity.Local.Issuer, identity.Local.Subject}
				}
			}
			var done grantsConfirmed
			if err := askGrants(cmd, http.MethodPost, "/confirm?"+who.query(backend), &done); err != nil {
				return err
			}
			if done.Confirmed == 0 {
				return errors.New("no such account is suspended: answerback grants list shows all of them")
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), count(done.Confirmed, "account"), "confirmed")
			return err
		},
	}
	who.flags(cmd)
	cmd.Flags().BoolVar(&everything, "all", false, "all suspended accounts, of everybody or of one person")
	return cmd
}
