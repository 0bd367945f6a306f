package relay

import (
	"context"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const tasksCaps = era.RequiredTasks

var mallory = person("mallory")

// askModern makes a modern request of a client with the capabilities given, and
// gives the response.
func askModern(r *Relay, at string, who contract.Caller, peer contract.Peer, method, params, caps string) wire.Message {
	m := scan(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + caps + `},` + params + `}}`)
	return scan(string(r.Call(context.Background(), at, who, &m, nil, peer).Body))
}

// taskServer answers tools/call with a task and tasks/* with what it saw.
func taskServer(name, own string) *fakeServer {
	return &fakeServer{name: name, serve: func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		switch msg.Method() {
		case "tools/call":
			return okTo(msg, `{"resultType":"task", "taskId" : "`+own+`","status":"working","ttlMs":1.10}`), nil
		case "tasks/get":
			return okTo(msg, `{"resultType":"complete","by":"`+name+`","taskId":`+string(wire.Get(msg.Raw, msg.Params, "taskId").Of(msg.Raw))+`,"status":"working"}`), nil
		}
		return okTo(msg, `{"resultType":"complete"}`), nil
	}}
}

func create(t *testing.T, r *Relay, at, tool string) string {
	t.Helper()
	m := askModern(r, at, alice, newPeer(), "tools/call", `"name":"`+tool+`"`, tasksCaps)
	id := m.Text(wire.Get(m.Raw, m.Result, "taskId"))
	if id == "" {
		t.Fatalf("no task: %s", m.Raw)
	}
	return id
}

func wantFailure(t *testing.T, what string, m wire.Message, code, reason string) {
	t.Helper()
	if string(m.Field(m.ErrorCode)) != code || !strings.Contains(string(m.Raw), `"reason":"`+reason+`"`) {
		t.Errorf("%s: got %s, want %s with %s", what, m.Raw, code, reason)
	}
}

// A task's id leaves sealed, finds its own backend again also where another
// has a task of the same id, and is the same to the client ever after.
func TestTaskIDsFindTheirBackend(t *testing.T) {
	r := newRelay(t, taskServer("one", "same"), taskServer("two", "same"))
	first, second := create(t, r, "", "one__t"), create(t, r, "", "two__t")
	for backend, id := range map[string]string{"one": first, "two": second} {
		if strings.ContainsFunc(id, func(c rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", c)
		}) || strings.Contains(id, "same") {
			t.Errorf("the id %s is not fit for a header, or not sealed", id)
		}
		for _, at := range []string{"", backend} {
			m := askModern(r, at, alice, newPeer(), "tasks/get", `"taskId":"`+id+`"`, tasksCaps)
			if want := `{"resultType":"complete","by":"` + backend + `","taskId":"` + id + `","status":"working"}`; string(m.Field(m.Result)) != want {
				t.Errorf("at %q:\n got %s\nwant %s", at, m.Raw, want)
			}
		}
	}
}

// All but the id of a new task stays byte for byte.
func TestTaskResultsKeepTheirBytes(t *testing.T) {
	r := newRelay(t, taskServer("one", "own"))
	m := askModern(r, "one", alice, newPeer(), "tools/call", `"name":"t"`, tasksCaps)
	id := string(wire.Get(m.Raw, m.Result, "taskId").Of(m.Raw))
	if want := `{"resultType":"task", "taskId" : ` + id + `,"status":"working","ttlMs":1.10}`; string(m.Field(m.Result)) != want {
		t.Errorf("got  %s\nwant %s", m.Field(m.Result), want)
	}
	if m := askModern(r, "one", alice, newPeer(), "tasks/cancel", `"taskId":`+id, tasksCaps); string(m.Field(m.Result)) != `{"resultType":"complete"}` {
		t.Errorf("the acknowledgement is %s", m.Raw)
	}
}

