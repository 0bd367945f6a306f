package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// puts serves calls that put one question each, changed as the test likes, and
// whose result is what the question was answered with.
func puts(method, params string, change ...func(*contract.Question)) func(context.Context, *wire.Message, contract.Sink) (string, error) {
	return func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		q, replies, _ := newQuestion(method, params)
		for _, c := range change {
			c(q)
		}
		sink.Question(q)
		select {
		case reply := <-replies:
			return okTo(msg, `{"reply":`+reply+`}`), nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// counting counts what is refused.
type counting struct {
	mu      sync.Mutex
	refused []ask.Code
}

func (c *counting) Call(CallStats) {}

func (c *counting) Refused(code ask.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = append(c.refused, code)
}

// What is no question to a person is answered by the gateway itself: a ping at
// once, a method that it does not know with an error, which is counted.
func TestRequestsThatAreNoQuestions(t *testing.T) {
	for method, want := range map[string]string{
		"ping":       `{"reply":{}}`,
		"vendor/ask": `"reason":"unknown_method"`,
	} {
		r := newRelay(t, &fakeServer{name: "f", serve: puts(method, `{}`)})
		seen := &counting{}
		r.observe = seen
		peer := newPeer()
		wants(t, method, string(send(openSession(t, r, peer), peer, toolCall).Raw), want)
		if len(peer.shown) != 0 {
			t.Errorf("%s reached the client", method)
		}
		if refused := fmt.Sprint(seen.refused); refused != map[string]string{"ping": "[]", "vendor/ask": "[unknown_method]"}[method] {
			t.Errorf("%s: counted %s", method, refused)
		}
	}
}

// Without a desk every question is refused, a backend is told of no more than
// the client declared, and an answer is for nothing.
func TestQuestionsSwitchedOff(t *testing.T) {
	r := newRelay(t, &fakeServer{name: "f", serve: puts("elicitation/create", anyForm)})
	r.desk, r.pages = nil, anyPage{}
	peer := newPeer()
	s := openSession(t, r, peer)
	wants(t, "the reply", string(send(s, peer, toolCall).Raw), `"code":-32601`, `"reason":"switched_off"`)
	if told := r.told(r.table.Load().byName["f"], alice.Principal, era.Caps{}, era.LatestLegacy); told.Form || told.URL {
		t.Errorf("the backend was told %+v", told)
	}
	msg := scan(`{"jsonrpc":"2.0","id":"x","result":{}}`)
	if err := s.Answer(&msg); ask.CodeOf(err) != ask.Unknown {
		t.Errorf("an answer: %v", err)
	}
}

// What a form may not show is refused where there is no page for it, by the
// rules of its backend, and a definition that is none.
func TestQuestionsThatTheRulesRefuse(t *testing.T) {
	for name, tt := range map[string]struct {
		params, want string
		rules        func(*Entry)
	}{
		"a secret without a page":    {asksPassword, `"reason":"asks_for_secret"`, func(*Entry) {}},
		"a secret that is forbidden": {asksPassword, `"reason":"asks_for_secret"`, func(e *Entry) { e.Secrets = RefuseSecrets }},
		"a bad definition":           {`{"formDefinition":{"id":"f","title":"T","fields":[{"id":"a","type":"none","label":"A"}]}}`, `"reason":"bad_schema"`, func(*Entry) {}},
		"an odd schema":              {oddSchema, `"reason":"bad_schema"`, func(*Entry) {}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(t, &fakeServer{name: "f", serve: puts("elicitation/create", tt.params)})
			tt.rules(&r.table.Load().entries[0])
			peer := newPeer()
			wants(t, "the reply", string(send(openSession(t, r, peer), peer, toolCall).Raw), tt.want)
			if len(peer.shown) != 0 {
				t.Error("it reached the client")
			}
		})
	}
}

const oddSchema = `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`

// A form that MCP does not allow is passed on where the backend's rules say
// so, and put on record where they say that.
func TestOddSchemasArePassedOn(t *testing.T) {
	for rule, noted := range map[Schemas]ask.Code{WarnOfSchemas: ask.BadSchema, PassSchemas: ""} {
		r := newRelay(t, &fakeServer{name: "f", serve: puts("elicitation/create", oddSchema)})
		e := &r.table.Load().entries[0]
		e.Schemas = rule
		if p, err := r.pose(e, ask.Form, []byte(oddSchema)); err != nil || p.note != noted {
			t.Errorf("rule %d: noted %q, %v", rule, p.note, err)
		}
		peer := newPeer()
		s := openSession(t, r, peer)
		go func() { answer(t, s, <-peer.shown, `{"action":"decline"}`) }()
		wants(t, "the reply", string(send(s, peer, toolCall).Raw), `"decline"`)
	}
}

// A question of the gateway's own is asked whatever the client declared for
// servers, and its asker hears when it is over.
func TestGatewayAsksForItself(t *testing.T) {
	ended := make(chan struct{})
	r := newRelay(t, &fakeServer{name: "f", serve: puts("elicitation/create", `{"message":"m","url":"https://gw.example/connect"}`, func(q *contract.Question) {
		q.Kind, q.Over = ask.Connect, func() { close(ended) }
	})})
	r.pages = anyPage{}
	peer := newPeer()
	s, _ := openWith(t, r, peer, linkCaps)
	defer over(s)
	done := make(chan wire.Message, 1)
	go func() { done <- send(s, peer, toolCall) }()
	a := <-peer.shown
	if a.Kind != ask.Connect {
		t.Errorf("the kind is %v", a.Kind)
	}
	answer(t, s, a, `{"action":"decline"}`)
	wants(t, "the reply", string((<-done).Raw), `"decline"`)
	<-ended
}

// A question that comes after its client has cancelled the call is refused.
func TestQuestionOfACancelledCall(t *testing.T) {
	replies := make(chan string, 1)
	started := make(chan struct{})
	r := newRelay(t, &fakeServer{name: "f", serve: func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		close(started)
		<-ctx.Done()
		q, got, _ := newQuestion("elicitation/create", anyForm)
		sink.Question(q)
		replies <- <-got
		return "", context.Cause(ctx)
	}})
	peer := newPeer()
	s := openSession(t, r, peer)
	done := make(chan wire.Message, 1)
	go func() { done <- send(s, peer, toolCall) }()
	<-started
	cancel := scan(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	s.Notify(context.Background(), &cancel)
	wants(t, "the reply", <-replies, `"reason":"client_cancelled"`)
	<-done
	if len(peer.shown) != 0 {
		t.Error("the client was asked about a call that it cancelled")
	}
}

// One question too many is refused at once; the others stay open and each gets
// its own answer.
func TestOneQuestionTooMany(t *testing.T) {
	const most = 100 // of newRelay's desk, in one session
	var replies []<-chan string
	asked, leave := make(chan struct{}), make(chan struct{})
	r := newRelay(t, &fakeServer{name: "f", serve: func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		for i := range most + 1 {
			q, got, _ := newQuestion("elicitation/create", fmt.Sprintf(`{"message":"m%d","requestedSchema":{"type":"object","properties":{}}}`, i))
			replies = append(replies, got)
			sink.Question(q)
		}
		close(asked)
		<-leave
		return okTo(msg, `{}`), nil
	}})
	peer := newPeer()
	peer.shown = make(chan ask.Ask, most)
	peer.withdrawn = make(chan string, most)
	s := openSession(t, r, peer)
	done := make(chan wire.Message, 1)
	go func() { done <- send(s, peer, toolCall) }()
	<-asked
	wants(t, "the last", <-replies[most], `"reason":"too_many_open"`)
	for range 2 {
		a := <-peer.shown
		var n int
		fmt.Sscanf(string(a.Params), `{"message":"m%d"`, &n)
		answer(t, s, a, fmt.Sprintf(`{"action":"accept","content":{"n":%d}}`, n))
		wants(t, "an answer", <-replies[n], fmt.Sprintf(`{"n":%d}`, n))
	}
	close(leave)
	<-done
}

