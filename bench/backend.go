package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// message is as much of a JSON-RPC message as the bench reads.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name           string          `json:"name"`
		InputResponses json.RawMessage `json:"inputResponses"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

const (
	tools    = `"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"ask","inputSchema":{"type":"object"}}]`
	identity = `{"name":"bench","version":"1"}`
	question = `"method":"elicitation/create","params":{"mode":"form","message":"What is the answer?",` +
		`"requestedSchema":{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}}`
	answer   = `{"action":"accept","content":{"answer":"42"}}`
	answered = `"content":[{"type":"text","text":"thank you"}]`

	// What a modern server adds to its results.
	complete  = `"resultType":"complete"`
	cacheable = complete + `,"ttlMs":0,"cacheScope":"private"`
)

// echo is the result of the plain call, 1 KB of text.
var echo = `"content":[{"type":"text","text":"` + strings.Repeat("0123456789abcdef", 64) + `"}]`

// legacyServer is an MCP server of the legacy era. Its sessions hold nothing;
// what it keeps is who waits for which answer.
type legacyServer struct {
	mu      sync.Mutex
	seq     int
	waiting map[string]chan struct{} // by the id of the question
}

func (s *legacyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, ok := receive(w, r)
	if !ok {
		return
	}
	switch {
	case m.Method == "":
		s.release(string(m.ID))
		w.WriteHeader(http.StatusAccepted)
	case len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		w.Header()["Mcp-Session-Id"] = []string{"bench-" + strconv.Itoa(s.next())}
		reply(w, m.ID, `"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":`+identity)
	case m.Method == "tools/list":
		reply(w, m.ID, tools)
	case m.Method == "tools/call" && m.Params.Name == "ask":
		s.ask(w, r, m)
	case m.Method == "tools/call":
		reply(w, m.ID, echo)
	case m.Method == "ping":
		reply(w, m.ID, "")
	default:
		refuse(w, m.ID)
	}
}

// ask puts the question on the call's own stream and waits for the answer,
// which comes as another request.
func (s *legacyServer) ask(w http.ResponseWriter, r *http.Request, m message) {
	id := `"q` + strconv.Itoa(s.next()) + `"`
	done := make(chan struct{})
	s.mu.Lock()
	s.waiting[id] = done
	s.mu.Unlock()
	defer s.release(id)

	w.Header()["Content-Type"] = []string{"text/event-stream"}
	event(w, `{"jsonrpc":"2.0","id":`+id+`,`+question+`}`)
	select {
	case <-done:
		event(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{`+answered+`}}`)
	case <-r.Context().Done():
	}
}

func (s *legacyServer) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	return s.seq
}

func (s *legacyServer) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, ok := s.waiting[id]; ok {
		delete(s.waiting, id)
		close(done)
	}
}

// serveModern is an MCP server of the modern era, which needs no state at all.
func serveModern(w http.ResponseWriter, r *http.Request) {
	m, ok := receive(w, r)
	if !ok {
		return
	}
	switch {
	case len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "server/discover":
		reply(w, m.ID, cacheable+`,"supportedVersions":["`+modernVersion+`"],"capabilities":{"tools":{}}`+
			`,"_meta":{"io.modelcontextprotocol/serverInfo":`+identity+`}`)
	case m.Method == "tools/list":
		reply(w, m.ID, cacheable+","+tools)
	case m.Method == "tools/call" && m.Params.Name == "ask" && m.Params.InputResponses == nil:
		reply(w, m.ID, `"resultType":"input_required","inputRequests":{"q":{`+question+`}},"requestState":"bench"`)
	case m.Method == "tools/call" && m.Params.Name == "ask":
		reply(w, m.ID, complete+","+answered)
	case m.Method == "tools/call":
		reply(w, m.ID, complete+","+echo)
	default:
		w.WriteHeader(http.StatusNotFound)
		refuse(w, m.ID)
	}
}

// receive reads the message of a request, or answers the request itself.
func receive(w http.ResponseWriter, r *http.Request) (m message, ok bool) {
	if r.Method == http.MethodDelete {
		return m, false
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return m, false
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(body), &m)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return m, false
	}
	return m, true
}

func reply(w http.ResponseWriter, id json.RawMessage, members string) {
	w.Header()["Content-Type"] = []string{"application/json"}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{`+members+`}}`)
}

func refuse(w http.ResponseWriter, id json.RawMessage) {
	w.Header()["Content-Type"] = []string{"application/json"}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(id)+`,"error":{"code":-32601,"message":"method not found"}}`)
}

func event(w http.ResponseWriter, data string) {
	_, _ = io.WriteString(w, "event: message\ndata: "+data+"\n\n")
	_ = http.NewResponseController(w).Flush()
}
