package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/plant"
)

func newCheckCmd() *cobra.Command {
	var schema, reference bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration and print what is in effect, secrets masked",
		Long: "Validate the configuration and print what is in effect, as YAML with secrets masked.\n" +
			"Problems and notes go to standard error. The status is 0 when there are no problems.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case schema:
				_, err := cmd.OutOrStdout().Write(config.Schema())
				return err
			case reference:
				_, err := cmd.OutOrStdout().Write(config.Reference())
				return err
			}
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return c.Describe(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of the configuration file instead")
	cmd.Flags().BoolVar(&reference, "reference", false, "print the reference of all keys as Markdown instead")
	cmd.MarkFlagsMutuallyExclusive("schema", "reference")
	return cmd
}

// loadConfig finds and loads the configuration and tells the notes on it, also
// where there are problems. It gives the path that it was loaded from.
func loadConfig(cmd *cobra.Command) (c *config.Config, path string, err error) {
	given, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, "", err
	}
	path, err = config.Find(given, os.LookupEnv)
	if err != nil {
		return nil, "", err
	}
	c, notes, err := config.Load(path, os.LookupEnv)
	for _, n := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %v\n", n)
	}
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		return nil, path, fmt.Errorf("the configuration has %s:\n%w", count(len(wrong.Problems), "problem"), wrong)
	}
	if err == nil {
		plant.ScaleAll(c)
	}
	return c, path, err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
