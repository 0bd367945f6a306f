package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// MCPDo is mcpdo of the inspector: a person at a command line. A call that
// asks gives the question back, and another command answers it. It shows no
// progress, and not that a question was taken back.
func (w *World) MCPDo(era string) Client {
	return Client{Name: "mcpdo 2.12.0 " + era, Era: era, HidesRoots: true, HidesProgress: true, HidesWithdrawals: true, AsksForPages: true,
		Tour: func(t testing.TB, targets []Target) []Report {
			t.Helper()
			c := w.startMCPDo(t, era)
			defer c.stop(context.WithoutCancel(t.Context()))
			var reports []Report
			for _, to := range targets {
				reports = append(reports, c.visit(t.Context(), to))
			}
			return reports
		}}
}

// commandLine is mcpdo with a daemon of its own.
type commandLine struct {
	era   string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines <-chan string
	count int // of commands, whose number each answer repeats
}

func (w *World) startMCPDo(t testing.TB, era string) *commandLine {
	t.Helper()
	c := &commandLine{era: era, cmd: exec.Command(w.Node, w.Bin("mcpdo.mjs"), w.Inspector)}
	c.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "MCP_INSPECTOR_SECRET_STORE=file")
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.lines = Output(t, c.cmd)
	return c
}

// stop stops the daemon, which is not a child of this process.
func (c *commandLine) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	_, _ = c.run(ctx, first, "daemon", "stop")
	_ = c.in.Close()
}

// first is the name of the usual connection.
const first = "peer"

// said is what a command prints: a question, or a result.
type said struct {
	Pending *struct {
		ID              string `json:"elicitationId"`
		Mode            string `json:"mode"`
		Message         string `json:"message"`
		URL             string `json:"url"`
		RequestedSchema any    `json:"requestedSchema"`
	} `json:"elicitationPending"`
	Era string `json:"protocolEra"`
	*Result
}

// run runs one command. A tool's own error is a result, not an error.
func (c *commandLine) run(ctx context.Context, connection string, args ...string) (s said, err error) {
	if err := c.begin(false, append([]string{"--connection", connection, "--format", "json"}, args...)); err != nil {
		return s, err
	}
	out, err := c.end(ctx)
	if json.Unmarshal([]byte(out), &s) == nil {
		return s, nil
	}
	if err == nil {
		err = fmt.Errorf("it printed %q", out)
	}
	return s, fmt.Errorf("mcpdo %s: %w", args[0], err)
}

// begin begins a command, with a terminal or without.
func (c *commandLine) begin(terminal bool, args []string) error {
	c.count++
	line, err := json.Marshal(map[string]any{"id": c.count, "args": args, "terminal": terminal})
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}