// A backend that takes its question back, or that is lost, ends it at the
// client. Only one that is there is told.
func TestBackendTakesItsQuestionBack(t *testing.T) {
	for code, ending := range map[ask.Code]ask.Ending{ask.BackendWithdrew: ask.Withdrawn, ask.BackendLost: ask.Abandoned} {
		synctest.Test(t, func(t *testing.T) {
			replied := make(chan string, 1)
			why := ask.Errorf(code, "It has gone.")
			r := newRelay(t, &fakeServer{name: "f", serve: func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
				gone, end := context.WithCancelCause(ctx)
				sink.Question(&contract.Question{
					Method: "elicitation/create", Params: []byte(anyForm), Gone: gone,
					Reply: func(ctx context.Context, _, errObj []byte) error {
						replied <- string(errObj)
						return context.Cause(ctx)
					},
				})
				synctest.Wait()
				end(why)
				synctest.Wait()
				return okTo(msg, `{}`), nil
			}})
			if got := endingOf(endedBy(why)); got != ending {
				t.Errorf("%s ends it as %v", code, got)
			}
			peer := newPeer()
			s := openSession(t, r, peer)
			send(s, peer, toolCall)
			if a := <-peer.shown; a.ID != <-peer.withdrawn {
				t.Error("another question was withdrawn")
			}
			if told := len(replied) > 0; told != (code == ask.BackendLost) {
				t.Errorf("%s: the backend was answered: %v", code, told)
			}
		})
	}
}

