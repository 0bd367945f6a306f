package contract

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// MCP is what the desk and the audit call the way to people through their
// clients.
const MCP = "mcp"

// Caller is who sends a request, and what they may use.
type Caller struct {
	ask.Principal
	Access  Access // nil where everything is allowed
	Surface string // by which surface they come, as the audit names it; "" is MCP
	// Conversation names what keeps its sessions at backends from one legacy
	// session of this caller to the next; "" where each has its own. Two
	// callers, and two surfaces, never share one.
	Conversation string
}

// Access says what a caller may use. Safe for concurrent use.
type Access interface {
	Backend(name string) bool
	Tool(backend, tool string) bool
	// Key is the same for two accesses exactly where they allow the same.
	Key() string
}

// Peer is the client's end of a call, or of a session for what belongs to no
// call, as its surface presents it. Showing a question means to send its
// method and params as a request whose id is the ask's. Safe for concurrent
// use.
type Peer interface {
	desk.Showing
	// Notify sends a notification to the client. The bytes are not kept.
	Notify(msg []byte)
	// Mark is what the surface finds this client by after a restart, nil
	// where it cannot.
	Mark() []byte
}

// Lasting is a Peer whose client is told that its call and its questions outlive
// the gateway: they are kept from the start, and after a restart the peer that
// its surface makes again is shown the questions that are still open.
type Lasting interface {
	Peer
	Lasting() bool
}

// Informed is a Peer that is told of a question which its client was not asked,
// because it did not declare that it can be. That comes before the backend is
// refused. It is also told why a link ended whose page was opened.
type Informed interface {
	Peer
	// Unasked takes the kind of the question and its params, which are not
	// modified afterwards, and the page where it waits instead, "" for none.
	Unasked(kind ask.Kind, params []byte, page string)
}

// Patient is a Peer whose client stays while it is asked: a round of a held
// call is not ended to ask what was asked already. It ends when what is asked
// changes, when the call ends, or when the client has something to say.
type Patient interface {
	Peer
	// Asked are the keys of the questions that the client knows of, and has
	// not answered with this request.
	Asked() []string
	// Back can be received from when the client wants its round to end.
	Back() <-chan struct{}
}

// Response is what goes back to the client: one JSON-RPC response with the
// client's own id in it. A nil Body means that nothing is owed any more,
// because the client cancelled the request.
type Response struct {
	Body   []byte
	Status int // the HTTP status for modern clients; legacy ones always get 200
	// Event says that the backend sent it as an event of a stream: a client
	// that takes both gets it the way the backend chose.
	Event bool
	// Failed says that the backend answered with an error.
	Failed bool
	// Held says of a response that wants input that the gateway holds the
	// call: to call again without an answer is to wait, and runs nothing.
	Held bool
	// Unsent is called when the response could not be sent; it may be nil.
	Unsent func()
}
