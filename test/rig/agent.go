package rig

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// Agent is an A2A agent of the reference library, whose skills are scripts.
type Agent struct {
	URL string
	// Guard is asked before each request but those for the card; it answers
	// what it does not let pass. Set it before the first request.
	Guard func(w http.ResponseWriter, r *http.Request) bool

	scripts map[string]AgentScript
	mu      sync.Mutex
	card    *a2a.AgentCard
	turns   map[a2a.TaskID]int
	skills  map[a2a.TaskID]string
	asked   []*a2a.Message
	cancels chan a2a.TaskID
}

// AgentScript is one turn of a task.
type AgentScript func(t *Turn)

// AgentKind is how an agent is spoken to.
type AgentKind struct {
	Streaming bool
	REST      bool // HTTP+JSON, not JSON-RPC
}

// Turn is the agent's end of one message.
type Turn struct {
	context.Context // ends with the turn
	Exec            *a2asrv.ExecutorContext
	N               int // of the messages of the task, from 1

	begun bool
	gone  bool
	yield func(a2a.Event, error) bool
}

// NewAgent runs an agent for the length of a test.
func NewAgent(t testing.TB, kind AgentKind, scripts map[string]AgentScript) *Agent {
	t.Helper()
	a := &Agent{
		scripts: scripts, turns: map[a2a.TaskID]int{}, skills: map[a2a.TaskID]string{},
		cancels: make(chan a2a.TaskID, 64),
	}
	handler := a2asrv.NewHandler(a, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	way, binding := a2asrv.NewJSONRPCHandler(handler), a2a.TransportProtocolJSONRPC
	if kind.REST {
		way, binding = a2asrv.NewRESTHandler(handler), a2a.TransportProtocolHTTPJSON
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/agent-card.json" {
			a.mu.Lock()
			raw, _ := json.Marshal(a.card)
			a.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			w.Write(raw)
			return
		}
		if a.Guard != nil && !a.Guard(w, r) {
			return
		}
		way.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	a.URL = srv.URL
	a.card = &a2a.AgentCard{
		Name: "rig agent", Version: "7", Description: "An agent for tests.",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(srv.URL, binding)},
		Capabilities:        a2a.AgentCapabilities{Streaming: kind.Streaming},
	}
	for _, id := range slices.Sorted(maps.Keys(scripts)) {
		a.card.Skills = append(a.card.Skills, a2a.AgentSkill{ID: id, Name: id, Description: "Does " + id + "."})
	}
	return a
}

// Change changes the agent's card.
func (a *Agent) Change(change func(c *a2a.AgentCard)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a.card)
}

// Messages are those that the agent was sent, in order.
func (a *Agent) Messages() []*a2a.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// Cancelled gives the tasks that were cancelled, as they are.
func (a *Agent) Cancelled() <-chan a2a.TaskID { return a.cancels }

// Execute runs one turn.
func (a *Agent) Execute(ctx context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		a.mu.Lock()
		a.turns[exec.TaskID]++
		if skill, ok := exec.Message.Metadata["skillId"].(string); ok {
			a.skills[exec.TaskID] = skill
		}
		a.asked = append(a.asked, exec.Message)
		t := &Turn{Context: ctx, Exec: exec, N: a.turns[exec.TaskID], begun: exec.StoredTask != nil, yield: yield}
		script := a.scripts[a.skills[exec.TaskID]]
		a.mu.Unlock()
		script(t)
	}
}

// Cancel cancels a task.
func (a *Agent) Cancel(_ context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		a.cancels <- exec.TaskID
		yield(a2a.NewStatusUpdateEvent(exec, a2a.TaskStateCanceled, nil), nil)
	}
}

// Give sends an event, before the first of a new task the task itself.
func (t *Turn) Give(ev a2a.Event) {
	if _, bare := ev.(*a2a.Message); !t.begun && !bare {
		t.begun = true
		t.Give(a2a.NewSubmittedTask(t.Exec, t.Exec.Message))
	}
	if !t.gone {
		t.gone = !t.yield(ev, nil)
	}
}

// Is tells the state of the task, with what the agent says of it.
func (t *Turn) Is(state a2a.TaskState, parts ...*a2a.Part) {
	var m *a2a.Message
	if len(parts) > 0 {
		m = a2a.NewMessageForTask(a2a.MessageRoleAgent, t.Exec, parts...)
	}
	t.Give(a2a.NewStatusUpdateEvent(t.Exec, state, m))
}

// Done completes the task with an artifact.
func (t *Turn) Done(parts ...*a2a.Part) {
	t.Give(a2a.NewArtifactEvent(t.Exec, parts...))
	t.Is(a2a.TaskStateCompleted)
}

// Text is that of the message.
func (t *Turn) Text() string { return AgentText(t.Exec.Message) }

// Data is the data of the message, as JSON; null where it has none.
func (t *Turn) Data() string { return AgentData(t.Exec.Message) }

// AgentText gives the first text of a message.
func AgentText(m *a2a.Message) string {
	for _, p := range m.Parts {
		if text := p.Text(); text != "" {
			return text
		}
	}
	return ""
}

// AgentData gives the first data of a message, as JSON.
func AgentData(m *a2a.Message) string {
	for _, p := range m.Parts {
		if data := p.Data(); data != nil {
			raw, _ := json.Marshal(data)
			return string(raw)
		}
	}
	return "null"
}