func endedBy(why error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	return ctx
}

// Progress that cannot be delivered is tried again in its time, and what comes
// after the answer says nothing.
func TestProgressThatIsNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := 0
		r := newRelay(t, &fakeServer{name: "f", serve: puts("elicitation/create", anyForm, func(q *contract.Question) {
			q.Progress = func(context.Context, int) error { heard++; return errors.New("busy") }
		})})
		peer := newPeer()
		s := openSession(t, r, peer)
		go func() {
			a := <-peer.shown
			time.Sleep(3*thinkEvery - time.Second)
			answer(t, s, a, `{"action":"decline"}`)
		}()
		send(s, peer, toolCall)
		if heard != 2 {
			t.Errorf("it was tried %d times", heard)
		}
		late := &carried{done: true, q: &contract.Question{Progress: func(context.Context, int) error {
			t.Error("progress of a question that has ended")
			return nil
		}}}
		late.stillThinking() // its timer had run out in the moment of the answer
	})
}

// An answer that its backend cannot be brought is not said to have arrived.
func TestAnswerThatIsNotDelivered(t *testing.T) {
	failed := make(chan struct{})
	r := newRelay(t, &fakeServer{name: "f", serve: func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		q, _, _ := newQuestion("elicitation/create", anyForm)
		q.Reply = func(context.Context, []byte, []byte) error { close(failed); return errors.New("broken pipe") }
		sink.Question(q)
		<-failed
		return okTo(msg, `{}`), nil
	}})
	peer := newPeer()
	s := openSession(t, r, peer)
	go func() { answer(t, s, <-peer.shown, `{"action":"accept","content":{}}`) }()
	send(s, peer, toolCall)
	a := asker{relay: r, backend: "f"}
	q, _, _ := newQuestion("elicitation/create", anyForm)
	q.Reply = func(context.Context, []byte, []byte) error { return errors.New("broken pipe") }
	if err := a.reply(q, []byte("{}"), nil); ask.CodeOf(err) != ask.BackendLost {
		t.Errorf("a reply that fails: %v", err)
	}
}

// A client's error is its answer, and reaches the backend as it is.
func TestClientsErrorIsItsAnswer(t *testing.T) {
	r := newRelay(t, &fakeServer{name: "f", serve: puts("sampling/createMessage", `{"messages":[],"maxTokens":1}`)})
	peer := newPeer()
	s := openSession(t, r, peer)
	go func() {
		a := <-peer.shown
		msg := scan(`{"jsonrpc":"2.0","id":"` + a.ID + `","error":{"code":-1,"message":"No, <thank> you","data":{"n":1.10}}}`)
		if err := s.Answer(&msg); err != nil {
			t.Error(err)
		}
	}()
	wants(t, "the reply", string(send(s, peer, toolCall).Raw), `{"code":-1,"message":"No, <thank> you","data":{"n":1.10}}`)
}

