package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A2ACommandLine is a2a-go's command line over a binding, JSONRPC or HTTP+JSON:
// a command for each message.
func (w *World) A2ACommandLine(binding string) Client {
	return Client{Name: "a2a-go 2.4.0 " + binding, Era: "modern", Agents: true, Tour: func(t testing.TB, targets []Target) []Report {
		t.Helper()
		program := w.A2AProgram(t)
		return visitAll(t, targets, a2aFailure, func(ctx context.Context, to Target, watch *watcher) (session, error) {
			s := &a2aSession{program: program, watcher: watch}
			return s, s.discover(ctx, to.URL, binding)
		})
	}}
}

// A2AProgram gives the path of a2a-go's command line.
func (w *World) A2AProgram(t testing.TB) string {
	t.Helper()
	file := filepath.Join(os.Getenv("ANSWERBACK_PEERS"), "bin/a2a")
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("a peer is missing; run make e2e or make matrix: %v", err)
	}
	return file
}

// a2aSession is somebody who types commands to talk to one agent.
type a2aSession struct {
	program, url, transport string
	watcher                 *watcher
	card                    struct {
		Name                string
		Skills              []struct{ ID string }
		SupportedInterfaces []struct{ URL, ProtocolBinding string }
	}
}

func (s *a2aSession) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, s.program, append(args, "-o", "json", "--timeout", "10m", "--transport", s.transport)...)
}

// discover reads the card, and takes the address of the binding from it: told
// which to use, the command line itself does not look there.
func (s *a2aSession) discover(ctx context.Context, url, binding string) error {
	out, err := exec.CommandContext(ctx, s.program, "discover", url, "-o", "json").Output()
	if err != nil {
		return explained(err)
	}
	if err := json.Unmarshal(out, &s.card); err != nil {
		return err
	}
	for _, i := range s.card.SupportedInterfaces {
		if i.ProtocolBinding == binding {
			s.url, s.transport = i.URL, map[string]string{"JSONRPC": "jsonrpc", "HTTP+JSON": "rest"}[binding]
			return nil
		}
	}
	return fmt.Errorf("the card of %s has no %s", url, binding)
}

func (s *a2aSession) negotiated() string { return "2026-07-28" } // the turn of a task is a round of the modern era

func (s *a2aSession) tools(context.Context) ([]string, error) {
	var names []string
	for _, skill := range s.card.Skills {
		names = append(names, skill.ID)
	}
	return names, nil
}

func (s *a2aSession) call(ctx context.Context, name string, args map[string]any, token string) (any, error) {
	first := a2aMessage{Parts: []a2aPart{{Data: map[string]any{"tool": name, "arguments": args}}}}
	if s.card.Name == "a2a-agent" { // our own has skills, and is told what a gateway would tell it
		input := args
		if own, ok := args["data"].(map[string]any); ok {
			input = own
		}
		first = a2aMessage{Parts: []a2aPart{{Data: input}}, Metadata: map[string]any{"skillId": name}}
		if said, ok := args["message"].(string); ok {
			first.Parts = append(first.Parts, a2aPart{Text: said})
		}
	}
	task := &a2aTask{}
	for next := first; ; next = s.answer(ctx, task) {
		next.ID, next.Role, next.TaskID, next.ContextID = fmt.Sprintf("%s-%d", token, time.Now().UnixNano()), "ROLE_USER", task.ID, task.ContextID
		if err := s.turn(ctx, next, task, token); err != nil {
			return nil, s.giveUp(ctx, task, err)
		}
		switch {
		case task.Status.State == "TASK_STATE_CANCELED":
			return nil, errCanceled
		case task.Status.over():
			return task.result(), nil
		}
	}
}

var errCanceled = errors.New("the task was canceled")

