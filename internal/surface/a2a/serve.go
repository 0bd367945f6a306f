package a2a

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/log"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/wire"
)

const (
	root     = "/a2a"
	cardPath = "/.well-known/agent-card.json"
)

// visit is who sends a request, to which endpoint, and its body.
type visit struct {
	at   string
	who  contract.Caller
	body []byte
}

type visitKey struct{}

// ServeHTTP serves one HTTP request. Host, Origin and the speed of the sender
// are the matter of whoever stands before the surface.
func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.inside.Enter() {
		Refuse(w, http.StatusServiceUnavailable, shuttingDown)
		return
	}
	defer s.inside.Leave()
	at, rest := endpoint(r.URL.Path)
	if rest == cardPath && s.cfg.Secured && r.Header.Get("Authorization") == "" {
		// Whoever it is, they learn how to come in, and nothing of what is there.
		s.serveCard(w, r, s.card(at, nil))
		return
	}
	who, err := s.cfg.Authenticate(r)
	if err != nil {
		s.challenge(w, err)
		return
	}
	who.Surface = surfaceName
	if !s.cfg.Gateway.Knows(at, who) {
		Refuse(w, http.StatusNotFound, ask.Errorf(ask.UnknownBackend, "There is no such agent here."))
		return
	}
	if rest == cardPath {
		tools, err := s.tools(r.Context(), at, who)
		if err != nil {
			s.cfg.Log.Warn("an agent card cannot be made", "surface", surfaceName, "endpoint", at, "err", err)
			Refuse(w, http.StatusBadGateway, ask.From(err))
			return
		}
		s.serveCard(w, r, s.card(at, tools))
		return
	}
	s.serve(w, r, visit{at: at, who: who}, rest)
}

// own are the first words of the paths that the joined endpoint has itself. A
// backend of such a name is reached through that endpoint alone.
var own = map[string]bool{"message:send": true, "message:stream": true, "tasks": true, "extendedAgentCard": true, ".well-known": true}

// endpoint tells which agent a path is about, and what of it.
func endpoint(path string) (at, rest string) {
	if path == cardPath {
		return "", cardPath
	}
	rest = strings.TrimPrefix(path, root)
	first, tail, deeper := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	if own[first] {
		return "", rest
	}
	if deeper {
		tail = "/" + tail
	}
	return first, tail
}

// serve hands a request to one of the two bindings of the protocol.
func (s *Surface) serve(w http.ResponseWriter, r *http.Request, v visit, rest string) {
	if version := r.Header.Get(a2a.SvcParamVersion); version != "" && !strings.HasPrefix(version, "1.") && version != "1" {
		Refuse(w, http.StatusBadRequest, ask.Errorf(ask.BadVersion, "This agent speaks A2A 1.0."))
		return
	}
	hold := s.cfg.Budget.Hold(budget.Of(v.who.Principal))
	defer hold.Release()
	r = hold.Attach(r)
	body, err := entry.ReadBody(w, r, int64(s.cfg.MaxBody))
	if err != nil {
		no := entry.RefusalOf(err)
		Refuse(w, no.Status, no.Reason)
		return
	}
	if len(body) > 0 {
		if _, err := wire.Value(body); err != nil {
			body = nil // the binding says so in its own words
		}
	}
	v.body = body
	// What goes wrong on the way to a client that left is no news.
	ctx := log.AttachLogger(context.WithValue(r.Context(), visitKey{}, v), slog.New(slog.DiscardHandler))
	to, inner := s.rest, r.WithContext(ctx)
	inner.URL = &url.URL{Path: rest, RawQuery: r.URL.RawQuery}
	inner.Body = io.NopCloser(bytes.NewReader(body))
	if rest == "" || rest == "/" {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			Refuse(w, http.StatusMethodNotAllowed, ask.Errorf(ask.UnknownMethod, "This is the JSON-RPC endpoint of an A2A agent: it takes POST. The agent card is at "+s.address(v.at)+cardPath+"."))
			return
		}
		to = s.rpc
	}
	to.ServeHTTP(patientWriter{w, entry.NewPusher(w)}, inner)
}

// visitOf gives who a request of the protocol comes from.
func visitOf(ctx context.Context) visit {
	v, _ := ctx.Value(visitKey{}).(visit)
	return v
}

// exactly gives the data of a message as it was sent.
func (v *visit) exactly(msg *a2a.Message) error {
	at, err := wire.Value(v.body)
	if err != nil {
		return err
	}
	if params := wire.Get(v.body, at, "params"); !params.IsZero() {
		at = params
	}
	if !exact(msg.Parts, v.body, wire.Get(v.body, wire.Get(v.body, at, "message"), "parts")) {
		return ask.Errorf(ask.Ambiguous, "The message can be read in two ways.")
	}
	return nil
}

// patientWriter bounds each write, and not the whole response: a stream may be
// quiet for as long as it likes.
type patientWriter struct {
	http.ResponseWriter
	out entry.Pusher
}

func (w patientWriter) Write(b []byte) (int, error) {
	if err := w.out.Push(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush sends the headers of a response that has no body yet.
func (w patientWriter) Flush() { _ = w.out.Flush() }
