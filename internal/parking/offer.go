package parking

import (
	"cmp"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/wire"
)

// open is a question that waits for an answer.
type open struct {
	key string
	ask ask.Ask
}

// answer gives the desk what the client brought. Keys that nobody asked with
// are passed over; what is missing is asked again.
func (pk *Call) answer(msg *wire.Message) {
	for member := range wire.Members(msg.Raw, msg.InputResponses) {
		key, _ := wire.Unquote(member.Key.Of(msg.Raw))
		id := pk.take(key)
		if id == "" {
			continue
		}
		err := pk.lot.desk.Answer(id, desk.From{Principal: pk.terms.Who, Session: pk.id, Surface: cmp.Or(pk.terms.Through, contract.MCP)}, question.AnswerIn(msg.Raw, member.Value))
		if err != nil {
			pk.lot.log.Info("answer not taken", "ask", id, "code", ask.CodeOf(err), "err", err)
		}
	}
}

// take gives the ask behind a key, which is then no longer open.
func (pk *Call) take(key string) string {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	for i, o := range pk.open {
		if o.key == key {
			pk.open = append(pk.open[:i:i], pk.open[i+1:]...)
			pk.updated = time.Now()
			return o.ask.ID
		}
	}
	return ""
}

// appendOpen writes open questions as a client of the modern era gets them.
func appendOpen(b []byte, questions []open) []byte {
	b = append(b, '{')
	for i, o := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, o.key)
		b = wire.AppendString(append(b, `:{"method":`...), o.ask.Method)
		// There are clients that cannot read a question without params.
		params := o.ask.Params
		if len(params) == 0 {
			params = []byte("{}")
		}
		b = append(append(append(b, `,"params":`...), params...), '}')
	}
	return append(b, '}')
}

// Offer has one question of the call put to its client, under a key of its
// own: put shows it through the offer, if it does. The client is not sent away
// while put has not returned.
func (pk *Call) Offer(put func(*Offer)) {
	pk.mu.Lock()
	pk.keys++
	pk.coming++
	o := &Offer{pk, "q" + strconv.Itoa(pk.keys)}
	pk.mu.Unlock()
	put(o)
	pk.mu.Lock()
	pk.coming--
	pk.mu.Unlock()
}

// Offer is one question of a call on its way to the client, attached or away.
// It is a contract.Peer.
type Offer struct {
	call *Call
	key  string
}

// Notify sends a notification to the client.
func (o *Offer) Notify(msg []byte) { o.call.Notify(msg) }

// Mark is empty: a parked call is found by its state, not by a connection.
func (o *Offer) Mark() []byte { return nil }

// Show offers a question to the client in the round under way, or in the next.
func (o *Offer) Show(a *ask.Ask) error {
	pk := o.call
	pk.mu.Lock()
	pk.open = append(pk.open, open{o.key, *a})
	pk.updated = time.Now()
	pk.mu.Unlock()
	pk.signal()
	return nil
}

// Withdraw takes a question back that was not answered yet.
func (o *Offer) Withdraw(id string, _ *ask.Error) {
	pk := o.call
	pk.mu.Lock()
	for i, o := range pk.open {
		if o.ask.ID == id {
			pk.open = append(pk.open[:i:i], pk.open[i+1:]...)
			pk.updated = time.Now()
			break
		}
	}
	pk.mu.Unlock()
	pk.signal()
}
