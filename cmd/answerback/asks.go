package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/surface/api"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// asks is what the commands about questions have in common.
type asks struct {
	url    string
	output string
	// terminal opens the terminal that a person sits at.
	terminal func() (*terminal.Terminal, func(), error)
}

func newAsksCmd() *cobra.Command { return (&asks{terminal: openTerminal}).command() }

func (a *asks) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "asks",
		Short: "List and answer the questions that wait for you",
		Long: "List, read and answer the questions that wait for you: at the gateway that runs on this machine with the\n" +
			"configuration's data_dir, or at another with --url, as whoever the token in $ANSWERBACK_TOKEN says.\n" +
			"An id may be shortened to its beginning or its end, four characters or more, while one question alone has it\n" +
			"(an end that begins with - would be a flag: give one character more).\n" +
			"Nothing is ever sent for you: the end of the input, a missing terminal, ^C and a timeout are no answer, and\n" +
			"end with status 1. Results go to standard output; talking to you goes through the terminal.",
		Args: cobra.NoArgs, // a command that is misspelt is an error, not a wish for a list
	}
	list := a.listCmd()
	cmd.RunE = list.RunE // by itself the command lists
	cmd.PersistentFlags().StringVar(&a.url, "url", "", "address of a gateway, such as https://mcp.example.com; who you are is said by $ANSWERBACK_TOKEN")
	cmd.PersistentFlags().StringVarP(&a.output, "output", "o", "table", "table for people, json for programs")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.output != "table" && a.output != "json" {
			return fmt.Errorf("--output is %q: it must be table or json", a.output)
		}
		return nil
	}
	cmd.AddCommand(list, a.showCmd(), a.answerCmd(),
		a.actCmd("decline", "Say no to a question", ask.Decline),
		a.actCmd("cancel", "Leave a question without deciding: it is over, and may be asked again", ask.Cancel),
		a.extendCmd())
	return cmd
}

func (a *asks) listCmd() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the questions that wait for you, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd, func(ctx context.Context, c *api.Client) error {
				p, err := c.List(ctx, limit)
				if err != nil {
					return refused(err)
				}
				return a.print(cmd, p, func(out io.Writer) error { return table(cmd, out, &p) })
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many to list at most, 1 to 1000")
	return cmd
}

func table(cmd *cobra.Command, out io.Writer, p *api.Page) error {
	if len(p.Asks) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "No question waits for you.")
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tFROM\tTIME LEFT\tQUESTION")
	for i := range p.Asks {
		s := &p.Asks[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.Line(s.ID, 256), terminal.Line(s.Backend, 24), terminal.Span(time.Until(api.Time(s.TimeoutAt))), terminal.Line(s.Message, 60))
	}
	if p.More {
		fmt.Fprintln(cmd.ErrOrStderr(), "There are more: raise --limit.")
	}
	return w.Flush()
}

func (a *asks) showCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a question and what it asks for", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, c *api.Client) error {
				id, err := whole(ctx, c, args[0])
				if err != nil {
					return err
				}
				found, err := c.Show(ctx, id)
				if err != nil {
					return refused(err)
				}
				return a.print(cmd, found, func(out io.Writer) error {
					fmt.Fprintf(out, "Status: %s\n", terminal.Line(found.Status, 20))
					q, err := questionOf(&found)
					if err != nil {
						fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", err)
						q.Form = nil
					}
					return terminal.Print(out, time.Now(), q)
				})
			})
		},
	}
}

// questionOf is a question for the terminal. With an error its form cannot be
// read; the rest is there.
func questionOf(a *api.Ask) (*terminal.Question, error) {
	q := &terminal.Question{
		Backend: a.Backend, During: a.During, Name: a.Name, Client: a.Client, Group: a.Group,
		Message: a.Message, Deadline: api.Time(a.TimeoutAt), URL: a.URL,
	}
	if a.Mode == "url" {
		return q, nil
	}
	f, err := a.Form()
	if err != nil {
		return q, errors.New(ask.From(err).Message)
	}
	q.Form = f
	return q, nil
}

// actCmd is a command that does one thing with a question.
func (a *asks) actCmd(use, short string, action ask.Action) *cobra.Command {
	return &cobra.Command{
		Use: use + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, c *api.Client) error {
				id, err := whole(ctx, c, args[0])
				if err != nil {
					return err
				}
				return a.send(ctx, cmd, c, id, action, nil)
			})
		},
	}
}

// send says what somebody decided.
func (a *asks) send(ctx context.Context, cmd *cobra.Command, c *api.Client, id string, action ask.Action, content []byte) error {
	r, err := c.Answer(ctx, id, action, content)
	return a.told(cmd, id, r, err)
}

// told prints what became of what somebody decided.
func (a *asks) told(cmd *cobra.Command, id string, r api.Receipt, err error) error {
	if err != nil {
		return unsure(id, err)
	}
	return a.print(cmd, r, func(out io.Writer) error {
		words := terminal.Line(r.Status, 20) + ": the server has it"
		if !r.Delivered {
			words = terminal.Line(r.Status, 20) + ": taken, and could not be delivered"
			if r.Undelivered != nil {
				words += ": " + terminal.Line(r.Undelivered.Message, 500)
			}
		}
		_, err := fmt.Fprintln(out, words)
		return err
	})
}

func (a *asks) extendCmd() *cobra.Command {
	var by time.Duration
	cmd := &cobra.Command{
		Use: "extend ID", Short: "Give a question more time, at most twice", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if by < time.Second || by > time.Hour {
				return fmt.Errorf("--by is %s: it must be from 1s to 1h", by)
			}
			return a.with(cmd, func(ctx context.Context, c *api.Client) error {
				id, err := whole(ctx, c, args[0])
				if err != nil {
					return err
				}
				e, err := c.Extend(ctx, id, by)
				if err != nil {
					return unsure(id, err)
				}
				return a.print(cmd, e, func(out io.Writer) error {
					_, err := fmt.Fprintf(out, "time left: %s; it can be extended %s more\n", terminal.Span(time.Until(api.Time(e.NewTimeoutAt))), count(e.ExtensionsRemaining, "time"))
					return err
				})
			})
		},
	}
	cmd.Flags().DurationVar(&by, "by", 5*time.Minute, "how much longer, 1s to 1h")
	return cmd
}

// print writes a result to standard output, in the form that was asked for.
func (a *asks) print(cmd *cobra.Command, result any, words func(io.Writer) error) error {
	out := cmd.OutOrStdout()
	if a.output != "json" {
		return words(out)
	}
	raw, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(terminal.JSON(raw), '\n'))
	return err
}

// refused puts a gateway's no, and everything that is wrong, into words that
// are safe to print.
func refused(err error) error {
	r, ok := errors.AsType[*api.Refusal](err)
	if !ok {
		return errors.New(terminal.Line(err.Error(), 500))
	}
	var b strings.Builder
	b.WriteString(terminal.Line(r.Message, 500))
	for _, e := range r.Errors {
		b.WriteString("\n  " + terminal.Line(e.Field, 100) + ": " + terminal.Line(e.Message, 500))
	}
	if r.Retry != nil && r.Last() {
		b.WriteString("\nIf something is still wrong the next time, the question ends.")
	}
	return errors.New(b.String())
}

// unsure is refused for what may have been done although it failed.
func unsure(id string, err error) error {
	_, refusal := errors.AsType[*api.Refusal](err)
	if refusal || errors.Is(err, errNotRunning) {
		return refused(err)
	}
	return fmt.Errorf("it is not known whether the gateway took this: %w; look with answerback asks show %s", refused(err), terminal.Line(id, 256))
}
