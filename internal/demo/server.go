package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/answerback/answerback/internal/era"
)

// maxLine bounds a message to the server.
const maxLine = 1 << 20

// The codes of errors that the server has a use for.
const (
	badMessage = -32700
	noMethod   = -32601
	badParams  = -32602
	badVersion = -32022
)

// request is what the server reads of a message.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
}

type params struct {
	Name           string            `json:"name"`
	InputResponses map[string]answer `json:"inputResponses"`
	Meta           struct {
		Version string `json:"io.modelcontextprotocol/protocolVersion"`
	} `json:"_meta"`
}

// answer is what somebody said to a question.
type answer struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
}

// object is a JSON object.
type object = map[string]any

// Serve answers the messages that come on in, one in each line, until it
// ends. Nothing is remembered between two of them: a server of this era is
// told again in every request what it has to know.
func Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	to := json.NewEncoder(out)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if response := respond(lines.Bytes()); response != nil {
			if err := to.Encode(response); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return errors.New("a message was longer than a megabyte, which no client of the demo sends")
	}
	return lines.Err()
}

// respond gives the response to a message, nil where it gets none.
func respond(line []byte) object {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return failure(nil, badMessage, "This is not a message that can be read.")
	}
	switch {
	case r.ID == nil || r.Method == "":
		return nil // a notification, or a response that nobody asked for
	case r.Params.Meta.Version != era.Latest:
		return failure(r.ID, badVersion, "This server speaks MCP "+era.Latest+" alone.")
	}
	switch r.Method {
	case "server/discover":
		return complete(r.ID, object{
			"supportedVersions": []string{era.Latest}, "capabilities": object{"tools": object{}},
			"ttlMs": 0, "cacheScope": "public",
			"_meta": object{"io.modelcontextprotocol/serverInfo": object{"name": "answerback-demo", "version": "1"}},
		})
	case "tools/list":
		return complete(r.ID, object{"tools": []object{lunchTool}, "ttlMs": 0, "cacheScope": "public"})
	case "tools/call":
		if r.Params.Name != Tool {
			return failure(r.ID, badParams, "The only tool here is "+Tool+".")
		}
		return lunch(r.ID, r.Params.InputResponses)
	}
	return failure(r.ID, noMethod, "This server has no method "+r.Method+".")
}

// complete is the end of a request.
func complete(id json.RawMessage, result object) object {
	result["resultType"] = "complete"
	return object{"jsonrpc": "2.0", "id": id, "result": result}
}

// ask sends the client for an answer. It comes back with it, in the same
// request made anew.
func ask(id json.RawMessage, name string, question json.RawMessage) object {
	return object{"jsonrpc": "2.0", "id": id, "result": object{
		"resultType":    "input_required",
		"inputRequests": object{name: object{"method": "elicitation/create", "params": question}},
	}}
}

func failure(id json.RawMessage, code int, message string) object {
	return object{"jsonrpc": "2.0", "id": id, "error": object{"code": code, "message": message}}
}
