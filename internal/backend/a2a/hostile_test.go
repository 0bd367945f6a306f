package a2a

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// raw is an agent that answers each method as a test does; the card is a good
// one.
func raw(t *testing.T, streaming bool, answer func(method string, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"name":"raw","version":"1","skills":[{"id":"work","name":"work"}],"capabilities":{"streaming":%v},"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, streaming, srv.URL)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, err := wire.Scan(body, wire.Limits{})
		if err != nil {
			t.Error(err)
		}
		answer(m.Method(), w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

func sendJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", typeJSON)
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1",`+body+`}`)
}

func sendEvents(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", typeStream)
	for _, e := range events {
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"1",`+e+"}\n\n")
	}
}

const okTask = `"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"fine"}]}]}}`

// TestHostileAgents: whatever an agent sends, the call ends, within its
// limits, and says honestly whether it may have run.
func TestHostileAgents(t *testing.T) {
	parts := func(n int, part string) string { return strings.TrimSuffix(strings.Repeat(part+",", n), ",") }
	task := func(inner string) string {
		return `"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},` + inner + `}}`
	}
	deep := strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500)
	for name, each := range map[string]struct {
		answer string
		code   ask.Code
		want   string
	}{
		"control":           {okTask, "", `"fine"`},
		"not JSON":          {`"result":`, ask.OutcomeUnknown, ""},
		"nothing known":     {`"result":{"other":{}}`, ask.OutcomeUnknown, ""},
		"null parts":        {task(`"artifacts":[null,{"artifactId":"a","parts":[null,{"text":"x"}]}],"history":[null]`), "", `"x"`},
		"null status":       {`"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_FAILED","message":null}}}`, "", "isError"},
		"two kinds":         {task(`"artifacts":[{"artifactId":"a","parts":[{"text":"x","url":"http://x"}]}]`), ask.OutcomeUnknown, ""},
		"no id":             {`"result":{"task":{"id":"","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`, ask.BackendBroken, ""},
		"an id with a path": {`"result":{"task":{"id":"../x","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`, ask.BackendBroken, ""},
		"too many artifacts": {task(`"artifacts":[` + func() string {
			var b strings.Builder
			for i := range 300 {
				fmt.Fprintf(&b, `,{"artifactId":"%d","parts":[]}`, i)
			}
			return b.String()[1:]
		}() + `]`), ask.TooLarge, ""},
		"too many parts": {task(`"artifacts":[{"artifactId":"a","parts":[` + parts(5000, `{"text":"x"}`) + `]}]`), ask.TooLarge, ""},
		"too deep":       {task(`"artifacts":[{"artifactId":"a","parts":[{"data":` + deep + `}]}]`), ask.BackendBroken, ""},
		"too large":      {task(`"artifacts":[{"artifactId":"a","parts":[{"text":"` + strings.Repeat("x", 1<<20) + `"}]}]`), ask.TooLarge, ""},
		"an error":       {`"error":{"code":-32602,"message":"Not that."}`, "", "Not that."},
		"bad text":       {task(`"artifacts":[{"artifactId":"a","parts":[{"text":"\ud800 \u0000"}]}]`), "", "content"},
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", name, streaming), func(t *testing.T) {
				url := raw(t, streaming, func(method string, w http.ResponseWriter, _ *http.Request) {
					if streaming && strings.Contains(method, "tream") {
						sendEvents(w, each.answer)
						return
					}
					sendJSON(w, each.answer)
				})
				c := newClient(t, newBackend(t, url, func(cfg *Config) { cfg.Limits.MessageBytes = 512 << 10 }), ann)
				m, err := c.call("work")
				if ask.CodeOf(err) != each.code || !strings.Contains(string(m.Raw), each.want) {
					t.Errorf("%.300s %.300v", m.Raw, err)
				}
			})
		}
	}
}