// end waits for the end of a command, and gives what it printed.
func (c *commandLine) end(ctx context.Context) (string, error) {
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return "", errors.New("it has ended")
			}
			var result struct {
				ID         int
				Out, Error string
			}
			switch err := json.Unmarshal([]byte(line), &result); {
			case err != nil:
				return "", err
			case result.ID != c.count: // one that was not waited for
			case result.Error != "":
				return result.Out, errors.New(result.Error)
			default:
				return result.Out, nil
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func (c *commandLine) visit(ctx context.Context, to Target) Report {
	ctx, cancel := context.WithTimeout(ctx, to.limit())
	defer cancel()
	s, err := c.connect(ctx, first, to)
	if err != nil {
		return Report{Error: mcpdoFailure(err)}
	}
	rep := Report{Era: s.Era}
	for _, j := range to.Jobs {
		e := Entry{Job: j.Call}
		if err := c.do(ctx, to, j, &e); err != nil {
			e.Error = mcpdoFailure(err)
		}
		rep.Results = append(rep.Results, e)
	}
	_, _ = c.run(ctx, first, "disconnect")
	return rep
}

func (c *commandLine) connect(ctx context.Context, connection string, to Target) (said, error) {
	args := []string{"connect", "--era", c.era}
	if to.Command != nil {
		args = append(append(args, "--transport", "stdio", "--"), to.Command...)
	} else {
		args = append(args, "--transport", "http", "--server-url", to.URL)
	}
	s, err := c.run(ctx, connection, args...)
	if err != nil {
		return s, err
	}
	_, err = c.run(ctx, connection, "roots/set", "--roots-json", `[{"uri":"file:///project","name":"project"}]`)
	return s, err
}

func (c *commandLine) do(ctx context.Context, to Target, j Job, e *Entry) error {
	ctx, cancel := context.WithTimeout(ctx, j.limit())
	defer cancel()
	args, err := json.Marshal(j.Args)
	if err != nil {
		return err
	}
	if j.Args == nil {
		args = []byte("{}")
	}
	call := []string{"tools/call", j.Call, "--tool-args-json", string(args)}
	switch {
	case j.Exists != "":
		return exists(ctx, j.Exists)
	case j.Call == "":
		return errors.New("mcpdo has no command for this")
	case j.Cancel:
		return c.interrupt(ctx, j.Started, call)
	case j.Times > 0:
		return c.times(ctx, to, j, call, e)
	}
	s, err := c.run(ctx, first, call...)
	e.Result, err = c.answer(ctx, j, s, err, e)
	return err
}

// answer answers questions until there is a result.
func (c *commandLine) answer(ctx context.Context, j Job, s said, err error, e *Entry) (*Result, error) {
	for err == nil && s.Pending != nil {
		s, err = c.respond(ctx, j, s, e)
	}
	return s.Result, err
}

// interrupt gives a call up when it is under way, as a person does with
// Control-C at a terminal.
func (c *commandLine) interrupt(ctx context.Context, started string, call []string) error {
	if err := c.begin(true, append([]string{"--connection", first, "--format", "text", "--plain"}, call...)); err != nil {
		return err
	}
	if err := exists(ctx, started); err != nil {
		return err
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	_, err := c.end(ctx)
	return err
}

// times makes calls at once, each on a connection of its own: mcpdo has one
// command at a time on each.
func (c *commandLine) times(ctx context.Context, to Target, j Job, call []string, e *Entry) error {
	calls, errs := make([]said, j.Times), make([]error, j.Times)
	for i := range j.Times {
		connection := fmt.Sprint(first, i)
		if _, err := c.connect(ctx, connection, to); err != nil {
			return err
		}
		defer func() { _, _ = c.run(context.WithoutCancel(ctx), connection, "disconnect") }()
		calls[i], errs[i] = c.run(ctx, connection, call...)
	}
	e.Result = &Result{}
	for i := range j.Times {
		r, err := c.answer(ctx, j, calls[i], errs[i], e)
		if err != nil {
			return err
		}
		e.Result.add(r)
	}
	return nil
}

func (c *commandLine) respond(ctx context.Context, j Job, s said, e *Entry) (said, error) {
	q := s.Pending
	given := j.Form
	if q.Mode == "url" {
		given = j.URL
		e.Asked = append(e.Asked, fmt.Sprintf("url %s %s", q.Message, q.URL))
	} else {
		e.Asked = append(e.Asked, fmt.Sprintf("form %s %s", q.Message, strings.Join(fields(q.RequestedSchema), ",")))
	}
	answer, ok := given.(Reply)
	if !ok {
		answer = Reply{Action: "accept"}
	}
	answer.Together = 0 // questions wait in the daemon
	w := newWatcher()
	defer w.leave()
	answer = w.think(ctx, answer, q.Message, q.URL)
	args := []string{"elicitation/respond", q.ID}
	switch {
	case answer.Action != "accept":
		args = append(args, "--"+answer.Action)
	case q.Mode == "url":
		args = append(args, "--done")
	default:
		raw, err := json.Marshal(answer.Content)
		if err != nil {
			return said{}, err
		}
		args = append(args, string(raw))
	}
	return c.run(ctx, first, args...)
}

func mcpdoFailure(err error) *Failure {
	return &Failure{Kind: "mcpdo", Message: err.Error()}
}
