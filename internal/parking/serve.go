package parking

import (
	"context"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// gatherFor is how long a round waits for further questions of its call:
// clients stop after ten rounds.
const gatherFor = 5 * time.Millisecond

// Serve takes part in the call for one request of its client: it gives the
// final reply, or one that asks the client to come back with answers. The
// error is for CallAgain where the client is to call again once a person has
// answered on a page.
func (pk *Call) Serve(ctx context.Context, msg *wire.Message, sink contract.Sink) (contract.Reply, error) {
	pk.board(msg, sink)
	defer pk.unboard(msg)
	pk.answer(msg)
	var look, budget <-chan time.Time
	if pk.terms.Era == era.Modern && pk.terms.Asks {
		timer := time.NewTimer(pk.lot.limits.Round)
		defer timer.Stop()
		budget = timer.C
	}
	held := pk.hold(msg)
	defer held.stop()
	stays := stayOf(sink)
	for {
		var reply contract.Reply
		err := error(errStays)
		select {
		case <-pk.done:
			if pk.result.Suspended && pk.terms.Era == era.Modern {
				return pk.sendAway(msg) // and the next gateway has it
			}
			return pk.collect(msg)
		case <-pk.changed:
			if look == nil {
				look = time.After(gatherFor)
			}
		case <-look:
			if look = nil; pk.more() {
				look = time.After(gatherFor)
				continue
			}
			if stays == nil || pk.waitsForOwn() {
				reply, err = pk.part(msg, held)
			} else if !stays.knows(pk) {
				reply, err = pk.inputRequired(msg)
			}
		case <-stays.back():
			reply, err = pk.inputRequired(msg)
		case <-budget:
			if pk.mayTask(msg) {
				reply, err = pk.becomeTask(msg)
			} else {
				reply, err = pk.inputRequired(msg)
			}
		case <-held.tick():
			pk.stillWaiting()
		case <-held.over():
			held = nil
			reply, err = pk.part(msg, nil)
		case <-ctx.Done():
			return contract.Reply{}, pk.leaves(ctx)
		}
		if err != error(errStays) {
			return reply, err
		}
	}
}

// errStays says that a client is kept waiting: there is nothing to part with,
// or the call has just ended.
var errStays = ask.Errorf(ask.Internal, "The client waits on.")

// part ends the client's request where somebody must be asked first.
func (pk *Call) part(msg *wire.Message, held *hold) (contract.Reply, error) {
	pk.mu.Lock()
	open, pages, own := len(pk.open) > 0, len(pk.pages) > 0, pk.ownPages()
	pk.mu.Unlock()
	switch {
	case (open || pages) && pk.mayTask(msg):
		return pk.becomeTask(msg)
	case open && pk.terms.Era == era.Modern:
		return pk.inputRequired(msg)
	case own && held == nil:
		return contract.Reply{}, pk.tellAgain(msg)
	}
	return contract.Reply{}, errStays
}

// leave takes the client off the line, so that what comes from now on is
// kept. It is false where the backend has answered already: then the client
// gets that.
func (pk *Call) leave() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.over {
		return false
	}
	pk.msg, pk.sink = nil, nil
	return true
}

// leaves ends the part of a client whose request has ended without a
// response. Of a modern one, and where a legacy one said so, that is how it
// cancels; else the call waits on.
func (pk *Call) leaves(ctx context.Context) error {
	why := ask.From(context.Cause(ctx))
	if pk.terms.Era == era.Modern && why.Code == ask.Internal {
		why = ask.Errorf(ask.ClientCancelled, "The client closed the stream of its call.")
	}
	if pk.terms.Era == era.Modern || why.Code == ask.ClientCancelled {
		pk.end(why)
	} else {
		pk.unclaim()
	}
	return why
}

// more reports whether another question is on its way: a round is not sent
// while one is being stored.
func (pk *Call) more() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return pk.coming > 0
}

// inputRequired sends the client away, with what it is asked.
func (pk *Call) inputRequired(msg *wire.Message) (contract.Reply, error) {
	if !pk.leave() {
		return contract.Reply{}, errStays
	}
	return pk.sendAway(msg)
}

func (pk *Call) sendAway(msg *wire.Message) (contract.Reply, error) {
	pk.mu.Lock()
	b := []byte(`{"resultType":"input_required"`)
	if len(pk.open) > 0 {
		b = appendOpen(append(b, `,"inputRequests":`...), pk.open)
	}
	b = append(b, `,"requestState":"`+pk.id+"."+strconv.Itoa(pk.round)+`"}`...)
	pk.patient = time.AfterFunc(pk.terms.Away, func() {
		pk.end(ask.Errorf(ask.ClientGone, "The client did not come back with an answer."))
	})
	pk.mu.Unlock()
	reply, err := pk.lot.reply(msg, b)
	reply.Held = true
	reply.Unsent = func() { pk.end(ask.Errorf(ask.ClientGone, "The client did not get the question.")) }
	return reply, err
}

// collect hands the final reply over. It is then nobody's any more, unless it
// cannot be sent to a client that may come back.
func (pk *Call) collect(msg *wire.Message) (contract.Reply, error) {
	pk.lot.remove(pk)
	pk.mu.Lock()
	told := pk.told
	pk.mu.Unlock()
	if told {
		pk.drop()
	}
	if pk.result.Err != nil {
		return contract.Reply{Event: pk.result.Reply.Event}, notTaken(pk.result.Err, pk.terms.Backend, msg.Method())
	}
	reply, err := pk.result.Reply, error(nil)
	if pk.terms.Era == era.Modern {
		reply, err = modernised(pk.result.Reply, msg.Method(), pk.lot.limits.Scan)
	}
	if told {
		reply.Unsent = pk.giveBack
	}
	return reply, err
}