const wantsNumber = `{"formDefinition":{"id":"f","title":"T","fields":[{"id":"n","type":"number","label":"N","validation":{"minimum":3}}]}}`

// A client's answer to a form of our own is held to that form, of which it has
// seen no more than MCP can say: what fits is passed on as the form means it,
// what does not is refused by the names of its fields.
func TestClientsAnswerIsHeldToTheForm(t *testing.T) {
	for given, want := range map[string]string{
		`{"action":"accept","content":{"n":3.0}}`: `{"action":"accept","content":{"n":3`,
		`{"action":"accept","content":{"n":2}}`:   `"reason":"form_invalidated"`,
		`{"action":"accept","content":{"n":"x"}}`: `"field":"n"`,
		`{"action":"accept"}`:                     `{"action":"accept","content":{}}`,
		`{"action":"decline"}`:                    `{"action":"decline"}`,
		`{"action":"cancel","x":1}`:               `{"action":"cancel","x":1}`,
	} {
		r := newRelay(t, &fakeServer{name: "f", serve: puts("elicitation/create", wantsNumber)})
		peer := newPeer()
		s := openSession(t, r, peer)
		go func() {
			a := <-peer.shown
			if strings.Contains(string(a.Params), "formDefinition") {
				t.Errorf("the client was shown %s", a.Params)
			}
			answer(t, s, a, given)
		}()
		wants(t, given, string(send(s, peer, toolCall).Raw), want)
	}
}

// Answers count as the client's own by the surface that the call came by.
func TestWhoseAnswerItIs(t *testing.T) {
	events := &Session{surface: "events"}
	for _, tt := range []struct {
		a       asker
		through string
		want    bool
	}{
		{asker{}, contract.MCP, true},
		{asker{}, "page", false},
		{asker{}, "", false},
		{asker{through: "a2a"}, "a2a", true},
		{asker{through: "a2a"}, "page", false},
		{asker{of: events}, "events", true},
		{asker{of: events}, "page", false},
	} {
		if got := tt.a.isClient(tt.through); got != tt.want {
			t.Errorf("%+v by %q: %v", tt.a, tt.through, got)
		}
	}
}

func TestNamesOfClients(t *testing.T) {
	long := strings.Repeat("é", maxClientName)
	for info, want := range map[string]string{
		`{"name":"n","title":"T"}`: "T",
		`{"name":"n","title":""}`:  "n",
		`{"name":7}`:               "",
		`{}`:                       "",
		``:                         "",
		`{"name":"` + long + `"}`:  long[:maxClientName],
	} {
		if got := clientName([]byte(info)); got != want {
			t.Errorf("%.40s is called %q", info, got)
		}
	}
}

// markedPeer is a client that can be found again after a restart.
type markedPeer struct{ *fakePeer }

func (p *markedPeer) Mark() []byte { return []byte("mark") }

// A question that somebody was promised goes on after the gateway stops: its
// backend is told nothing, and neither is its client.
func TestKeptQuestionIsSuspended(t *testing.T) {
	replied := make(chan string, 1)
	r := newRelay(t, &fakeServer{name: "f", serve: func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		q, _, _ := newQuestion("elicitation/create", anyForm)
		q.Resume = []byte("handle")
		q.Reply = func(_ context.Context, result, errObj []byte) error {
			replied <- string(result) + string(errObj)
			return nil
		}
		sink.Question(q)
		<-ctx.Done()
		return "", context.Cause(ctx)
	}})
	r.pages = anyPage{}
	peer := &markedPeer{newPeer()}
	s := openSession(t, r, peer)
	done := make(chan wire.Message, 1)
	go func() { done <- send(s, peer, toolCall) }()
	<-peer.shown
	if n := len(r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 10)); n != 1 {
		t.Fatalf("%d questions wait", n)
	}
	r.desk.Close(context.Background())
	s.Close(context.Background(), ask.Errorf(ask.ShuttingDown, "The gateway stops."))
	if m := <-done; m.Raw != nil {
		t.Errorf("the client was told %s", m.Raw)
	}
	if len(replied) != 0 {
		t.Errorf("the backend was told %s", <-replied)
	}
}
