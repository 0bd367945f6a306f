package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
)

func newStdioCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Serve one client on standard input and output",
		Long: "Serve one client on standard input and output, for clients that start their servers themselves.\n" +
			"Only protocol messages go to standard output; the log goes to standard error.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			store, err := forgetful()
			if err != nil {
				return err
			}
			g, err := newGateway(cmd.Context(), cfg, nil, store, newLogger(cfg.Log, os.Stderr))
			if err != nil {
				return err
			}
			defer func() {
				ctx, cancel := context.WithTimeout(context.Background(), closeTime)
				defer cancel()
				g.close(ctx)
			}()
			err = g.surface.ServeStdio(cmd.Context(), os.Stdin, os.Stdout)
			if cmd.Context().Err() != nil {
				return nil // it was told to stop
			}
			return err
		},
	}
}
