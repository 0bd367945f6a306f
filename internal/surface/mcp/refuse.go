package mcp

import (
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/era"
)

// Header names in the form in which net/http keeps them.
const (
	headerSession     = "Mcp-Session-Id"
	headerVersion     = "Mcp-Protocol-Version"
	headerLastEvent   = "Last-Event-Id"
	headerAccept      = "Accept"
	headerContentType = "Content-Type"
)

// Header values that never change, shared between responses.
var (
	typeJSON  = []string{"application/json"}
	allowAll  = []string{"POST, GET, DELETE"}
	allowPost = []string{http.MethodPost}
	closeConn = []string{"close"}
)

// What is refused in the same words each time.
var (
	shuttingDown     = ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
	unknownEndpoint  = ask.Errorf(ask.UnknownBackend, "There is no MCP endpoint at this path.")
	methodNotAllowed = ask.Errorf(ask.UnknownMethod, "This HTTP method is not served here.")
	noStreamHere     = ask.Errorf(ask.UnknownMethod, "There is no stream to open here: send requests by POST.")
	unauthorized     = ask.Errorf(ask.NotAllowed, "Sign in to use this endpoint.")
	noSession        = ask.Errorf(ask.BadMessage, "The header Mcp-Session-Id is missing: send initialize first.")
	unknownSession   = ask.Errorf(ask.UnknownName, "There is no such session: send initialize again, without Mcp-Session-Id.")
	badLegacyVersion = ask.Errorf(ask.BadVersion, "The header MCP-Protocol-Version names a version that sessions do not have.")
	notAcceptable    = ask.Errorf(ask.BadMessage, "The header Accept must allow application/json or text/event-stream.")
	notJSON          = ask.Errorf(ask.BadMessage, "The body must be application/json, without a content encoding.")
	clientGone       = ask.Errorf(ask.ClientGone, "The client has gone.")
	clientEnded      = ask.Errorf(ask.ClientGone, "The client ended its session.")
	sessionIdle      = ask.Errorf(ask.SessionExpired, "The session was idle for too long.")
	backendEnded     = ask.Errorf(ask.BackendLost, "The backend ended the session.")
	noRequestsHere   = ask.Errorf(ask.NoClient, "No client is available: this one takes no requests from a server.")
	clientAway       = ask.Errorf(ask.NoClient, "No client is available: it has no stream open on which it could be asked.")
)

func (s *Surface) challenge(w http.ResponseWriter, err error) {
	status := entry.Challenge(w.Header(), err)
	s.cfg.Log.Info("request not authenticated", "surface", "mcp", "status", status, "err", err)
	refuse(w, status, unauthorized)
}

// Refuse answers an HTTP request that was not let through to the surface, as
// the surface itself would.
func Refuse(w http.ResponseWriter, status int, e *ask.Error) { refuse(w, status, e) }

// refuse answers an HTTP request with an error that belongs to no message.
func refuse(w http.ResponseWriter, status int, e *ask.Error) {
	refuseMessage(w, status, nil, e, era.Legacy)
}

// refuseMessage answers a message with an error. id is its id, or nil.
func refuseMessage(w http.ResponseWriter, status int, id []byte, e *ask.Error, in era.Era) {
	writeJSON(w, status, appendFault(nil, id, e, in))
}

// refuseNow answers a message that is not taken now, or not at all, with the
// status that its reason has everywhere.
func refuseNow(w http.ResponseWriter, id []byte, e *ask.Error, in era.Era) {
	no := entry.RefusalOf(e)
	entry.RetryAfter(w.Header(), no.Retry)
	refuseMessage(w, no.Status, id, e, in)
}

// appendFault writes an error response. Without an id it has no such member:
// schemas of both eras allow that, and do not allow null.
func appendFault(dst, id []byte, e *ask.Error, in era.Era) []byte {
	if id != nil {
		return era.AppendError(dst, id, e, in)
	}
	dst = append(dst, `{"jsonrpc":"2.0","error":`...)
	dst = append(dst, era.ErrorObject(e, in)...)
	return append(dst, '}')
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()[headerContentType] = typeJSON
	w.WriteHeader(status)
	// A client that has gone cannot be told so.
	_, _ = w.Write(body)
}
