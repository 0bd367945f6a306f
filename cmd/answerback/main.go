// Command answerback is an MCP gateway that lets servers ask back.
//
// It is wiring only: every subcommand has its own file, which puts packages
// together and does nothing that they could do. Results go to standard output,
// everything else to standard error; a command that fails ends with status 1,
// one that cannot be understood with status 2.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

// run executes the command line. The commands' context ends at the first
// interrupt; a second one ends the program at once.
func run() int {
	ctx, stop := untilInterrupted(os.Exit)
	defer stop()
	if err := newRootCmd().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "answerback: %v\n", err)
		return statusOf(err)
	}
	return 0
}

func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "answerback",
		Short:         "An MCP gateway that lets servers ask back",
		Version:       versionLine(),
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().StringP("config", "c", "", "configuration file (default: $ANSWERBACK_CONFIG, ./answerback.yaml, or answerback/config.yaml in $XDG_CONFIG_HOME)")
	root.AddCommand(newServeCmd(), newStdioCmd(), newCheckCmd(), newDoctorCmd(), newAuditCmd(), newAsksCmd(), newGrantsCmd(), newJournalCmd(), newBackupCmd(), newRestoreCmd(), newSigninCmd(), newDemoCmd(), newVersionCmd())
	strictUsage(root)
	return root
}
