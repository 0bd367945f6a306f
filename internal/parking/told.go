package parking

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// A client that can show neither a form nor a link is not made to wait for a
// person. Its call ends with a readable result: where the person is to go, and
// that the same call is to be made again when they are done. The work goes on
// meanwhile, and that repeated call gets what came of it, once.

// Page is a question that waits on a page.
type Page struct {
	Link    string
	Message string // the question, as far as it is repeated to a client
	Group   bool   // somebody else is asked, whose page it is
}

// Page says that a question of the call waits on a page.
func (pk *Call) Page(p Page) {
	pk.mu.Lock()
	pk.pages = append(pk.pages, p)
	pk.updated = time.Now()
	pk.mu.Unlock()
	pk.signal()
}

// Settled says that a question of the call has ended, and where it waited: ""
// for on no page.
func (pk *Call) Settled(link string) {
	pk.mu.Lock()
	pk.pages = slices.DeleteFunc(pk.pages, func(p Page) bool { return p.Link == link })
	pk.updated = time.Now()
	pk.mu.Unlock()
	pk.signal()
}

// ownPages reports whether a question waits on a page of the caller's. The
// caller has the lock.
func (pk *Call) ownPages() bool {
	return slices.ContainsFunc(pk.pages, func(p Page) bool { return !p.Group })
}

// toldError ends a request whose client is to call again.
type toldError struct {
	why *ask.Error
	pk  *Call
	// first says that nobody was told of the call before.
	first bool
}

func (e *toldError) Error() string { return e.why.Error() }
func (e *toldError) Unwrap() error { return e.why }

// tellAgain ends the client's request with the words to call again. From then
// on a repeated call finds this one, in the next life of the gateway too.
func (pk *Call) tellAgain(msg *wire.Message) error {
	key, err := pk.same()
	if err != nil {
		return err
	}
	pk.mu.Lock()
	first, over := !pk.told, pk.over
	if first && !over {
		pk.told = true
		if pk.terms.Told != nil {
			pk.terms.Told()
		}
	}
	pk.mu.Unlock()
	if first && !over {
		pk.keepPlace()
	}
	if over || !pk.leave() {
		return errStays
	}
	pk.lot.tell(pk, key)
	return &toldError{pk.waiting(msg.Method()), pk, first}
}

// waiting says what the call waits for: to the model, and to the person.
func (pk *Call) waiting(method string) *ask.Error {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	var b strings.Builder
	b.WriteString("The server " + pk.terms.Backend + " asks a person something before it can go on with " + described(method, pk.terms.Name) + ".")
	link := ""
	for _, p := range pk.pages {
		if p.Group {
			continue
		}
		if p.Message != "" {
			b.WriteString("\n\nThe question: " + p.Message)
		}
		b.WriteString("\n\nTo answer, the person opens " + p.Link)
		if link == "" {
			link = p.Link
		}
	}
	b.WriteString("\n\nShow the person this address. Do not call again until the person says that it is done. Then make exactly the same call once more: it gives the result of this one, which goes on meanwhile.")
	return &ask.Error{Code: ask.Waiting, Message: b.String(), Data: map[string]any{"url": link}}
}

func described(method, name string) string {
	switch method {
	case "tools/call":
		return "the tool " + name
	case "prompts/get":
		return "the prompt " + name
	}
	return name
}

// CallAgain gives the response of a request whose client is to call again, by
// the error of Serve or Again; false for every other error.
func CallAgain(id []byte, method string, err error, in era.Era) (contract.Response, bool) {
	told, ok := err.(*toldError)
	if !ok {
		return contract.Response{}, false
	}
	resp := contract.Response{Body: era.AppendError(nil, id, told.why, in), Status: era.StatusOf(told.why)}
	if method == "tools/call" {
		// Models read results, and seldom errors.
		body := []byte(`{`)
		if in == era.Modern {
			body = append(body, `"resultType":"complete",`...)
		}
		body = wire.AppendString(append(body, `"content":[{"type":"text","text":`...), told.why.Message)
		resp = contract.Response{Body: era.AppendResult(nil, id, append(body, `}],"isError":true}`...)), Status: http.StatusOK}
	}
	if in == era.Modern && told.first {
		// Nobody knows of the call: the client has cancelled it.
		resp.Unsent = func() { told.pk.end(ask.Errorf(ask.ClientGone, "The client did not get the link to the question.")) }
	}
	return resp, true
}

