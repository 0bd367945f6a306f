package mcp

import (
	"bytes"
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// post serves one POST: it reads and checks the message, and hands it to its
// era.
func (s *Surface) post(w http.ResponseWriter, r *http.Request, at string, who contract.Caller) {
	if !isJSON(r.Header) {
		refuse(w, http.StatusUnsupportedMediaType, notJSON)
		return
	}
	accept := acceptOf(r.Header)
	if !accept.json && !accept.sse {
		refuse(w, http.StatusNotAcceptable, notAcceptable)
		return
	}
	hold := s.cfg.Budget.Hold(budget.Of(who.Principal))
	defer hold.Release()
	r, buf := s.receive(w, r, hold)
	if buf == nil {
		return
	}
	raw := buf.Bytes()
	if wire.IsBatch(raw) {
		s.postBatch(w, r, at, who, raw, accept)
		return
	}
	msg, err := s.scan(raw)
	if err != nil {
		refuseMessage(w, http.StatusBadRequest, idOfBad(raw, err), ask.From(err), eraOf(r.Header))
		recycle(buf)
		return
	}
	if era.Detect(msg, r.Header) == era.Modern {
		s.postModern(w, r, at, who, msg, accept)
		return
	}
	if s.postLegacy(w, r, at, who, msg, accept) {
		recycle(buf)
	}
}

// receive reads a request's body, and gives the request with hold in its
// context. Where the body is refused there is no buffer. Like scan it is apart
// from what is done with the message.
func (s *Surface) receive(w http.ResponseWriter, r *http.Request, hold *budget.Hold) (*http.Request, *bytes.Buffer) {
	buf, fault := s.readBody(w, r, hold)
	if fault != nil {
		refuseNow(w, wire.Salvage(buf.Bytes()), fault, eraOf(r.Header))
		recycle(buf)
		return r, nil
	}
	return r.WithContext(budget.With(r.Context(), hold)), buf
}

// scan reads a message. It is apart from what is done with it, so that a call
// that waits does not hold its frame.
func (s *Surface) scan(raw []byte) (*wire.Message, error) {
	msg, err := wire.Scan(raw, s.limits())
	return &msg, err
}

func (s *Surface) limits() wire.Limits {
	return wire.Limits{Bytes: s.cfg.MaxBody, Depth: s.cfg.MaxDepth}
}

// eraOf guesses the era of a message that could not be read.
func eraOf(h http.Header) era.Era {
	if e, ok := era.Of(h.Get(headerVersion)); ok {
		return e
	}
	return era.Legacy
}

// idOfBad finds the id of a message that was refused though it is JSON.
func idOfBad(raw []byte, err error) []byte {
	switch ask.CodeOf(err) {
	case ask.Ambiguous, ask.TooLarge:
		return wire.Salvage(raw)
	}
	return nil
}