// An id opens nothing for another principal, at another backend's endpoint,
// changed, or as the backend itself has it; and the backend hears of no such
// attempt.
func TestTaskIDsAreBound(t *testing.T) {
	one, two := taskServer("one", "own"), taskServer("two", "own")
	r := newRelay(t, one, two)
	id := create(t, r, "", "one__t")
	refuse := func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		t.Errorf("a backend got %s", msg.Raw)
		return okTo(msg, `{}`), nil
	}
	one.serve, two.serve = refuse, refuse
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, at := range []string{"", "one"} {
			wantFailure(t, "another principal", askModern(r, at, mallory, newPeer(), method, `"taskId":"`+id+`"`, tasksCaps), "-32602", "unknown_name")
			wantFailure(t, "the backend's own id", askModern(r, at, alice, newPeer(), method, `"taskId":"own"`, tasksCaps), "-32602", "unknown_name")
			wantFailure(t, "a changed id", askModern(r, at, alice, newPeer(), method, `"taskId":"`+id[:20]+flip(id[20:21])+id[21:]+`"`, tasksCaps), "-32602", "unknown_name")
			wantFailure(t, "no id", askModern(r, at, alice, newPeer(), method, `"x":1`, tasksCaps), "-32602", "unknown_name")
			wantFailure(t, "a number", askModern(r, at, alice, newPeer(), method, `"taskId":7`, tasksCaps), "-32602", "unknown_name")
			wantFailure(t, "not declared", askModern(r, at, alice, newPeer(), method, `"taskId":"`+id+`"`, `{"extensions":{"v/x":{}}}`), "-32021", "missing_capability")
		}
		wantFailure(t, "another backend", askModern(r, "two", alice, newPeer(), method, `"taskId":"`+id+`"`, tasksCaps), "-32602", "unknown_name")
	}
	for _, params := range []string{
		`"taskId":"own","taskId":"` + id + `"`, `"taskId":"` + id + `","taskId":"own"`,
		`"taskId":"` + id + `","TaskID":"own"`, `"taskID":"` + id + `"`, `"task\u0049d":"` + id + `"`,
	} {
		wantFailure(t, params, askModern(r, "one", alice, newPeer(), "tasks/get", params, tasksCaps), "-32600", "ambiguous_message")
	}
	for _, method := range []string{"tasks/result", "tasks/list", "tasks/other"} {
		for _, at := range []string{"", "one"} {
			wantFailure(t, method, askModern(r, at, alice, newPeer(), method, `"taskId":"`+id+`"`, tasksCaps), "-32601", "unknown_method")
		}
	}
	r.Swap([]Entry{{Backend: two}})
	wantFailure(t, "a backend that is gone", askModern(r, "", alice, newPeer(), "tasks/get", `"taskId":"`+id+`"`, tasksCaps), "-32602", "unknown_name")
}

// A result passes only where the client is ready for its type.
func TestResultTypesMustBeDeclared(t *testing.T) {
	const other = `{"extensions":{"v/x":{}}}`
	for _, k := range []struct {
		result, caps string
		passes       bool
	}{
		{`{"resultType":"complete","taskId":"vendor"}`, `{}`, true},
		{`{"taskId":"vendor"}`, `{}`, true},
		{`{"resultType":"task","taskId":"x"}`, tasksCaps, true},
		{`{"resultType":"task","taskId":"x"}`, other, false},
		{`{"resultType":"task","taskId":"x"}`, `{"tasks":{}}`, false},
		{`{"resultType":"t\u0061sk","taskId":"x"}`, `{}`, false},
		{`{"resultType":"task"}`, tasksCaps, false},
		{`{"resultType":"task","taskId":7}`, tasksCaps, false},
		{`{"resultType":"task","taskId":"x","taskId":"y"}`, tasksCaps, false},
		{`{"resultType":"vendor","taskId":"x"}`, other, true},
		{`{"resultType":"vendor"}`, tasksCaps, true},
		{`{"resultType":"vendor"}`, `{}`, false},
		{`{"resultType":7}`, other, false},
	} {
		r := newRelay(t, &fakeServer{name: "one", serve: func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
			return okTo(msg, k.result), nil
		}})
		m := askModern(r, "one", alice, newPeer(), "tools/call", `"name":"t"`, k.caps)
		switch {
		case !k.passes:
			wantFailure(t, k.result+" for "+k.caps, m, "-32603", "backend_broken")
		case strings.Contains(k.result, `"task"`):
			if m.Kind != wire.Result || strings.Contains(string(m.Raw), `"x"`) {
				t.Errorf("%s for %s: %s", k.result, k.caps, m.Raw)
			}
		case string(m.Field(m.Result)) != k.result:
			t.Errorf("%s for %s: %s", k.result, k.caps, m.Raw)
		}
	}
}

// A backend that answers for another task than it was asked for gives nobody
// that task.
func TestAnotherTaskIsNotHandedOut(t *testing.T) {
	one := taskServer("one", "own")
	r := newRelay(t, one)
	id := create(t, r, "one", "t")
	for _, result := range []string{
		`{"resultType":"complete","taskId":"other","status":"working"}`,
		`{"resultType":"task","taskId":"other","status":"working"}`,
		`{"resultType":"complete","taskId":7}`,
	} {
		one.serve = func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
			return okTo(msg, result), nil
		}
		wantFailure(t, result, askModern(r, "one", alice, newPeer(), "tasks/get", `"taskId":"`+id+`"`, tasksCaps), "-32603", "backend_broken")
	}
}

