package mcp

import (
	"context"
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/flight"
	"github.com/answerback/answerback/internal/wire"
)

// postModern serves one message of a modern client. There is no session, and
// closing the connection is how the client cancels.
func (s *Surface) postModern(w http.ResponseWriter, r *http.Request, at string, who contract.Caller, msg *wire.Message, accept accepts) {
	switch msg.Kind {
	case wire.Request:
	case wire.Notification:
		// The modern era has none over HTTP: what comes is taken and ignored.
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		refuse(w, http.StatusBadRequest, ask.Errorf(ask.BadMessage, "Responses are not taken: answers to input requests go into a new request."))
		return
	}
	if fault := era.CheckRequest(msg, r.Header); fault != nil {
		refuseMessage(w, era.StatusOf(fault), msg.Field(msg.ID), fault, era.Modern)
		return
	}
	trip, no := s.begin(who.Principal)
	if no != nil {
		refuseNow(w, msg.Field(msg.ID), no, era.Modern)
		return
	}
	if msg.Method() == "subscriptions/listen" {
		trip.End() // draining does not wait for it
		trip = nil
	} else {
		defer trip.End()
	}
	ctx, cancel := context.WithCancelCause(flight.With(r.Context(), trip))
	defer cancel(nil)
	stop := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	defer stop()

	st := s.newStream(w, r, nil, accept)
	st.respond(s.cfg.Gateway.Call(ctx, at, who, msg, era.ParamHeaders(r.Header), st))
	st.finish()
}
