// Command answerback is an MCP gateway that lets servers ask back.
//
// It is wiring only: every subcommand has its own file, which puts packages
// together and does nothing that they could do. Results go to standard output,
// everything else to standard error; a command that fails ends with status 1.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run()) }

// run executes the command line. The commands' context ends at the first
// interrupt; a second one kills, because by then signals have their usual
// effect again.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	if err := newRootCmd().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "answerback: %v\n", err)
		return 1
	}
	return 0
}

func newRootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:           "answerback",
		Short:         "An MCP gateway that lets servers ask back",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringP("config", "c", "", "configuration file (default: $ANSWERBACK_CONFIG, ./answerback.yaml, or answerback/config.yaml in $XDG_CONFIG_HOME)")
	root.AddCommand(newServeCmd(), newStdioCmd(), newCheckCmd(), newDoctorCmd(), newAuditCmd(), newAsksCmd(), newGrantsCmd(), newJournalCmd(), newBackupCmd(), newRestoreCmd(), newSigninCmd(), newDemoCmd(), newVersionCmd())
	return root
}