// TestLostAnswersAreNotAskedForTwice: a message is sent once, and where its
// task is known it is looked at.
func TestLostAnswersAreNotAskedForTwice(t *testing.T) {
	working := `"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`
	done := `"result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"fine"}]}]}`
	cut := func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }
	for name, each := range map[string]struct {
		send, get func(w http.ResponseWriter)
		code      ask.Code
	}{
		"before a word":     {cut, nil, ask.OutcomeUnknown},
		"an empty stream":   {func(w http.ResponseWriter) { sendEvents(w) }, nil, ask.OutcomeUnknown},
		"status 502":        {func(w http.ResponseWriter) { w.WriteHeader(502) }, nil, ask.OutcomeUnknown},
		"status 503":        {func(w http.ResponseWriter) { w.WriteHeader(503) }, nil, ask.BackendUnreachable},
		"status 302":        {func(w http.ResponseWriter) { w.Header().Set("Location", "https://evil.example/"); w.WriteHeader(302) }, nil, ask.BackendUnreachable},
		"status 403":        {func(w http.ResponseWriter) { w.WriteHeader(403) }, nil, ask.BackendUnreachable},
		"HTML":              {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") }, nil, ask.BackendBroken},
		"in the middle":     {func(w http.ResponseWriter) { sendEvents(w, working); w.(http.Flusher).Flush(); cut(w) }, func(w http.ResponseWriter) { sendJSON(w, done) }, ""},
		"and for good":      {func(w http.ResponseWriter) { sendEvents(w, working) }, cut, ask.OutcomeUnknown},
		"JSON for a stream": {func(w http.ResponseWriter) { sendJSON(w, okTask) }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int32
			url := raw(t, true, func(method string, w http.ResponseWriter, _ *http.Request) {
				switch method {
				case "SendStreamingMessage":
					sent.Add(1)
					each.send(w)
				case "GetTask":
					each.get(w)
				default:
					t.Errorf("asked for %s", method)
				}
			})
			c := newClient(t, newBackend(t, url, nil), ann)
			m, err := c.call("work")
			if ask.CodeOf(err) != each.code || each.code == "" && !strings.Contains(string(m.Raw), `"fine"`) {
				t.Errorf("%s %v", m.Raw, err)
			}
			if n := sent.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
	c := newClient(t, newBackend(t, "http://127.0.0.1:1/", nil), ann)
	if _, err := c.call("work"); ask.CodeOf(err) != ask.BackendUnreachable {
		t.Errorf("nobody there: %v", err)
	}
}

// TestAnAnsweredStatusIsNoNewQuestion: an agent that takes a moment to note
// the answer has not asked again; one that stays with its question has.
func TestAnAnsweredStatusIsNoNewQuestion(t *testing.T) {
	const asks = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Why?"}]}}}`
	for _, stays := range []bool{false, true} {
		var looks, sent atomic.Int32
		url := raw(t, false, func(method string, w http.ResponseWriter, _ *http.Request) {
			switch {
			case method == "SendMessage":
				sent.Add(1)
				sendJSON(w, `"result":{"task":`+asks+`}`)
			case stays || looks.Add(1) < 3:
				sendJSON(w, `"result":`+asks)
			default:
				sendJSON(w, `"result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"fine"}]}]}`)
			}
		})
		c := newClient(t, newBackend(t, url, func(cfg *Config) {
			if stays {
				cfg.Limits.Settle = 1
			}
		}), ann)
		_, state := c.asked("work")
		m := c.result("work", state, answers(`{"action":"accept","content":{"answer":"so"}}`))
		if stays {
			question(t, m)
		} else {
			contains(t, "the result", result(m), "fine")
		}
		if n := sent.Load(); n != 2 {
			t.Errorf("%d messages", n)
		}
	}
}

// TestHostileCards: a card that lies, or leads elsewhere, is not used.
func TestHostileCards(t *testing.T) {
	var card atomic.Pointer[string]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved/agent-card.json" {
			http.Redirect(w, r, "https://evil.example/", http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(*card.Load(), "%URL%", "http://"+r.Host))
	}))
	defer srv.Close()
	way := `{"url":"%URL%/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}`
	good := `{"name":"n","version":"1","skills":[],"capabilities":{},"supportedInterfaces":[` + way + `]}`
	for name, each := range map[string]struct{ card, want string }{
		"control":        {good, ""},
		"not JSON":       {"<html>", "not well-formed JSON"},
		"no name":        {strings.Replace(good, `"n"`, `" "`, 1), "no name"},
		"no interface":   {strings.Replace(good, way, "", 1), "offers no JSONRPC or HTTP+JSON"},
		"null interface": {strings.Replace(good, way, "null", 1), "offers no JSONRPC or HTTP+JSON"},
		"old":            {strings.Replace(good, "1.0", "0.3", 1), `only "JSONRPC 0.3"`},
		"gRPC":           {strings.Replace(good, "JSONRPC", "GRPC", 1), `only "GRPC 1.0"`},
		"elsewhere":      {strings.Replace(good, "%URL%", "https://evil.example", 1), "card_origins"},
		"another scheme": {strings.Replace(good, "%URL%", strings.Replace(srv.URL, "http:", "https:", 1), 1), "card_origins"},
		"an extension":   {strings.Replace(good, `"capabilities":{}`, `"capabilities":{"extensions":[{"uri":"x:y","required":true}]}`, 1), "demands the extension"},
		"too large":      {good + strings.Repeat(" ", maxCard), "more than"},
		"too many":       {strings.Replace(good, `"skills":[]`, `"skills":[`+strings.TrimSuffix(strings.Repeat(`{"id":"a"},`, maxSkills+1), ",")+`]`, 1), "more than"},
		"an array":       {`[]`, "not an agent card"},
	} {
		t.Run(name, func(t *testing.T) {
			card.Store(&each.card)
			_, err := newBackend(t, srv.URL, nil).Discover(t.Context(), ann)
			if each.want == "" && err != nil || each.want != "" && (ask.CodeOf(err) != ask.BackendBroken || !strings.Contains(ask.From(err).Message, each.want)) {
				t.Errorf("%v", err)
			}
		})
	}
	elsewhere := strings.Replace(good, "%URL%", "https://agents.example", 1)
	card.Store(&elsewhere)
	if _, err := newBackend(t, srv.URL, func(cfg *Config) { cfg.Origins = []string{"https://agents.example"} }).Discover(t.Context(), ann); err != nil {
		t.Errorf("an origin that is configured: %v", err)
	}
	card.Store(&good)
	if _, err := newBackend(t, srv.URL+"/own/agent-card.json", nil).Discover(t.Context(), ann); err != nil {
		t.Errorf("the card's own address: %v", err)
	}
	if _, err := newBackend(t, srv.URL+"/moved/agent-card.json", nil).Discover(t.Context(), ann); ask.CodeOf(err) != ask.BackendUnreachable {
		t.Errorf("a redirect: %v", err)
	}
}

// TestSkillsAreTools: each skill has a name of its own that MCP allows.
func TestSkillsAreTools(t *testing.T) {
	c, err := readCard([]byte(`{"name":"n","version":"1","description":"d","capabilities":{},"supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],`+
		`"skills":[{"id":"a b","name":"A","description":"Does A.","examples":["one","two"]},{"id":"a_b","name":"B"},{"id":"","name":"näme"},{"id":"//","name":""},{"id":"`+strings.Repeat("x", 100)+`"},{"id":"`+strings.Repeat("x", 99)+`"}]}`), []string{"https://a.example"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range c.tools {
		names = append(names, tool.name)
	}
	equal(t, "names", strings.Join(names, " "), "a_b a_b_2 n_me skill "+strings.Repeat("x", 64)+" "+strings.Repeat("x", 62)+"_2")
	var list []struct{ Name, Title, Description string }
	if err := json.Unmarshal(c.list, &list); err != nil {
		t.Fatal(err)
	}
	equal(t, "description", list[0].Description, "Does A.\n\nExamples of messages:\n- one\n- two")
	equal(t, "title", list[0].Title, "A")
	contains(t, "discovery", string(c.discovery), `{"name":"n","version":"1"}`, `"tools":{"listChanged":true}`)
}
