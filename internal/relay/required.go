package relay

import (
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// A legacy server can refuse a call until its person has opened pages of the
// server's: it answers with the error -32042, which names them, and has not
// run the call. A client that knows no such pages learns of them in words.

// maxPages bounds how many pages of a refusal are named in words.
const maxPages = 5

// refersToPages reports whether a reply is such a refusal.
func refersToPages(reply *contract.Reply) bool {
	return string(reply.Msg.Field(reply.Msg.ErrorCode)) == "-32042"
}

// inWords makes of a refusal for want of pages a result that a model can read,
// which says where the person is to go. Other replies are as they were, and so
// are refusals of other methods and those that name no page that can be opened.
func (r *Relay) inWords(a asker, reply contract.Reply) (contract.Reply, error) {
	if !refersToPages(&reply) || a.during != "tools/call" {
		return reply, nil
	}
	m := &reply.Msg
	var b strings.Builder
	b.WriteString("The server " + a.backend + " wants the person to open a page before it runs the tool " + a.name + ". It has not run it.")
	pages := 0
	for at := range wire.Elements(m.Raw, wire.Get(m.Raw, wire.Get(m.Raw, m.Error, "data"), "elicitations")) {
		if pages == maxPages {
			break
		}
		if era.CheckShape(ask.URL, at.Of(m.Raw)) != nil {
			continue
		}
		pages++
		if text, _ := wire.Unquote(wire.Get(m.Raw, at, "message").Of(m.Raw)); text != "" {
			b.WriteString("\n\nWhy: " + strings.ToValidUTF8(text[:min(len(text), maxMessage)], ""))
		}
		address, _ := wire.Unquote(wire.Get(m.Raw, at, "url").Of(m.Raw))
		b.WriteString("\n\nThe page: " + address)
	}
	if pages == 0 {
		return reply, nil
	}
	b.WriteString("\n\nShow the person the whole address, and let them decide whether to open it. Do not call again until they say that it is done. Then make the same call once more.")
	body := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), b.String())
	msg, err := wire.Scan(result(m.Field(m.ID), append(body, `}],"isError":true}`...)).Body, r.limits.Scan)
	reply.Msg = msg
	return reply, err
}

// explained is inWords for a client that cannot make anything of the refusal
// itself. Surfaces that speak to people in their own words can.
func (s *Session) explained(a asker, reply contract.Reply) (contract.Reply, error) {
	if s.caps.URL || s.surface != "" {
		return reply, nil
	}
	return s.relay.inWords(a, reply)
}
