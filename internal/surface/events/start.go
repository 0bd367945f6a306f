package events

import (
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/wire"
)

// The headers with which a call is started.
const (
	headerElicitation = "X-Supports-Elicitation"
	headerSampling    = "X-Supports-Sampling"
	headerIdempotency = "Idempotency-Key"
)

// maxKey bounds an Idempotency-Key, maxClient what a front end calls itself,
// and maxConversation what it calls a conversation.
const (
	maxKey          = 255
	maxClient       = 100
	maxConversation = 255
)

// start is what somebody wants called, and what they can be asked meanwhile.
type start struct {
	at, tool              string
	elicitation, sampling bool
	conversation          string // with the front end's name, so that two front ends share none
	hello, request        wire.Message
}

// readStart reads a request to start a call. The digest is the same for two
// requests that say the same in the same bytes.
func (s *Surface) readStart(w http.ResponseWriter, r *http.Request, at string) (st start, digest [sha256.Size]byte, err error) {
	st.at = at
	if st.elicitation, err = readFlag(r, headerElicitation); err != nil {
		return st, digest, err
	}
	if st.sampling, err = readFlag(r, headerSampling); err != nil {
		return st, digest, err
	}
	raw, err := entry.ReadJSON(w, r, int64(s.cfg.MaxBody))
	if err != nil {
		return st, digest, err
	}
	members, err := wire.Object(raw, "name", "arguments", "_meta", "client", "conversation")
	if err != nil {
		return st, digest, err
	}
	var ok bool
	if st.tool, ok = wire.Unquote(members["name"]); !ok || st.tool == "" {
		return st, digest, bad("name must be the name of a tool.")
	}
	client := defaultClient
	if given := members["client"]; given != nil {
		client, ok = wire.Unquote(given)
	}
	if !ok || client == "" || len(client) > maxClient {
		return st, digest, bad("client must be a text of at most " + strconv.Itoa(maxClient) + " bytes: what the front end calls itself.")
	}
	conversation := ""
	if given := members["conversation"]; given != nil {
		conversation, ok = wire.Unquote(given)
		if !ok || conversation == "" || len(conversation) > maxConversation {
			return st, digest, bad("conversation must be a text of 1 to " + strconv.Itoa(maxConversation) + " bytes.")
		}
	}
	st.conversation = strconv.Quote(client) + strconv.Quote(conversation)
	if st.hello, err = wire.Scan(appendHello(nil, client, st.elicitation, st.sampling), s.scan()); err != nil {
		return st, digest, err
	}
	request, err := appendRequest(nil, members)
	if err != nil {
		return st, digest, err
	}
	if st.request, err = wire.Scan(request, s.scan()); err != nil {
		return st, digest, err
	}
	h := sha256.New()
	io.WriteString(h, strconv.Quote(at)+strconv.FormatBool(st.elicitation)+strconv.FormatBool(st.sampling))
	h.Write(raw)
	return st, [sha256.Size]byte(h.Sum(nil)), nil
}

const defaultClient = "event stream"

func appendHello(dst []byte, client string, elicitation, sampling bool) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{`...)
	var caps []string
	if elicitation {
		caps = append(caps, `"elicitation":{"form":{},"url":{}}`)
	}
	if sampling {
		caps = append(caps, `"sampling":{"tools":{}}`)
	}
	dst = append(dst, strings.Join(caps, ",")...)
	dst = append(dst, `},"clientInfo":{"name":`...)
	dst = wire.AppendString(dst, client)
	return append(dst, `,"version":"1"}}}`...)
}

// appendRequest writes the call, with the arguments as they came. Progress is
// wanted in any case.
func appendRequest(dst []byte, members map[string][]byte) ([]byte, error) {
	meta := members["_meta"]
	if meta == nil {
		meta = []byte("{}")
	}
	at, err := wire.Value(meta)
	if err != nil || meta[at.Start] != '{' {
		return nil, bad("_meta must be an object.")
	}
	meta = wire.Splice(nil, meta, wire.Set(meta, at, wire.Get(meta, at, "progressToken"), "progressToken", []byte(progressToken)))
	dst = append(dst, `{"jsonrpc":"2.0","id":`+requestID+`,"method":"tools/call","params":{"name":`...)
	dst = append(dst, members["name"]...)
	if arguments := members["arguments"]; arguments != nil {
		if arguments[0] != '{' {
			return nil, bad("arguments must be an object.")
		}
		dst = append(append(dst, `,"arguments":`...), arguments...)
	}
	dst = append(append(dst, `,"_meta":`...), meta...)
	return append(dst, "}}"...), nil
}

// readFlag reads a header that says true, or that is not there. Anything else
// is a mistake that would keep somebody from being asked.
func readFlag(r *http.Request, name string) (bool, error) {
	switch v := r.Header[name]; {
	case len(v) == 0:
		return false, nil
	case len(v) == 1 && (strings.EqualFold(v[0], "true") || strings.EqualFold(v[0], "false")):
		return strings.EqualFold(v[0], "true"), nil
	}
	return false, newProblem(http.StatusBadRequest, ask.BadHeader, "The header "+name+" must be true or false.")
}

// readKey reads the Idempotency-Key, "" where there is none.
func readKey(r *http.Request) (string, error) {
	v := r.Header[headerIdempotency]
	if len(v) == 0 {
		return "", nil
	}
	if len(v) != 1 || v[0] == "" || len(v[0]) > maxKey {
		return "", newProblem(http.StatusBadRequest, ask.BadHeader, "The header Idempotency-Key must be one text of 1 to "+strconv.Itoa(maxKey)+" characters.")
	}
	return v[0], nil
}
