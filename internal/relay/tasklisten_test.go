package relay

import (
	"context"
	"fmt"
	"testing"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// newsServer creates tasks of the id given. A subscription there gets its
// filter acknowledged with one more task, then each of the notifications, and
// ends.
func newsServer(name, own string, filters chan<- string, news ...string) *fakeServer {
	s := taskServer(name, own)
	tasks := s.serve
	s.serve = func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		if msg.Method() != "subscriptions/listen" {
			return tasks(ctx, msg, sink)
		}
		filter := string(wire.Get(msg.Raw, msg.Params, "notifications").Of(msg.Raw))
		filters <- name + " " + filter
		tell := func(method, params string) {
			m := scan(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + params + `}}`)
			sink.Notify(&m)
		}
		if ids := wire.Get(msg.Raw, wire.Get(msg.Raw, msg.Params, "notifications"), "taskIds").Of(msg.Raw); string(ids) == `["`+own+`"]` {
			filter = `{"v":1.10,"taskIds":["` + own + `","unasked"]}`
		}
		tell("notifications/subscriptions/acknowledged", `"notifications":`+filter)
		for _, params := range news {
			tell("notifications/tasks", params)
		}
		return okTo(msg, `{"resultType":"complete"}`), nil
	}
	return s
}

// At a backend's own endpoint a subscription names tasks in the backend's
// ids, and the client hears of those that it named, in its own.
func TestTaskSubscriptionSolo(t *testing.T) {
	filters := make(chan string, 4)
	const asks = `"inputRequests":{"k":{"method":"elicitation/create","params":` + anyForm + `}}`
	r := newRelay(t, newsServer("one", "own", filters,
		`"taskId":"unasked","status":"working"`,
		`"taskId":"own","status":"input_required",`+asks,
		`"taskId":"own","taskId":"own","status":"working"`,
		`"taskId":"own","status":"completed","result":{"taskId":"own","n":1.10}`,
	), taskServer("two", "own"))
	id, foreign := create(t, r, "one", "t"), create(t, r, "two", "t")
	peer := newPeer()
	listen := func(who, caps string) wire.Message {
		as := alice
		as.Subject = who
		return askModern(r, "one", as, peer, "subscriptions/listen", `"notifications":{"v":1.10, "taskIds":["`+id+`","own","`+foreign+`",7]}`, caps)
	}
	if m := listen("alice", tasksCaps); m.Kind != wire.Result {
		t.Fatalf("the subscription ended with %s", m.Raw)
	}
	want(t, filters, `one {"v":1.10, "taskIds":["own"]}`)
	want(t, peer.notified, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"v":1.10,"taskIds":["`+id+`"]}}}`)
	want(t, peer.notified, `{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"`+id+`","status":"completed","result":{"taskId":"own","n":1.10}}}`)
	none(t, peer.notified)

	if m := listen("alice", `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`); m.Kind != wire.Result {
		t.Fatalf("the subscription ended with %s", m.Raw)
	}
	<-filters
	<-peer.notified
	want(t, peer.notified, `{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"`+id+`","status":"input_required",`+asks+`}}`)
	<-peer.notified

	if m := listen("mallory", tasksCaps); m.Kind != wire.Result {
		t.Fatalf("the subscription ended with %s", m.Raw)
	}
	want(t, filters, `one {"v":1.10, "taskIds":[]}`)
	want(t, peer.notified, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"v":1.10, "taskIds":[]}}}`)
	none(t, peer.notified)
}

// A subscription to tasks is refused where the extension is not declared, and
// where a backend might read another list than the gateway did.
func TestTaskSubscriptionRefused(t *testing.T) {
	filters := make(chan string, 4)
	r := newRelay(t, newsServer("one", "own", filters), newsServer("two", "own", filters))
	for _, at := range []string{"", "one"} {
		m := askModern(r, at, alice, newPeer(), "subscriptions/listen", `"notifications":{"taskIds":[]}`, `{}`)
		wantFailure(t, "not declared", m, "-32021", "missing_capability")
		for _, params := range []string{
			`"notifications":{"taskIds":["own"],"taskIds":[]}`, `"notifications":{"TaskIds":["own"]}`,
			`"notifications":{"taskIds":["own"]},"notifications":{}`, `"Notifications":{"taskIds":["own"]}`,
		} {
			m := askModern(r, at, alice, newPeer(), "subscriptions/listen", params, tasksCaps)
			wantFailure(t, params, m, "-32600", "ambiguous_message")
		}
	}
	none(t, filters)
}

// At the joined endpoint each backend gets its own tasks, and tasks of the
// same id at two backends are told apart.
func TestTaskSubscriptionJoined(t *testing.T) {
	filters := make(chan string, 4)
	news := func(name string) string { return `"taskId":"same","status":"completed","by":"` + name + `"` }
	r := newRelay(t, newsServer("one", "same", filters, news("one"), `"taskId":"unasked"`), newsServer("two", "same", filters, news("two")))
	first, second := create(t, r, "", "one__t"), create(t, r, "", "two__t")
	peer := newPeer()
	m := askModern(r, "", alice, peer, "subscriptions/listen", `"notifications":{"taskIds":["`+first+`","`+second+`","x"],"resourceSubscriptions":[]}`, tasksCaps)
	if m.Kind != wire.Result {
		t.Fatalf("the subscription ended with %s", m.Raw)
	}
	got := map[string]bool{<-filters: true, <-filters: true}
	for _, name := range []string{"one", "two"} {
		if !got[name+` {"taskIds":["same"],"resourceSubscriptions":[]}`] {
			t.Errorf("the backends got %v", got)
		}
	}
	ack := scan(<-peer.notified)
	agreed := wire.Get(ack.Raw, ack.Params, "notifications").Of(ack.Raw)
	if a, b := fmt.Sprintf(`{"taskIds":["%s","%s"]}`, first, second), fmt.Sprintf(`{"taskIds":["%s","%s"]}`, second, first); string(agreed) != a && string(agreed) != b {
		t.Errorf("the acknowledgement is %s", agreed)
	}
	told := map[string]bool{<-peer.notified: true, <-peer.notified: true}
	for name, id := range map[string]string{"one": first, "two": second} {
		if !told[`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"`+id+`","status":"completed","by":"`+name+`"}}`] {
			t.Errorf("the client heard %v", told)
		}
	}
	none(t, peer.notified)
}

func want(t *testing.T, from <-chan string, what string) {
	t.Helper()
	select {
	case got := <-from:
		if got != what {
			t.Errorf("got  %s\nwant %s", got, what)
		}
	default:
		t.Fatalf("nothing came, want %s", what)
	}
}

func none(t *testing.T, from <-chan string) {
	t.Helper()
	select {
	case got := <-from:
		t.Errorf("something came that should not: %s", got)
	default:
	}
}
