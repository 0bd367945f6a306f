package relay

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/wire"
)

// A modern client has no session for notifications about its forms. It
// subscribes to them with subscriptions/listen and
// notifications.elicitationIds.

// watchesForms reports whether a subscription is for forms.
func (r *Relay) watchesForms(msg *wire.Message) bool {
	return r.office != nil && msg.Method() == "subscriptions/listen" &&
		!wire.Get(msg.Raw, wire.Get(msg.Raw, msg.Params, "notifications"), "elicitationIds").IsZero()
}

// listenForms serves a subscription to forms until all of them have ended. It
// involves no backend, so it takes no other filter.
func (r *Relay) listenForms(ctx context.Context, by office.Creator, msg *wire.Message, peer contract.Peer) (contract.Response, error) {
	filter := wire.Get(msg.Raw, msg.Params, "notifications")
	for m := range wire.Members(msg.Raw, filter) {
		if key, _ := wire.Unquote(m.Key.Of(msg.Raw)); key != "elicitationIds" {
			return contract.Response{}, ask.Errorf(ask.BadMessage, "A subscription with elicitationIds is for forms alone: use another for everything else.")
		}
	}
	var ids []string
	if err := json.Unmarshal(wire.Get(msg.Raw, filter, "elicitationIds").Of(msg.Raw), &ids); err != nil || len(ids) > office.MaxWatched {
		return contract.Response{}, ask.Wrap(ask.BadMessage, fmt.Sprintf("elicitationIds must be a list of at most %d ids.", office.MaxWatched), err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.limits.CallCap)
	defer cancel()
	id := msg.Field(msg.ID)
	meta := append(append([]byte(`{"io.modelcontextprotocol/subscriptionId":`), id...), '}')
	by.Tell = &teller{notify: func(b []byte) { peer.Notify(b) }, meta: meta}
	err := r.office.Watch(ctx, by, ids, func(mine []string) {
		raw, err := json.Marshal(mine)
		if err != nil {
			return // ids can be written
		}
		b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":`), meta...)
		b = append(append(b, `,"notifications":{"elicitationIds":`...), raw...)
		peer.Notify(append(b, `}}}`...))
	})
	if err != nil {
		return contract.Response{}, err
	}
	return result(id, append(append([]byte(`{"resultType":"complete","_meta":`), meta...), '}')), nil
}
