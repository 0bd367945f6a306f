//go:build worlds

package worlds

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

// modern is a call of a modern client: rounds, each a request of its own.
func (c *call) modern(ctx context.Context) (string, error) {
	life := c.client.world.site.life()
	m, err := c.round(ctx, "")
	if err != nil {
		return "", errUnsent
	}
	for m.Error == nil && m.Result.ResultType == "input_required" {
		state, err := json.Marshal(m.Result.RequestState)
		if err != nil {
			return "", err
		}
		rest := `,"requestState":` + string(state)
		if key := c.inputs(m); key != "" || c.backend == keyedKind {
			answer, err := c.decide(ctx, key)
			if err != nil {
				return "", err
			}
			switch answer {
			case cancelCall:
				return "", errUnsent // a modern client cancels by not coming back
			case "": // it has ended elsewhere, or cannot be answered: look again
				if err := c.client.world.pause(ctx); err != nil {
					return "", err
				}
			default:
				answers := map[string]json.RawMessage{}
				for name := range m.Result.InputRequests {
					answers[name] = json.RawMessage(c.result(answer))
				}
				raw, err := json.Marshal(answers)
				if err != nil {
					return "", err
				}
				rest += `,"inputResponses":` + string(raw)
			}
		}
		for {
			if m, err = c.round(ctx, rest); err == nil {
				break
			}
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			if c.client.world.site.life() == life {
				if c.client.world.pause(ctx) != nil {
					return "", ctx.Err()
				}
			} else if life, err = c.client.world.site.next(ctx, life); err != nil {
				return "", err
			}
		}
	}
	return m.outcome(), nil
}

// inputs notes the question of a round. Where the client is sent away with it,
// that is a promise that it waits.
func (c *call) inputs(m *message) string {
	for _, q := range m.Result.InputRequests {
		key := keyIn(q.Params.Message)
		if key != "" {
			c.client.world.book.keep(key)
		}
		c.know(key, idIn(q.Params.URL), q.Params.URL)
		c.client.world.trace("call %d is asked %q", c.n, q.Params.Message)
		c.client.world.book.change(func() {})
		return key
	}
	return ""
}

