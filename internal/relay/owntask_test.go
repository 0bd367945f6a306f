package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/parking/parkingtest"
	"github.com/answerback/answerback/internal/wire"
)

const formAndTasks = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// tasking is a relay in which calls of the server "old" may become tasks.
func tasking(t *testing.T, runs *int) *Relay { return taskingWith(t, asksFor(1, runs)) }

func taskingWith(t *testing.T, serve func(context.Context, *wire.Message, contract.Sink) (string, error)) *Relay {
	r := newRelay(t, legacyServer(serve))
	park(t, r, 8, &parkingtest.Memory{})
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
		get := func(who contract.Caller) wire.Message {
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
		kept := &parkingtest.Memory{}
		park(t, r, 8, kept)
		id := taskOf(callWith(r, alice, formAndTasks, "tools/call", ""))
		if m := callWith(r, alice, formAndTasks, "tasks/cancel", `,"taskId":`+id); m.Kind != wire.Result {
			t.Fatalf("the cancel: %s", m.Raw)
		}
		synctest.Wait()
		for range 2 { // the second time as after a restart
			if m := callWith(r, alice, formAndTasks, "tasks/get", `,"taskId":`+id); member(m, "status") != `"cancelled"` {
				t.Errorf("the task: %s", m.Raw)
			}
			park(t, r, 8, kept)
		}
		r.Close()
	})
}

// A task that is over stays as it is when it is cancelled, and is there for
// as long as its ttlMs says.
func TestTaskThatIsOverStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		m := callWith(r, alice, formAndTasks, "tools/call", "")
		id, about := taskOf(m), func(method, rest string) wire.Message {
			return callWith(r, alice, formAndTasks, method, `,"taskId":`+taskOf(m)+rest)
		}
		if ttl := member(m, "ttlMs"); ttl != "86400000" {
			t.Fatalf("the task is promised for %s ms", ttl)
		}
		about("tasks/update", `,"inputResponses":{"q1":{"action":"decline"}}`)
		synctest.Wait()
		for _, wait := range []time.Duration{0, 23 * time.Hour} {
			time.Sleep(wait)
			if m := about("tasks/cancel", ""); m.Text(m.ResultType) != "complete" || taskOf(m) != "" {
				t.Errorf("the cancel: %s", m.Raw)
			}
			if m := about("tasks/get", ""); taskOf(m) != id || member(m, "status") != `"completed"` {
				t.Errorf("the task: %s", m.Raw)
			}
		}
		time.Sleep(2 * time.Hour)
		if m := about("tasks/get", ""); string(m.Field(m.ErrorCode)) != "-32602" {
			t.Errorf("the task outlives its time: %s", m.Raw)
		}
		r.Close()
	})
}

// A call that fails makes a task that failed, with the error that a modern
// client would have got.
func TestTaskFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := taskingWith(t, func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			q, reply, _ := newQuestion("elicitation/create", anyForm)
			sink.Question(q)
			<-reply
			return `{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,"error":{"code":-32002,"message":"no \"such\" thing"}}`, nil
		})
		id := taskOf(callWith(r, alice, formAndTasks, "tools/call", ""))
		callWith(r, alice, formAndTasks, "tasks/update", `,"taskId":`+id+`,"inputResponses":{"q1":{"action":"decline"}}`)
		synctest.Wait()
		m := callWith(r, alice, formAndTasks, "tasks/get", `,"taskId":`+id)
		if member(m, "status") != `"failed"` || member(m, "result") != "" ||
			member(m, "error") != `{"code":-32602,"message":"no \"such\" thing"}` || member(m, "statusMessage") != `"no \"such\" thing"` {
			t.Errorf("the task: %s", m.Raw)
		}
		r.Close()
	})
}

// A task that could not be sent is ended: its client will call anew.
func TestUnsentTaskIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		msg := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + formAndTasks + `},"name":"t"}}`)
		resp := r.Call(context.Background(), "old", alice, &msg, nil, newPeer())
		if resp.Unsent == nil {
			t.Fatal("nothing to call when the response is not sent")
		}
		resp.Unsent()
		synctest.Wait()
		if m := callWith(r, alice, formAndTasks, "tasks/get", `,"taskId":`+taskOf(scan(string(resp.Body)))); m.Kind != wire.Failure {
			t.Errorf("the task is still there: %s", m.Raw)
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
		kept := &parkingtest.Memory{}
		park(t, r, 8, kept)
		id := taskOf(callWith(r, alice, formAndTasks, "tools/call", ""))
		callWith(r, alice, formAndTasks, "tasks/update", `,"taskId":`+id+`,"inputResponses":{"q1":{"action":"decline"}}`)
		synctest.Wait()
		park(t, r, 8, kept) // as after a restart
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

// A call that a group answers becomes a task at once, where its client takes
// tasks: nothing that the client could do would end the wait.
func TestGroupAnsweredCallBecomesATaskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		r.pages = fakePages{}
		r.table.Load().entries[0].AnsweredBy = "approvers"
		began := time.Now()
		m := callWith(r, alice, formAndTasks, "tools/call", "")
		if took := time.Since(began); m.Text(m.ResultType) != "task" || member(m, "status") != `"working"` || took > time.Second {
			t.Fatalf("after %s: %s", took, m.Raw)
		}
		if strings.Contains(string(m.Raw), fakePages{}.Link("")) {
			t.Errorf("the caller is sent to the group's page: %s", m.Raw)
		}
		r.Close()
	})
}

// A client that can show nothing and takes tasks learns from the task where
// its person is to go.
func TestTaskNamesThePageThatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		r.pages = fakePages{}
		const caps = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		m := callWith(r, alice, caps, "tools/call", "")
		if m.Text(m.ResultType) != "task" || !strings.Contains(member(m, "statusMessage"), fakePages{}.Link("")) {
			t.Fatalf("the call: %s", m.Raw)
		}
		id := taskOf(m)
		answerAsks(t, r, alice, `{"n":7}`)
		m = callWith(r, alice, caps, "tasks/get", `,"taskId":`+id)
		if member(m, "status") != `"completed"` || !strings.Contains(member(m, "result"), `{"n":7}`) || !wire.Get(m.Raw, m.Result, "statusMessage").IsZero() {
			t.Errorf("the task: %s", m.Raw)
		}
		r.Close()
	})
}

// A task says when it last changed, not when it was looked at.
func TestTaskSaysWhenItLastChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := tasking(t, &runs)
		began := time.Now()
		id := taskOf(callWith(r, alice, formAndTasks, "tools/call", ""))
		updated := func() string {
			m := callWith(r, alice, formAndTasks, "tasks/get", `,"taskId":`+id)
			return strings.Trim(member(m, "lastUpdatedAt"), `"`)
		}
		time.Sleep(30 * time.Minute)
		if got, want := updated(), began.UTC().Format(time.RFC3339); got != want {
			t.Errorf("before the answer it last changed at %s, want %s", got, want)
		}
		callWith(r, alice, formAndTasks, "tasks/update", `,"taskId":`+id+`,"inputResponses":{"q1":{"action":"decline"}}`)
		synctest.Wait()
		ended := time.Now().UTC().Format(time.RFC3339)
		time.Sleep(30 * time.Minute)
		if got := updated(); got != ended {
			t.Errorf("afterwards it last changed at %s, want %s", got, ended)
		}
		r.Close()
	})
}
