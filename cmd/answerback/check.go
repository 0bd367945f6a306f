package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/plant"
)

func newCheckCmd() *cobra.Command {
	var schema, reference, all bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate the configuration and print what it sets, secrets masked",
		Long: "Validate the configuration, look for the programs that it names, and print what it sets, as YAML with\n" +
			"secrets masked; with --all also every default that is in effect. The last line says ok.\n" +
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
			c, path, err := loadConfig(cmd)
			if err == nil {
				err = problems(c.Programs(exec.LookPath))
			}
			if err != nil {
				return err
			}
			describe := c.DescribeSet
			if all {
				describe = c.Describe
			}
			if err := describe(cmd.OutOrStdout()); err != nil {
				return err
			}
			// A comment, so that the whole output is a configuration.
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "# %s: ok, %s\n", path, countBackends(c))
			return err
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "print every setting that is in effect, with the defaults")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of the configuration file instead")
	cmd.Flags().BoolVar(&reference, "reference", false, "print the reference of all keys as Markdown instead")
	cmd.MarkFlagsMutuallyExclusive("schema", "reference", "all")
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
	if err != nil {
		return nil, path, problems(err)
	}
	if plant.Scale > 1 {
		plant.ScaleAll(c)
	}
	return c, path, nil
}

// problems puts a count before the problems of a configuration.
func problems(err error) error {
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		return fmt.Errorf("the configuration has %s:\n%w", count(len(wrong.Problems), "problem"), wrong)
	}
	return err
}

// countBackends says how many backends there are, and how many are off.
func countBackends(c *config.Config) string {
	words := count(len(c.Enabled()), "backend")
	if off := len(c.Backends) - len(c.Enabled()); off > 0 {
		words += fmt.Sprintf(" (%d more disabled)", off)
	}
	return words
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
