package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// holder is a call that the gateway holds while its client is asked: as the
// relay does, it keeps a client that stays until what is asked changes.
type holder struct {
	mu      sync.Mutex
	open    map[string]string // params by key
	changed chan struct{}     // has room for one
	final   string            // the text of the result
	ended   []ask.Code        // why it was given up
	got     []string          // the answers
	rounds  int
}

func newHolder(key, params string) *holder {
	return &holder{open: map[string]string{key: params}, changed: make(chan struct{}, 1)}
}

// settle is what happens elsewhere: another question, or the result.
func (h *holder) settle(key, params, final string) {
	h.mu.Lock()
	h.open, h.final = map[string]string{}, final
	if key != "" {
		h.open[key] = params
	}
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

func (h *holder) serve(c *served) contract.Response {
	h.mu.Lock()
	h.rounds++
	for m := range wire.Members(c.msg.Raw, c.msg.InputResponses) {
		key, _ := wire.Unquote(m.Key.Of(c.msg.Raw))
		if h.open[key] != "" {
			delete(h.open, key)
			h.got = append(h.got, string(m.Value.Of(c.msg.Raw)))
		}
	}
	h.mu.Unlock()
	patient, _ := c.peer.(contract.Patient)
	var back <-chan struct{}
	var knows []string
	if patient != nil {
		back, knows = patient.Back(), patient.Asked()
	}
	for {
		h.mu.Lock()
		var keys, inputs []string
		for k, p := range h.open {
			keys, inputs = append(keys, k), append(inputs, input(k, p))
		}
		final := h.final
		if len(keys) == 0 && final == "" && len(h.got) > 0 {
			final = strings.Join(h.got, " ")
		}
		h.mu.Unlock()
		slices.Sort(keys)
		slices.Sort(knows)
		switch {
		case c.ctx.Err() != nil:
		case len(keys) == 0 && final != "":
			return text(final)
		case !slices.Equal(keys, knows):
			return held(wants("held", strings.Join(inputs, ",")))
		}
		select {
		case <-h.changed:
		case <-back:
			return held(wants("held", strings.Join(inputs, ",")))
		case <-c.ctx.Done():
			h.mu.Lock()
			h.ended = append(h.ended, ask.CodeOf(context.Cause(c.ctx)))
			h.mu.Unlock()
			return body(`"error":{"code":-32000,"message":"ended","data":{"reason":"client_cancelled"}}`)
		}
	}
}

func (h *holder) whyEnded() []ask.Code {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ended)
}

// asking serves a form, then an address, then the result, as a modern server
// does: each round is a call of its own.
func asking() *fakeGateway {
	h := newHolder("q1", nameForm)
	return &fakeGateway{serve: map[string]func(*served) contract.Response{
		"form": func(c *served) contract.Response {
			if c.state() == "" {
				return wants("one", input("k", nameForm))
			}
			return text(c.state() + c.answers())
		},
		"twice": func(c *served) contract.Response {
			switch c.state() {
			case "":
				return wants("one", input("k", nameForm))
			case "one":
				return wants("two", input("k", urlAsk))
			}
			return text(c.state() + c.answers())
		},
		"both": func(c *served) contract.Response {
			if c.state() == "" {
				return wants("one", input("a", nameForm)+","+input("b", twoForm))
			}
			return text(c.answers())
		},
		"held": h.serve,
	}}
}