// sameCall is what tells calls apart: two are the same where principal, era,
// backend, method, name and arguments are.
func (l *Lot) sameCall(who ask.Principal, in era.Era, backend, name string, msg *wire.Message) (string, error) {
	digest, err := era.SameCall(msg, name)
	if err != nil {
		return "", err
	}
	return string(l.ring.Digest(seal.Call, append(seal.Words(who.Issuer, who.Subject, in.String(), backend), digest[:]...))), nil
}

// same is sameCall for the call itself.
func (pk *Call) same() (string, error) {
	t := pk.terms
	return pk.lot.sameCall(t.Who, t.Era, t.Backend, t.Name, pk.began)
}

// tell lets repeated calls find pk.
func (l *Lot) tell(pk *Call, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pk.claimed = false
	if pk.key != "" || l.calls[pk.id] != pk {
		return
	}
	pk.key = key
	l.told[key] = append(l.told[key], pk)
}

// untell is its reverse, for whoever has the lock.
func (l *Lot) untell(pk *Call) {
	if pk.key == "" {
		return
	}
	rest := slices.DeleteFunc(l.told[pk.key], func(other *Call) bool { return other == pk })
	if len(rest) == 0 {
		delete(l.told, pk.key)
	} else {
		l.told[pk.key] = rest
	}
	pk.key = ""
}

// Again finds the call that this one repeats, nil where there is none. It
// belongs to whoever finds it, alone. While its question is open it does not:
// all who repeat it get an error, which is for CallAgain. A call that is over
// comes before one that works on.
func (l *Lot) Again(who ask.Principal, in era.Era, backend, name string, msg *wire.Message) (*Call, error) {
	l.mu.Lock()
	some := len(l.told) > 0 && l.each[who] > 0
	l.mu.Unlock()
	if !some {
		return nil, nil
	}
	key, err := l.sameCall(who, in, backend, name, msg)
	if err != nil {
		return nil, nil // it will be refused where it goes
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var found *Call
	for _, pk := range l.told[key] {
		if pk.claimed {
			continue
		}
		if pk.isDone() {
			found = pk
			break
		}
		if found == nil {
			found = pk
		}
	}
	switch {
	case found == nil:
		return nil, nil
	case found.held(msg) == 0 && found.waitsForOwn():
		return nil, &toldError{why: found.waiting(msg.Method()), pk: found}
	}
	found.claimed = true
	return found, nil
}

// waitsForOwn reports whether the call waits for its caller to answer.
func (pk *Call) waitsForOwn() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return !pk.over && pk.ownPages()
}

// unclaim lets another repeated call have this one, or nobody.
func (pk *Call) unclaim() {
	if !pk.leave() { // it is over, and was not kept: somebody was there
		pk.giveBack()
		return
	}
	pk.lot.mu.Lock()
	pk.claimed = false
	pk.lot.mu.Unlock()
}

// giveBack takes a response back that could not be sent: the next repeated
// call gets it.
func (pk *Call) giveBack() {
	pk.mu.Lock()
	pk.msg, pk.sink = nil, nil
	pk.mu.Unlock()
	pk.keepReply()
	if err := pk.await(pk.Admit); err != nil {
		pk.lot.log.Warn("a response that could not be sent is lost", "backend", pk.terms.Backend, "err", err)
	}
}

// expireLater forgets a response that nobody calls for. The caller has the
// lock.
func (pk *Call) expireLater() {
	if pk.patient != nil {
		pk.patient.Stop()
	}
	pk.patient = time.AfterFunc(pk.terms.Away, func() { pk.lot.remove(pk) })
}
