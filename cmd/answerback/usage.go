package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a command line that cannot be understood. Such a command ends
// with status 2, so that a script can tell it from one that failed.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// strictUsage makes every command below root refuse what it does not
// understand, in the words of usageError.
func strictUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w%s; see %s --help", err, flagHint(err), cmd.CommandPath())}
	})
	strictArgs(root)
}

func strictArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && cmd.HasSubCommands() {
			return usageError{unknownCommand(cmd, args[0])}
		}
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		strictArgs(sub)
	}
}

// unknownCommand says which commands could have been meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	hint := ""
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if meant := cmd.SuggestionsFor(word); len(meant) > 0 {
		hint = ": did you mean " + strings.Join(meant, " or ") + "?"
	}
	return fmt.Errorf("%s has no command %q%s; see %s --help", cmd.CommandPath(), word, hint, cmd.CommandPath())
}

// addressFlags are what other servers call the flag of their address.
var addressFlags = []string{"port", "host", "listen", "bind", "addr", "address"}

// flagHint says what to use in place of a flag that other programs have.
func flagHint(err error) string {
	for _, name := range addressFlags {
		if strings.HasSuffix(err.Error(), "unknown flag: --"+name) {
			return " (the address is the key listen of the configuration, such as listen: 127.0.0.1:8808)"
		}
	}
	return ""
}

// statusOf is the status that the program ends with.
func statusOf(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}