// TestForm: a form is input-required, with who asks and until when; what the
// next message says reaches the server as it is, in each way to say it.
func TestForm(t *testing.T) {
	for name, c := range map[string]struct {
		part *a2a.Part
		want string
	}{
		"action and content": {data(`{"action":"accept","content":{"name":"Ann"}}`), `one{"k":{"action":"accept","content":{"name":"Ann"}}}`},
		"with its id":        {data(`{"id":"1.k","content":{"name":"Ann"}}`), `one{"k":{"action":"accept","content":{"name":"Ann"}}}`},
		"bare content":       {data(`{"name":"Ann"}`), `one{"k":{"action":"accept","content":{"name":"Ann"}}}`},
		"text":               {a2a.NewTextPart("Ann"), `one{"k":{"action":"accept","content":{"name":"Ann"}}}`},
		"decline":            {data(`{"action":"decline"}`), `one{"k":{"action":"decline"}}`},
		"cancel":             {data(`{"action":"cancel"}`), `one{"k":{"action":"cancel"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, asking, nil, func(t *testing.T, k *kit) {
				task := k.want(k.say(nil, toolPart("form")), a2a.TaskStateInputRequired, "one asks, in the tool form: Your name?")
				q := asked(t, task)
				if len(q) != 1 || q[0].ID != "1.k" || q[0].Backend != "one" || q[0].Tool != "form" || q[0].Mode != "form" ||
					!strings.Contains(string(q[0].RequestedSchema), "minLength") || time.Until(q[0].Deadline) < time.Minute {
					t.Errorf("the question is %+v", q)
				}
				task = k.want(k.say(task, c.part), a2a.TaskStateCompleted, c.want)
				if h := task.History; len(h) != 3 || h[0].Role != a2a.MessageRoleUser || h[1].Role != a2a.MessageRoleAgent || h[2].Role != a2a.MessageRoleUser {
					t.Errorf("the history is %v", h)
				}
			})
		})
	}
}

// TestFormThatDoesNotFit: an answer that does not fit is not passed on. The
// question comes back with what is wrong, in words and as data, a few times.
func TestFormThatDoesNotFit(t *testing.T) {
	both(t, asking, nil, func(t *testing.T, k *kit) {
		task := k.say(nil, toolPart("form"))
		task = k.want(k.say(task, data(`{"name":"A"}`)), a2a.TaskStateInputRequired, "name: ")
		if q := asked(t, task); len(q[0].Errors) != 1 || q[0].Errors[0].Field != "name" || q[0].Attempts == nil || q[0].Attempts.Count != 1 {
			t.Errorf("the question is %+v", q)
		}
		k.want(k.say(task, data(`{"action":"maybe"}`)), a2a.TaskStateInputRequired, "accept, decline or cancel")
		k.want(k.say(task, data(`{"id":"9.k","action":"accept"}`)), a2a.TaskStateInputRequired)
		if n := k.g.count(); n != 1 {
			t.Errorf("the server was called %d times", n)
		}
		k.want(k.say(task, data(`{"name":"Ann"}`)), a2a.TaskStateCompleted, `"name":"Ann"`)

		task = k.say(nil, toolPart("held"))
		for range 3 {
			k.want(k.say(task, data(`{"name":"A"}`)), a2a.TaskStateInputRequired)
		}
		k.want(k.say(task, data(`{"name":"A"}`)), a2a.TaskStateFailed, "too many")
	})
}

// TestRounds: what is asked after an answer is asked in the same task; several
// questions of one round are answered together, or one after the other.
func TestRounds(t *testing.T) {
	both(t, asking, nil, func(t *testing.T, k *kit) {
		task := k.say(nil, toolPart("twice"))
		task = k.want(k.say(task, a2a.NewTextPart("Ann")), a2a.TaskStateAuthRequired, "https://example.com/c")
		if q := asked(t, task); q[0].URL != "https://example.com/c" || q[0].Mode != "url" {
			t.Errorf("the question is %+v", q)
		}
		k.want(k.say(task, data(`{"action":"accept"}`)), a2a.TaskStateCompleted, `two{"k":{"action":"accept"}}`)

		task = k.want(k.say(nil, toolPart("both")), a2a.TaskStateInputRequired, "Your name?", "Who?")
		k.want(k.say(task, a2a.NewTextPart("Ann")), a2a.TaskStateInputRequired)
		task = k.want(k.say(task, data(`{"id":"1.a","content":{"name":"Ann"}}`)), a2a.TaskStateInputRequired, "Who?")
		if q := asked(t, task); len(q) != 1 || q[0].ID != "1.b" {
			t.Errorf("what is left is %+v", q)
		}
		k.want(k.say(task, data(`{"name":"Ben","n":"7"}`)), a2a.TaskStateCompleted,
			`{"a":{"action":"accept","content":{"name":"Ann"}},"b":{"action":"accept","content":{"name":"Ben","n":7}}}`)

		task = k.say(nil, toolPart("both"))
		k.want(k.say(task, data(`{"id":"1.a","content":{"name":"Ann"}}`), data(`{"id":"1.b","action":"decline"}`)), a2a.TaskStateCompleted, `"b":{"action":"decline"}`)
	})
}

// TestHeld: a task whose call the gateway holds goes on by itself when its
// question was answered elsewhere, and takes an answer of its client too. Its
// waiting runs nothing.
func TestHeld(t *testing.T) {
	both(t, asking, nil, func(t *testing.T, k *kit) {
		h := newHolder("q1", urlAsk)
		k.g.serve["page"] = h.serve
		task := k.want(k.say(nil, toolPart("page")), a2a.TaskStateAuthRequired, "https://example.com/c")
		h.settle("q2", nameForm, "")
		k.until(task.ID, a2a.TaskStateInputRequired)
		h.settle("", "", "done elsewhere")
		k.want(k.until(task.ID, a2a.TaskStateCompleted), a2a.TaskStateCompleted, "done elsewhere")
		if len(h.got) != 0 {
			t.Errorf("somebody was answered for: %v", h.got)
		}

		h = newHolder("q1", nameForm)
		k.g.serve["page"] = h.serve
		task = k.say(nil, toolPart("page"))
		k.want(k.say(task, a2a.NewTextPart("Ann")), a2a.TaskStateCompleted, `{"action":"accept","content":{"name":"Ann"}}`)

		var states []string
		h = newHolder("q1", urlAsk)
		k.g.serve["page"] = h.serve
		for e, err := range k.SendStreamingMessage(as(t, "alice"), message(nil, toolPart("page"))) {
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, describe(e))
			if strings.Contains(describe(e), "TASK_STATE_AUTH_REQUIRED") { // the task itself may say so already
				h.settle("", "", "after the page")
			}
		}
		if last := states[len(states)-1]; !strings.HasPrefix(last, "TASK_STATE_COMPLETED") {
			t.Errorf("the stream ended with %s", last)
		}
	})
}

// TestCancel: a task that is cancelled while somebody is asked ends its call as
// the client's own doing, and not as anybody's answer.
func TestCancel(t *testing.T) {
	both(t, asking, nil, func(t *testing.T, k *kit) {
		h := newHolder("q1", nameForm)
		k.g.serve["page"] = h.serve
		task := k.say(nil, toolPart("page"))
		got, err := k.CancelTask(as(t, "alice"), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		k.want(got, a2a.TaskStateCanceled)
		if err := k.surface.Drain(as(t, "")); err != nil {
			t.Fatal(err)
		}
		if err := k.surface.Close(as(t, "")); err != nil {
			t.Fatal(err)
		}
		if why := h.whyEnded(); len(why) != 1 || why[0] != ask.ClientCancelled || len(h.got) != 0 {
			t.Errorf("the call ended with %v, and the answers %v", why, h.got)
		}
	})
}

// TestTimeout: a question that nobody answers ends its task when its time is
// up.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kit{t: t, g: asking(), shelf: &memShelf{values: map[string][]byte{}}}
		s := k.bare()
		ctx := context.WithValue(context.Background(), visitKey{}, visit{at: "one", who: contract.Caller{Principal: ask.Principal{Issuer: "test", Subject: "alice"}}, body: []byte(`{"message":{"parts":[{"data":{"tool":"form"}}]}}`)})
		r, err := handler{s}.SendMessage(ctx, message(nil, toolPart("form")))
		if err != nil {
			t.Fatal(err)
		}
		id := r.(*a2a.Task).ID
		time.Sleep(time.Hour - time.Second)
		if now, _ := (handler{s}).GetTask(ctx, &a2a.GetTaskRequest{ID: id}); now.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("before its time is up the task is %s", now.Status.State)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		now, _ := handler{s}.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		k.want(now, a2a.TaskStateFailed, "not answered in time")
		time.Sleep(24 * time.Hour)
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestReadAnswers: what tells an envelope from a form's own fields.
func TestReadAnswers(t *testing.T) {
	odd := question{ID: "1.k", Key: "k", Mode: modeForm, Schema: json.RawMessage(`{"type":"object","properties":{"action":{"type":"string"}},"required":["action"]}`)}
	for name, c := range map[string]struct{ in, want string }{
		"a field named action":          {`{"action":"decline"}`, `{"action":"accept","content":{"action":"decline"}}`},
		"an envelope by its id":         {`{"id":"1.k","action":"decline"}`, `{"action":"decline"}`},
		"content with a field's name":   {`{"id":"1.k","action":"accept","content":{"action":"x"}}`, `{"action":"accept","content":{"action":"x"}}`},
		"content that is not an object": {`{"id":"1.k","content":[1]}`, ""},
		"a decline with content":        {`{"id":"1.k","action":"decline","content":{}}`, ""},
	} {
		given, err := answers([]*a2a.Part{data(c.in)}, []question{odd})
		var m *misfit
		if got := string(given["1.k"]); got != c.want && (c.want != "" || !errors.As(err, &m)) {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}
