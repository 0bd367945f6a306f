package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// MCPDo is mcpdo of the inspector: a person at a command line. A call that
// asks gives the question back, and another command answers it. It can be
// given no order to cancel, and does not show progress.
func (w *World) MCPDo(era string) Client {
	return Client{Name: "mcpdo 2.12.0 " + era, Era: era, HidesRoots: true, HidesProgress: true, AsksForPages: true,
		Tour: func(t testing.TB, targets []Target) []Report {
			t.Helper()
			c := &commandLine{node: w.Node, script: w.Inspector, era: era, env: append(os.Environ(),
				"HOME="+t.TempDir(), "MCP_INSPECTOR_SECRET_STORE=file",
				"NODE_COMPILE_CACHE="+w.Bin("compiled"))} // each command is a process of its own
			defer func() { _, _ = c.run(context.WithoutCancel(t.Context()), "daemon", "stop") }()
			var reports []Report
			for _, to := range targets {
				reports = append(reports, c.visit(t.Context(), to))
			}
			return reports
		}}
}

// commandLine is mcpdo with a daemon of its own.
type commandLine struct {
	node, script, era string
	env               []string
}

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
func (c *commandLine) run(ctx context.Context, args ...string) (said, error) {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.node, append([]string{c.script, "--connection", "peer", "--format", "json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, &stdout, &stderr
	err := cmd.Run()
	var s said
	if json.Unmarshal(stdout.Bytes(), &s) == nil {
		return s, nil
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	return s, fmt.Errorf("mcpdo %s: %s: %w", args[0], lines[len(lines)-1], err)
}

func (c *commandLine) visit(ctx context.Context, to Target) Report {
	fail := func(err error) Report { return Report{Error: mcpdoFailure(err)} }
	s, err := c.run(ctx, "connect", "--era", c.era, "--transport", "http", "--server-url", to.URL, "@peer")
	if err != nil {
		return fail(err)
	}
	if _, err := c.run(ctx, "roots/set", "--roots-json", `[{"uri":"file:///project","name":"project"}]`); err != nil {
		return fail(err)
	}
	rep := Report{Era: s.Era}
	for _, j := range to.Jobs {
		e := Entry{Job: j.Call}
		if err := c.do(ctx, j, &e); err != nil {
			e.Error = mcpdoFailure(err)
		}
		rep.Results = append(rep.Results, e)
	}
	_, _ = c.run(ctx, "disconnect", "@peer")
	return rep
}

// do calls a tool and answers until there is a result.
func (c *commandLine) do(ctx context.Context, j Job, e *Entry) error {
	if j.Call == "" || j.Cancel {
		return errors.New("mcpdo can be given no such order")
	}
	args, err := json.Marshal(j.Args)
	if err != nil {
		return err
	}
	if j.Args == nil {
		args = []byte("{}")
	}
	s, err := c.run(ctx, "tools/call", j.Call, "--tool-args-json", string(args))
	for err == nil && s.Pending != nil {
		s, err = c.respond(ctx, j, s, e)
	}
	e.Result = s.Result
	return err
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
	return c.run(ctx, args...)
}

func mcpdoFailure(err error) *Failure {
	return &Failure{Kind: "mcpdo", Message: err.Error()}
}
