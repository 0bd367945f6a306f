package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker when a release is built.
var version = "dev"

func newVersionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

// versionLine is what the program says of itself.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("answerback %s (commit %s, %s, %s/%s)", versionOf(info), commitOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionOf prefers what the linker set; `go install module@version` sets
// nothing and leaves the version in the build information.
func versionOf(info *debug.BuildInfo) string {
	if version == "dev" && info != nil && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}

// commitOf gives the commit, marked where the tree had further changes.
func commitOf(info *debug.BuildInfo) string {
	commit, dirty := "unknown", ""
	if info == nil {
		return commit
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return commit + dirty
}
