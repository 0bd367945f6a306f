package mcp

import (
	"net/http"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/flight"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// batchVersion is the only version of the protocol that has batches.
	batchVersion = "2025-03-26"
	// batchMax is how many messages a batch may have.
	batchMax = 50
)

// postBatch serves an array of messages: its requests run side by side, and
// their responses share one stream, or one array.
func (s *Surface) postBatch(w http.ResponseWriter, r *http.Request, at string, who contract.Caller, raw []byte, accept accepts) {
	if eraOf(r.Header) == era.Modern || r.Header[headerSession] == nil {
		refuse(w, http.StatusBadRequest, ask.Errorf(ask.BadMessage, "A batch is taken in a session of version "+batchVersion+" only, and initialize never in a batch."))
		return
	}
	ss, status, fault := s.session(r, at, who)
	if fault != nil {
		refuse(w, status, fault)
		return
	}
	defer ss.leave()
	if ss.behind.Version() != batchVersion {
		refuse(w, http.StatusBadRequest, ask.Errorf(ask.BadMessage, "This session's version of the protocol has no batches."))
		return
	}
	msgs, err := s.scanBatch(raw)
	if err != nil {
		refuse(w, http.StatusBadRequest, ask.From(err))
		return
	}

	var calls []*wire.Message
	for i := range msgs {
		switch m := &msgs[i]; m.Kind {
		case wire.Request:
			calls = append(calls, m)
		case wire.Notification:
			ss.behind.Notify(ss.life, m)
		default:
			s.answer(ss, m)
		}
	}
	if len(calls) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	trips := make([]*flight.Trip, len(calls))
	for i := range trips {
		var no *ask.Error
		if trips[i], no = s.begin(who.Principal); no != nil {
			for _, trip := range trips[:i] {
				trip.End()
			}
			refuseNow(w, nil, no, era.Legacy)
			return
		}
	}
	// All of them, until the last has its response: they share it.
	defer func() {
		for _, trip := range trips {
			trip.End()
		}
	}()
	st := s.newStream(w, r, ss, accept)
	st.batch = true
	ss.begin(st)
	life := budget.With(ss.life, budget.From(r.Context()))
	var wg sync.WaitGroup
	for i, m := range calls {
		wg.Go(func() { st.respond(ss.behind.Call(flight.With(life, trips[i]), m, st)) })
	}
	wg.Wait()
	ss.done(st)
	st.finish()
}

// scanBatch reads all messages before any of them has an effect.
func (s *Surface) scanBatch(raw []byte) ([]wire.Message, error) {
	parts, err := wire.Batch(raw, s.limits(), batchMax)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, ask.Errorf(ask.BadMessage, "The batch is empty.")
	}
	msgs := make([]wire.Message, len(parts))
	for i, part := range parts {
		if msgs[i], err = wire.Scan(part, s.limits()); err != nil {
			return nil, err
		}
		if msgs[i].Method() == "initialize" {
			return nil, ask.Errorf(ask.BadMessage, "initialize is not taken in a batch.")
		}
	}
	return msgs, nil
}