// Questions inside a task pass where the client declared them, and the
// answers reach the backend byte for byte.
func TestQuestionsInsideTasks(t *testing.T) {
	const both = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	one := taskServer("one", "own")
	r := newRelay(t, one)
	id := create(t, r, "one", "t")
	const inputs = `"inputRequests":{"k":{"method":"elicitation/create","params":` + anyForm + `}}`
	seen := ""
	one.serve = func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		if msg.Method() == "tasks/update" {
			seen = string(msg.Raw)
			return okTo(msg, `{"resultType":"complete"}`), nil
		}
		return okTo(msg, `{"resultType":"complete","taskId":"own","status":"input_required",`+inputs+`}`), nil
	}
	m := askModern(r, "one", alice, newPeer(), "tasks/get", `"taskId":"`+id+`"`, both)
	if want := `{"resultType":"complete","taskId":"` + id + `","status":"input_required",` + inputs + `}`; string(m.Field(m.Result)) != want {
		t.Errorf("got  %s\nwant %s", m.Raw, want)
	}
	m = askModern(r, "one", alice, newPeer(), "tasks/get", `"taskId":"`+id+`"`, tasksCaps)
	wantFailure(t, "not declared", m, "-32021", "missing_capability")
	if !strings.Contains(string(m.Raw), `"requiredCapabilities":{"elicitation":{"form":{}}}`) {
		t.Errorf("the refusal does not say what to declare: %s", m.Raw)
	}
	const answers = `"inputResponses":{"k":{"action":"accept","content":{"n":1.10}}}`
	askModern(r, "one", alice, newPeer(), "tasks/update", `"taskId":"`+id+`", `+answers, both)
	if !strings.HasSuffix(seen, `,"taskId":"own", `+answers+`}}`) {
		t.Errorf("the backend got %s", seen)
	}
	r.desk = nil
	wantFailure(t, "switched off", askModern(r, "one", alice, newPeer(), "tasks/get", `"taskId":"`+id+`"`, both), "-32601", "switched_off")
}

// The joined endpoint has tasks where one of its backends has.
func TestJoinedEndpointAdvertisesTasks(t *testing.T) {
	one, two := &fakeServer{name: "one"}, &fakeServer{name: "two", legacy: true}
	three := &fakeServer{name: "three", refuse: ask.Errorf(ask.BackendUnreachable, "three cannot be reached.")}
	r := newRelay(t, one, two, three)
	discover := func() string {
		m := askModern(r, "", alice, newPeer(), "server/discover", `"x":1`, `{}`)
		return string(wire.Get(m.Raw, m.Result, "capabilities").Of(m.Raw))
	}
	if got := discover(); got != joinedCapabilities {
		t.Errorf("without a backend that has tasks: %s", got)
	}
	one.caps = tasksCaps
	if got := discover(); !era.Extends([]byte(got), era.Tasks) || !strings.HasPrefix(got, strings.TrimSuffix(joinedCapabilities, "}")) {
		t.Errorf("with one: %s", got)
	}
	one.caps = `{"tasks":{}}`
	if got := discover(); got != joinedCapabilities {
		t.Errorf("with the tasks of the other era: %s", got)
	}
}

// Tasks do not cross between the eras: a legacy backend is told of none and
// asked for none.
func TestTasksDoNotCross(t *testing.T) {
	seen := make(chan string, 4)
	old := &fakeServer{name: "old", legacy: true, serve: func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		seen <- string(msg.Field(msg.Params))
		news := scan(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"x","status":"working"}}`)
		sink.Notify(&news)
		return okTo(msg, `{"content":[]}`), nil
	}}
	r := newRelay(t, old)
	defer r.Close()
	peer := newPeer()
	caps := `{"tasks":{"list":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{},"v/x":{"n":1.10}}}`
	if m := askModern(r, "old", alice, peer, "tools/call", `"name":"t","task":{"ttl":1},"v":1.10`, caps); string(m.Field(m.Result)) != `{"resultType":"complete","content":[]}` {
		t.Errorf("the result is %s", m.Raw)
	}
	if got := <-seen; got != `{"_meta":{},"name":"t","v":1.10}` {
		t.Errorf("the backend got %s", got)
	}
	if got := string(old.opened[0].Params); !strings.Contains(got, `"capabilities":{"roots":{},"extensions":{"v/x":{"n":1.10}}}`) {
		t.Errorf("the handshake was %s", got)
	}
	if n := len(peer.notified); n != 0 {
		t.Errorf("the client was told of a task: %s", <-peer.notified)
	}
	id := (&round{relay: r, who: alice.Principal}).sealTask("old", "x")
	wantFailure(t, "tasks/get", askModern(r, "old", alice, peer, "tasks/get", `"taskId":"`+id+`"`, caps), "-32601", "unknown_method")
	if len(seen) != 0 {
		t.Errorf("the backend got %s", <-seen)
	}
}
