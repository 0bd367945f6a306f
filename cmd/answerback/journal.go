package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// asidePath is where the status socket serves what was set aside.
const asidePath = "/journal/aside"

func newJournalCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "journal", Short: "Look after what the gateway keeps", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAsideCmd(), newJournalCheckCmd(), newJournalRepairCmd())
	return cmd
}

func newAsideCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "aside", Short: "List what could not be taken up after a restart",
		Long: "List what the gateway could not take up after a restart: records of questions, calls, responses and tasks.\n" +
			"They stay in the store, and everything else goes on. What failed at two starts is not tried again until\n" +
			"retry is said. The gateway that runs with the same data_dir is asked.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listAside(cmd, "table") },
	}
	cmd.AddCommand(newAsideListCmd(), newAsideShowCmd(), newAsideRetryCmd(), newAsideForgetCmd())
	return cmd
}

func newAsideListCmd() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "list", Short: "List what was set aside, what failed last first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listAside(cmd, output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table for people, json for programs")
	return cmd
}

func listAside(cmd *cobra.Command, output string) error {
	if output != "table" && output != "json" {
		return fmt.Errorf("--output is %q: it must be table or json", output)
	}
	var all []aside.Item
	if err := askAside(cmd, http.MethodGet, "", &all); err != nil {
		return err
	}
	if output == "json" {
		return printJSON(cmd.OutOrStdout(), all)
	}
	if len(all) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "Nothing was set aside.")
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tKIND\tBACKEND\tASKS\tFAILURES\tLAST\tNEXT START\tREASON")
	for i := range all {
		it := &all[i]
		next := "left alone"
		if it.Tried() {
			next = "tried"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", terminal.Line(it.Key, 40), terminal.Line(string(it.Kind), 10), terminal.Line(it.Backend, 24),
			len(it.Asks), it.Failures, it.Last.UTC().Format(time.DateTime), next, terminal.Line(it.Reason, 100))
	}
	return w.Flush()
}

func newAsideShowCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show KEY", Short: "Show one thing that was set aside, as JSON, with the stack of a panic", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			it, err := asideItem(cmd, args[0])
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), it)
		},
	}
}

// asideItem finds one thing that was set aside.
func asideItem(cmd *cobra.Command, key string) (aside.Item, error) {
	var all []aside.Item
	if err := askAside(cmd, http.MethodGet, "", &all); err != nil {
		return aside.Item{}, err
	}
	for _, it := range all {
		if it.Key == key {
			return it, nil
		}
	}
	return aside.Item{}, aside.ErrUnknown
}

func newAsideRetryCmd() *cobra.Command {
	var everything bool
	cmd := &cobra.Command{
		Use: "retry KEY | --all", Short: "Have things tried again at the next start", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if everything == (len(args) == 1) {
				return errors.New("name one key, or say --all")
			}
			keys := args
			if everything {
				var all []aside.Item
				if err := askAside(cmd, http.MethodGet, "", &all); err != nil {
					return err
				}
				for i := range all {
					keys = append(keys, all[i].Key)
				}
			}
			return eachAside(cmd, http.MethodPost, keys, "is tried again at the next start")
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "everything that was set aside")
	return cmd
}

func newAsideForgetCmd() *cobra.Command {
	return &cobra.Command{
		Use: "forget KEY", Short: "Take something off the list; what it names stays in the store", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return eachAside(cmd, http.MethodDelete, args, "is off the list")
		},
	}
}

func eachAside(cmd *cobra.Command, method string, keys []string, words string) error {
	for _, key := range keys {
		var it aside.Item
		if err := askAside(cmd, method, "/"+key, &it); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), it.Key, words)
	}
	return nil
}

func printJSON(to io.Writer, v any) error {
	enc := json.NewEncoder(to)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// askAside asks the gateway that runs with the configuration's data_dir.
func askAside(cmd *cobra.Command, method, path string, result any) error {
	return askRunning(cmd, method, asidePath+path, "what was set aside is read", result)
}

// serveAside serves what was set aside to the gateway's owner.
func serveAside(mux *http.ServeMux, list *aside.List) {
	mux.HandleFunc("GET "+asidePath, func(w http.ResponseWriter, _ *http.Request) { answerAside(w, list.All(), nil) })
	mux.HandleFunc("POST "+asidePath+"/{key}", func(w http.ResponseWriter, r *http.Request) {
		it, err := list.Retry(r.PathValue("key"))
		answerAside(w, it, err)
	})
	mux.HandleFunc("DELETE "+asidePath+"/{key}", func(w http.ResponseWriter, r *http.Request) {
		it, err := list.Forget(r.PathValue("key"))
		answerAside(w, it, err)
	})
}

func answerAside(w http.ResponseWriter, result any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result) // who asked may be gone
}