// decide waits for the client's own answer, or until the question has ended
// elsewhere, which gives "".
func (c *call) decide(ctx context.Context, key string) (string, error) {
	for {
		over, changed := c.client.world.book.is(func() bool {
			if c.backend == keyedKind {
				return c.client.world.book.calls[c.n].runs > 0 || c.client.world.closing
			}
			// A question that passes is the client's own: a retry without an answer
			// would be a new call of the tool.
			q := c.client.world.book.questions[key]
			return q == nil || q.done() && !passes(c.client.kind, c.backend)
		})
		if over {
			return "", nil
		}
		select {
		case answer := <-c.own:
			return answer, nil
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func (c *call) round(ctx context.Context, rest string) (*message, error) {
	modes := `"form":{}`
	if c.backend == keyedKind {
		modes = `"url":{}`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"world","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{%s}}},"name":%q,"arguments":%s%s}}`, c.client.id(), modes, c.tool(), c.args, rest)
	s, err := newStream(c.client.request(ctx, http.MethodPost, c.door("/mcp"), body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", c.tool()))
	if err != nil {
		return nil, err
	}
	defer s.body.Close()
	for {
		m, err := s.next()
		if err != nil || m.final() {
			return m, err
		}
	}
}

// event is what a front end reads of an event.
type event struct {
	Type, CallID, ID, Mode, Message, URL, Code string
	Result                                     struct {
		IsError bool
		Content []struct{ Text string }
	}
}

// events is a call of a chat front end.
func (c *call) events(ctx context.Context) (string, error) {
	life := c.client.world.site.life()
	id, last := "", ""
	for {
		var s *stream
		var err error
		if id == "" {
			s, err = newStream(c.client.request(ctx, http.MethodPost, c.door("/events")+"/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, c.tool(), c.args),
				"X-Supports-Elicitation", "true", "Idempotency-Key", fmt.Sprintf("call-%d", c.n)))
		} else {
			s, err = newStream(c.client.request(ctx, http.MethodGet, "/events/calls/"+id, "", "Last-Event-ID", last))
		}
		if err == nil && s.sse == nil {
			return "refused: " + tail(string(s.one), 200), nil
		}
		if err == nil {
			var outcome string
			outcome, err = c.feed(ctx, s, &id)
			if s.last != "" {
				last = s.last
			}
			s.body.Close()
			if err == nil {
				return outcome, nil
			}
		}
		if _, refused := err.(statusError); refused || err == errUnsent || ctx.Err() != nil {
			return "", err
		}
		if c.client.world.site.life() == life {
			if c.client.world.pause(ctx) != nil {
				return "", ctx.Err()
			}
		} else if life, err = c.client.world.site.next(ctx, life); err != nil {
			return "", err
		}
	}
}

// feed reads the events of one connection.
func (c *call) feed(ctx context.Context, s *stream, id *string) (string, error) {
	type got struct {
		e   event
		err error
	}
	events := make(chan got)
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(events)
		for {
			var g got
			raw, err := s.event()
			if g.err = err; err == nil {
				g.err = json.Unmarshal(raw, &g.e)
			}
			select {
			case events <- g:
			case <-ctx.Done():
				return
			}
			if g.err != nil {
				return
			}
		}
	}()
	defer func() {
		s.body.Close()
		stop()
		for range events {
		}
	}()
	ask := ""
	for {
		own := c.own
		if ask == "" {
			own = nil
		}
		select {
		case g, open := <-events:
			if !open {
				return "", ctx.Err()
			}
			if g.err != nil {
				return "", g.err
			}
			switch g.e.Type {
			case "call-started":
				*id = g.e.CallID
			case "elicitation-request":
				ask = g.e.ID
				c.shown(g.e.Message, g.e.URL, g.e.ID)
			case "tool-result":
				if len(g.e.Result.Content) == 0 {
					return "nothing", nil
				}
				if g.e.Result.IsError {
					return "error: " + g.e.Result.Content[0].Text, nil
				}
				return g.e.Result.Content[0].Text, nil
			case "error":
				return "error: " + g.e.Code + " " + g.e.Message, nil
			}
		case answer := <-own:
			path, body := "/respond", fmt.Sprintf(`{"type":"elicitation-response","id":%q,%s`, ask, strings.TrimPrefix(c.result(answer), "{"))
			if answer == cancelCall {
				path, body = "/cancel", ""
			}
			resp, err := c.client.request(ctx, http.MethodPost, "/events/calls/"+*id+path, body)
			if err == nil {
				resp.Body.Close()
			}
			if answer == cancelCall {
				return "", errUnsent
			}
		}
	}
}

// agent is a call of an A2A client: a task that it looks at until it has
// ended.
func (c *call) agent(ctx context.Context) (string, error) {
	at := a2a.NewAgentInterface(c.client.world.site.base()+c.door("/a2a"), a2a.TransportProtocolJSONRPC)
	ctx = a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{"Authorization": {"Bearer " + c.client.owner.token()}})
	agent, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{at}, a2aclient.WithJSONRPCTransport(c.client.http))
	if err != nil {
		return "", err
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(c.args), &args); err != nil {
		return "", err
	}
	r, err := agent.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": c.tool(), "arguments": args}))})
	if err != nil {
		return "", errUnsent
	}
	task, ok := r.(*a2a.Task)
	if !ok {
		return "", fmt.Errorf("a message came in place of a task")
	}
	id, context := task.ID, task.ContextID
	asked := ""
	for !task.Status.State.Terminal() {
		raw, _ := json.Marshal(task.Status)
		if key := keyIn(string(raw)); key != "" && key != asked && task.Status.State == a2a.TaskStateInputRequired {
			asked = key
			c.client.world.book.keep(key)
			c.shown(string(raw), "", "")
		} else if asked == "" && c.backend == keyedKind && strings.Contains(string(raw), "/asks/") {
			asked = "account"
			c.know("", idIn(string(raw)), idLink(string(raw)))
			c.client.world.book.change(func() {})
		}
		own := c.own
		if asked == "" {
			own = nil
		}
		select {
		case answer := <-own:
			if answer == cancelCall {
				_, _ = agent.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
				return "", errUnsent
			}
			data := map[string]any{"value": answer}
			if answer == "decline" {
				data = map[string]any{"action": "decline"}
			}
			m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(data))
			m.TaskID, m.ContextID = id, context
			_, _ = agent.SendMessage(ctx, &a2a.SendMessageRequest{Message: m}) // what came of it shows in the task
		case <-c.client.world.soon():
		case <-ctx.Done():
			return "", ctx.Err()
		}
		now, err := agent.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err == nil {
			task = now
		} else if strings.Contains(err.Error(), "not found") {
			return "", err
		}
	}
	raw, err := json.Marshal(task)
	if err != nil {
		return "", err
	}
	if m := acceptedIn.FindString(string(raw)); m != "" {
		return m, nil
	}
	return "error: " + string(task.Status.State) + " " + tail(string(raw), 200), nil
}