// giveUp cancels a task whose call was cancelled.
func (s *a2aSession) giveUp(ctx context.Context, task *a2aTask, why error) error {
	if !errors.Is(ctx.Err(), context.Canceled) || task.ID == "" {
		return why
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if _, err := s.command(ctx, "cancel", s.url, task.ID).Output(); err != nil {
		return explained(err)
	}
	return errCanceled
}

// turn sends a message and follows the task until it waits or ends.
func (s *a2aSession) turn(ctx context.Context, m a2aMessage, task *a2aTask, token string) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	here, leave := context.WithCancel(ctx)
	defer leave()
	cmd := s.command(here, "send", s.url, "--stream", "--json", string(raw))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		return err
	}
	before := task.Status
	task.Status = a2aStatus{}
	err = s.follow(json.NewDecoder(out), task, token)
	leave()
	_ = cmd.Wait() // it was left
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case task.ID == "":
		return fmt.Errorf("%w: %s", err, &complaints)
	}
	return s.look(ctx, task, before)
}

// follow reads what the command prints of a task. A task that comes first may
// still be as it was before the message.
func (s *a2aSession) follow(events *json.Decoder, task *a2aTask, token string) error {
	for steps := 0; ; {
		var e struct {
			Task           *a2aTask
			StatusUpdate   *struct{ Status a2aStatus }
			ArtifactUpdate *struct{ Artifact a2aArtifact }
		}
		switch err := events.Decode(&e); {
		case err != nil && (task.Status.over() || task.Status.waits()):
			return nil
		case err != nil:
			return err
		case e.Task != nil:
			*task = *e.Task
		case e.ArtifactUpdate != nil:
			task.Artifacts = append(task.Artifacts, e.ArtifactUpdate.Artifact)
		case e.StatusUpdate != nil:
			task.Status = e.StatusUpdate.Status
			if task.Status.over() || task.Status.waits() {
				return nil
			}
			if task.Status.State == "TASK_STATE_WORKING" && task.Status.Message != nil {
				steps++
				s.watcher.advance(token, float64(steps))
			}
		}
	}
}

// look asks for a task that went on by itself, until it is not what it was
// before.
func (s *a2aSession) look(ctx context.Context, task *a2aTask, before a2aStatus) error {
	for {
		out, err := s.command(ctx, "get", "task", s.url, task.ID).Output()
		if err != nil {
			return explained(err)
		}
		*task = a2aTask{ID: task.ID}
		if err := json.Unmarshal(out, task); err != nil {
			return err
		}
		if task.Status.over() || task.Status.waits() && task.Status.State != before.State {
			return nil
		}
	}
}

// answer answers what a task waits for, as the job says. Words alone are
// answered with words.
func (s *a2aSession) answer(ctx context.Context, task *a2aTask) (m a2aMessage) {
	words, questions := task.Status.said()
	for _, q := range questions {
		url, isURL := q["url"].(string)
		mode, message := "form", words
		if isURL {
			mode = "url"
		}
		if own, ok := q["message"].(string); ok {
			message = own
		}
		reply := s.watcher.elicit(ctx, mode, message, url, q["requestedSchema"])
		given := map[string]any{"action": reply.Action}
		if reply.Content != nil {
			given["content"] = reply.Content
		}
		if id, ok := q["id"]; ok {
			given["id"] = id
		}
		m.Parts = append(m.Parts, a2aPart{Data: given})
	}
	if len(questions) > 0 {
		return m
	}
	reply := s.watcher.elicit(ctx, "form", words, "", map[string]any{"properties": map[string]any{"text": nil}})
	if said, _ := reply.Content["text"].(string); reply.Action == "accept" {
		return a2aMessage{Parts: []a2aPart{{Text: said}}}
	}
	return a2aMessage{Parts: []a2aPart{{Data: map[string]any{"action": reply.Action}}}}
}

var errNoCommand = errors.New("a2a-go's command line has no command for this")

func (s *a2aSession) level(context.Context, string) error        { return errNoCommand }
func (s *a2aSession) subscribe(context.Context, string) error    { return errNoCommand }
func (s *a2aSession) unsubscribe(context.Context, string) error  { return errNoCommand }
func (s *a2aSession) rootsChanged(context.Context, []Root) error { return errNoCommand }
func (s *a2aSession) close()                                     {}

// explained adds what a command complained of.
func explained(err error) error {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(e.Stderr))
	}
	return err
}

func a2aFailure(err error) *Failure {
	f := &Failure{Kind: "a2a", Message: err.Error()}
	if errors.Is(err, errCanceled) {
		f.Code = "canceled"
	}
	return f
}
