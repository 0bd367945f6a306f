package relay

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/wire"
)

const formAndTasks = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// memory keeps results for a test.
type memory struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (m *memory) Keep(_ context.Context, id string, value []byte, _ time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[id] = value
	return nil
}

func (m *memory) Kept(_ context.Context, id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept[id], nil
}

// tasking is a relay in which calls of the server "old" may become tasks.
func tasking(t *testing.T, runs *int) *Relay {
	r := newRelay(t, legacyServer(asksFor(1, runs)))
	r.results = &memory{kept: map[string][]byte{}}
	r.table.Load().entries[0].Tasks = true
	return r
}

func taskOf(m wire.Message) string { return member(m, "taskId") }

func member(m wire.Message, key string) string {
	return string(wire.Get(m.Raw, m.Result, key).Of(m.Raw))
}

// A call in which somebody is asked becomes a task for a client that takes
// tasks: it polls, answers, and gets the result of the one run.
func TestCallBecomesATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		m := callWith(r, alice, formAndTasks, "tools/call", "")
		if m.Text(m.ResultType) != "task" || member(m, "status") != `"input_required"` {
			t.Fatalf("the call: %s", m.Raw)
		}
		id := taskOf(m)
		get := func(who Caller) wire.Message {
			return callWith(r, who, formAndTasks, "tasks/get", `,"taskId":`+id)
		}
		m = get(alice)
		if !strings.Contains(member(m, "inputRequests"), `"q1"`) || taskOf(m) != id || m.Text(m.ResultType) != "complete" {
			t.Fatalf("the task: %s", m.Raw)
		}
		if m := get(person("mallory")); m.Kind != wire.Failure {
			t.Errorf("somebody else's task: %s", m.Raw)
		}
		time.Sleep(23 * time.Minute)
		m = callWith(r, alice, formAndTasks, "tasks/update", `,"taskId":`+id+`,"inputResponses":{"q1":{"action":"decline"}}`)
		if m.Text(m.ResultType) != "complete" {
			t.Fatalf("the update: %s", m.Raw)
		}
		synctest.Wait()
		m = get(alice)
		if member(m, "status") != `"completed"` || !strings.Contains(member(m, "result"), `{"action":"decline"}`) || runs != 1 {
			t.Errorf("the task after %d runs: %s", runs, m.Raw)
		}
		r.Close()
	})
}

func TestTaskIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		id := taskOf(callWith(r, alice, formAndTasks, "tools/call", ""))
		if m := callWith(r, alice, formAndTasks, "tasks/cancel", `,"taskId":`+id); m.Kind != wire.Result {
			t.Fatalf("the cancel: %s", m.Raw)
		}
		synctest.Wait()
		if m := callWith(r, alice, formAndTasks, "tasks/get", `,"taskId":`+id); member(m, "status") != `"cancelled"` {
			t.Errorf("the task: %s", m.Raw)
		}
		r.Close()
	})
}

// Nobody gets a task who did not ask for tasks, nor where they are switched
// off.
func TestNoTaskWithoutTheExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		if m := callWith(r, alice, `{"elicitation":{"form":{}}}`, "tools/call", ""); m.Text(m.ResultType) != "input_required" {
			t.Errorf("a client without the extension: %s", m.Raw)
		}
		r.table.Load().entries[0].Tasks = false
		if m := callWith(r, alice, formAndTasks, "tools/call", ""); m.Text(m.ResultType) != "input_required" {
			t.Errorf("switched off: %s", m.Raw)
		}
		r.Close()
	})
}

// The response of a call whose client is away outlives the gateway.
func TestUncollectedResponseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		id := taskOf(callWith(r, alice, formAndTasks, "tools/call", ""))
		callWith(r, alice, formAndTasks, "tasks/update", `,"taskId":`+id+`,"inputResponses":{"q1":{"action":"decline"}}`)
		synctest.Wait()
		r.lot.mu.Lock()
		clear(r.lot.calls) // as after a restart
		r.lot.mu.Unlock()
		m := callWith(r, alice, formAndTasks, "tasks/get", `,"taskId":`+id)
		if member(m, "status") != `"completed"` || !strings.Contains(member(m, "result"), `{"action":"decline"}`) {
			t.Errorf("the task: %s", m.Raw)
		}
		if m := callWith(r, person("mallory"), formAndTasks, "tasks/get", `,"taskId":`+id); m.Kind != wire.Failure {
			t.Errorf("somebody else's: %s", m.Raw)
		}
		r.Close()
	})
}
