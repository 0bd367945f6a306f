package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/surface/api"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// given is an answer on the command line.
type given struct {
	set    []string
	files  []string
	json   string
	accept bool
}

func (a *asks) answerCmd() *cobra.Command {
	var g given
	cmd := &cobra.Command{
		Use: "answer ID", Short: "Answer a question", Args: cobra.ExactArgs(1),
		Long: "Answer a question. On a terminal you are asked field by field, and again before anything is sent.\n" +
			"Programs give the values with --set or --json; a question without fields is accepted with --accept.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd, func(ctx context.Context, c *api.Client) error { return a.answer(ctx, cmd, c, args[0], &g) })
		},
	}
	cmd.Flags().StringArrayVar(&g.set, "set", nil, "a value, as name=value; repeat it for every field, and for every choice of a list")
	cmd.Flags().StringArrayVar(&g.files, "file", nil, "a file, as name=path; repeat it for every file. The values go with it, with --set or --json")
	cmd.Flags().StringVar(&g.json, "json", "", "a file with all values as a JSON object; - for standard input")
	cmd.Flags().BoolVar(&g.accept, "accept", false, "accept a question that has no fields, or only optional ones")
	cmd.MarkFlagsMutuallyExclusive("set", "json", "accept")
	return cmd
}

func (a *asks) answer(ctx context.Context, cmd *cobra.Command, c *api.Client, id string, g *given) error {
	id, err := whole(ctx, c, id)
	if err != nil {
		return err
	}
	found, err := c.Show(ctx, id)
	if err != nil {
		return refused(err)
	}
	if found.Outcome != nil {
		return fmt.Errorf("the question is over (%s); nothing was sent", terminal.Line(found.Status, 20))
	}
	q, err := questionOf(&found)
	if err != nil {
		return err
	}
	var content []byte
	q.Upload = uploading(c, id)
	switch {
	case len(g.set) > 0:
		content, err = valuesOf(q, g.set, g.files)
	case cmd.Flags().Changed("json"):
		content, err = contentOf(cmd.InOrStdin(), g.json)
	case !g.accept && len(g.files) == 0:
		return a.ask(ctx, cmd, c, id, q)
	}
	if err == nil {
		err = giveFiles(ctx, q, g.files)
	}
	if err != nil {
		return err
	}
	return a.send(ctx, cmd, c, id, ask.Accept, content)
}

// ask puts a question to the person at the terminal, and sends what they
// decided.
func (a *asks) ask(ctx context.Context, cmd *cobra.Command, c *api.Client, id string, q *terminal.Question) error {
	t, done, err := a.terminal()
	if err != nil {
		return fmt.Errorf("%s Give the values with --set or --json, or answer on its page", ask.From(err).Message)
	}
	defer done()
	until, cancel := context.WithDeadline(ctx, q.Deadline)
	defer cancel()
	for {
		d, err := t.Ask(until, q)
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr())
			return errors.New(ask.From(err).Message)
		}
		r, err := c.Answer(ctx, id, d.Action, d.Content)
		no, refusal := errors.AsType[*api.Refusal](err)
		if !refusal || no.Retry == nil || !no.Allowed {
			return a.told(cmd, id, r, err)
		}
		// The gateway looks closer than a terminal can, and counts.
		q.Typed, q.Wrong, q.Last = d.Typed, no.Errors, no.Last()
	}
}

// openTerminal opens the terminal that this program runs on. Standard input
// itself has no deadlines, so a read of it could not be ended.
func openTerminal() (*terminal.Terminal, func(), error) {
	in, done := os.Stdin, func() {}
	there := terminal.IsTerminal(os.Stdin) && terminal.IsTerminal(os.Stderr)
	if there {
		if tty, err := os.Open("/dev/tty"); err == nil {
			in, done = tty, func() { _ = tty.Close() } // it was only read from
		}
	}
	t, err := terminal.Open(terminal.Config{
		In: in, Out: os.Stderr, IsTerminal: there && terminal.IsTerminal(in), Hide: terminal.Hide(in), Flush: terminal.Flush(in),
	})
	return t, done, err
}

// valuesOf reads values from the command line, and nothing else: no default
// is taken that nobody saw.
func valuesOf(q *terminal.Question, set, files []string) ([]byte, error) {
	if q.Form == nil {
		return nil, errors.New("this question asks for a visit to an address, not for values; nothing was sent")
	}
	typed := map[string][]string{}
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: write name=value; nothing was sent", terminal.Line(s, 100))
		}
		if f, ok := q.Form.Field(name); ok && f.Sensitive {
			return nil, fmt.Errorf("%s is a secret, and other programs can read a command line: use --json -, or answer on its page; nothing was sent", terminal.Line(name, 100))
		}
		typed[name] = append(typed[name], value)
	}
	values, errs := q.Form.Read(typed, nil)
	// Whether a file fits is for the gateway to say, which gets it first.
	if errs = slices.DeleteFunc(errs, func(e form.Error) bool { return isFor(files, e.Field) }); len(errs) > 0 {
		return nil, refused(&api.Refusal{Problem: api.Problem{Message: "The answer does not fit the question; nothing was sent.", Errors: errs}})
	}
	for name := range values {
		if _, ok := typed[name]; !ok {
			delete(values, name)
		}
	}
	return q.Form.Encode(values), nil
}

// maxContent is how many bytes of values are read.
const maxContent = 1 << 20

// contentOf reads all values from a file. What is not complete is no answer.
func contentOf(stdin io.Reader, name string) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--json: %w; nothing was sent", err)
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxContent+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--json: %w; nothing was sent", err)
	case len(raw) > maxContent:
		return nil, errors.New("--json: there is more than 1 MiB; nothing was sent")
	case !json.Valid(raw) || strings.TrimSpace(string(raw))[0] != '{':
		return nil, errors.New("--json: there is no complete JSON object; nothing was sent")
	}
	return []byte(strings.TrimSpace(string(raw))), nil
}
