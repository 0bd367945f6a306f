package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/lease"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/plant"
	"github.com/answerback/answerback/internal/wire"
)

// thread is what is kept with an ask so that the call in which it was asked
// can go on after a restart: where the call stands at its backend, and where
// its client is to be found again.
type thread struct {
	Who     ask.Principal // the caller, who may be another than whom the ask is for
	Handle  []byte        // the backend's own, nil where it cannot take the call up
	Message []byte        // the client's request
	Name    string        // what it calls, in the backend's own names
	Caps    era.Caps
	Client  string
	Manner  Manner // how the client is treated

	// Of a call of a legacy session.
	At      string `json:",omitempty"`
	Version string `json:",omitempty"`
	Hello   []byte `json:",omitempty"`
	CapsKey string `json:",omitempty"`
	Mark    []byte `json:",omitempty"` // the surface's own
	Surface string `json:",omitempty"`
	// Conversation is whose lines the session used.
	Conversation string `json:",omitempty"`

	parking.Place // of a call that outlives its request
}

// waits says who waits for the outcome of a question, now and after a restart.
func (k *carried) waits(to contract.Peer) desk.Asker {
	by := desk.Asker{Settled: k.settle}
	if len(k.calls) != 1 {
		return by
	}
	c := k.calls[0]
	if _, parked := to.(*parking.Offer); parked {
		by.Kept, by.Group = true, c.pk.ID()
	} else if k.told {
		by.Group = c.pk.ID()
	} else {
		by.Group = k.asker.session + "/" + wire.IDKey(c.msg.Field(c.msg.ID))
		by.Kept = lasts(to)
	}
	by.Resume = func() []byte { return k.thread(c, to) }
	return by
}

// lasts reports whether a question is kept from the start because of who is
// shown it.
func lasts(to contract.Peer) bool {
	p, ok := to.(contract.Lasting)
	return ok && p.Lasting()
}

// thread describes the call as it stands.
func (k *carried) thread(c *call, to contract.Peer) []byte {
	a := k.asker
	t := thread{Who: a.who, Handle: k.q.Resume, Message: c.msg.Raw, Name: a.name, Caps: a.caps, Client: a.client, Manner: a.manner}
	if o, parked := to.(*parking.Offer); parked {
		t.Place = o.Place()
	} else if k.told {
		t.Place = c.pk.Place()
	} else {
		s := a.of
		if t.Mark = to.Mark(); s == nil || t.Mark == nil {
			return nil
		}
		t.At, t.Version, t.Hello, t.CapsKey = s.at, s.version, s.hello, s.capsKey
		t.Surface, t.Conversation = s.surface, s.conversation
	}
	t.Told = t.Told || k.told
	b, err := json.Marshal(t)
	if err != nil {
		return nil // there is nothing in it that cannot be written
	}
	return b
}

// Returning is where a client of before a restart is found again.
type Returning interface {
	// Return finds the session with this mark, or makes it again: then behind
	// is called with the session's own peer, and gives the session that stands
	// behind it. Several calls of one session find the same one. No limit on
	// sessions counts. An error means that the mark cannot be read.
	Return(mark []byte, id string, who ask.Principal, behind func(own contract.Peer) *Session) (Returned, error)
}

// Returned is the client's end of a call from before a restart.
type Returned struct {
	Session *Session
	Life    context.Context // the session's
	Peer    contract.Peer
	Finish  func(contract.Response) // gives the client the call's response
}

// Revive takes up the call in which a group of asks was asked before a
// restart. It is a desk.Revive, but for where clients are found again. What
// cannot be read is set aside; what is gone is lost.
func (r *Relay) Revive(_ context.Context, clients Returning, group []desk.Stored) []desk.Revived {
	revived := make([]desk.Revived, len(group))
	err := r.revive(clients, group, revived)
	if err == nil {
		return revived
	}
	var why desk.Revived
	if bad, ok := errors.AsType[*unreadable](err); ok {
		why.Aside = bad
	} else {
		why.Lost = ask.From(err)
		r.log.Warn("call not taken up after a restart", "backend", group[0].Ask.Backend, "principal", group[0].Ask.Addressee.Principal, "code", why.Lost.Code, "err", err)
	}
	for i := range revived {
		revived[i] = why
	}
	return revived
}

// unreadable is why a call cannot be taken up of which nothing is known to be
// lost: what was kept of it makes no sense to this version.
type unreadable struct {
	what  string
	cause error
}

func (u *unreadable) Error() string {
	if u.cause == nil {
		return u.what
	}
	return u.what + ": " + u.cause.Error()
}

func (u *unreadable) Unwrap() error { return u.cause }

// errRestored is how a question ends that comes from a backup, where its call
// may have gone on after the backup was taken.
var errRestored = ask.Errorf(ask.OutcomeUnknown, "The gateway was restored from a backup. It is not known whether the call in which this was asked went on after the backup was taken, so nothing is sent to its server a second time.")

func lostCall(cause error) *ask.Error {
	if errors.Is(cause, errRestored) {
		return errRestored
	}
	return ask.Wrap(ask.BackendLost, "The gateway was restarted, and the call in which this was asked could not be taken up again.", cause)
}

func (r *Relay) revive(clients Returning, group []desk.Stored, revived []desk.Revived) error {
	threads := make([]thread, len(group))
	handles := make([][]byte, len(group))
	for i, s := range group {
		if s.Resume == nil {
			return lostCall(nil)
		}
		if err := json.Unmarshal(s.Resume, &threads[i]); err != nil {
			return &unreadable{"the thread of ask " + s.Ask.ID + " cannot be read", err}
		}
		if !threads[i].sameCall(&threads[0]) || s.Ask.Backend != group[0].Ask.Backend || s.Ask.Session != group[0].Ask.Session {
			return &unreadable{"the threads of asks " + group[0].Ask.ID + " and " + s.Ask.ID + ", which are of one call, contradict each other", nil}
		}
		handles[i] = threads[i].Handle
	}
	first := group[0].Ask
	e := r.table.Load().byName[first.Backend]
	if e == nil {
		return ask.Errorf(ask.BackendLost, "The server that asked is no longer configured.")
	}
	msg, err := wire.Scan(threads[0].Message, r.limits.Scan)
	if err != nil || msg.Kind != wire.Request {
		return &unreadable{"the request kept with ask " + first.ID + " cannot be read", err}
	}
	x := &revival{relay: r, entry: e, first: first, open: group[0].Open, past: past(group, threads), msg: &msg, threads: threads, handles: handles}
	if threads[0].Parked != "" {
		err = x.parked(group, revived)
	} else {
		err = x.session(clients, group, revived)
	}
	if _, bad := errors.AsType[*unreadable](err); err == nil || bad {
		return err
	}
	return lostCall(err)
}

// past reports whether the call of a restored backup must not be taken up. A
// call that waits for a person to answer anew is. One with an answer is not,
// because the answer may have been delivered after the backup; nor is one that
// waits for an account, because it may have been sent; nor one whose client was
// told to call again, because its result may have been given out, and the next
// call of the same kind would get it.
func past(group []desk.Stored, threads []thread) bool {
	for i, s := range group {
		if s.Restored && (!s.Open || s.Ask.Kind == ask.Connect || threads[i].Told) {
			return true
		}
	}
	return false
}

// sameCall reports whether two threads can be of the same call.
func (t *thread) sameCall(o *thread) bool {
	return t.Who == o.Who && bytes.Equal(t.Message, o.Message) && t.Name == o.Name && t.Parked == o.Parked && t.At == o.At && bytes.Equal(t.Mark, o.Mark)
}

// resume asks the backend to take the call up, on a line that other calls may
// share.
func (x *revival) resume(hello contract.Hello, sink contract.Sink) (*contract.Resumed, error) {
	for _, h := range x.handles {
		if h == nil && !x.past {
			return nil, ask.Errorf(ask.BackendLost, "Backend "+x.entry.Backend.Name()+" cannot take a call up again after a restart.")
		}
	}
	if x.past {
		return nil, errRestored
	}
	take := x.entry.Backend.Resume
	if x.first.Kind == ask.Connect {
		take = x.unsent
	}
	resumed, err := take(hello, sink, x.handles...)
	if err == nil {
		resumed.Line = x.relay.rejoined.share(resumed.Line)
	}
	return resumed, err
}

// unsent takes up a call that waited for an account. The backend had not run
// it as long as the question was open; afterwards it may have.
func (x *revival) unsent(hello contract.Hello, sink contract.Sink, handles ...[]byte) (*contract.Resumed, error) {
	if x.entry.Doorstep == nil || !plant.Instead(plant.SentTwice, true, x.open) || len(handles) != 1 {
		return nil, ask.Errorf(ask.BackendLost, "Backend "+x.entry.Backend.Name()+" may have been sent the call before the restart.")
	}
	return x.entry.Doorstep.Resume(hello, x.relay.opener(x.entry.Backend), sink, handles[0])
}

// revival is one call that is being taken up.
type revival struct {
	relay   *Relay
	entry   *Entry
	first   ask.Ask // of its asks
	open    bool    // that one is
	past    bool    // it may have gone on after the backup that it comes from
	msg     *wire.Message
	threads []thread
	handles [][]byte
}

func (x *revival) asker() asker {
	t := x.threads[0]
	return asker{
		relay: x.relay, backend: x.entry.Backend.Name(), who: t.Who, session: x.first.Session,
		caps: t.Caps, version: era.LatestLegacy, manner: t.Manner, during: x.msg.Method(), name: t.Name, client: t.Client, through: t.Place.Through,
	}
}

// carry ties the asks to the questions that the backend has open.
func (x *revival) carry(group []desk.Stored, c *call, questions []*contract.Question, to func(i int) contract.Peer, revived []desk.Revived) {
	for i, s := range group {
		k := &carried{asker: c.asker, q: questions[i], calls: []*call{c}, opened: make(chan struct{}), over: make(chan struct{})}
		k.caps, k.form = x.relay.fit(x.entry, &s.Ask, c.asker.caps)
		if s.Open {
			c.opens(k)
			c.clock.pause()
		}
		k.open(s.Ask.ID)
		var ways desk.Ways
		if x.threads[i].Told {
			k.told, ways.Page = true, true
			if s.Open {
				k.waitsOnPage(&s.Ask)
			}
		} else {
			_, ways, _ = k.ways(x.entry, s.Ask.Kind, to(i)) // without a way it waits for its client
		}
		revived[i] = desk.Revived{Asker: desk.Asker{Settled: k.settle}, Ways: ways}
	}
}

// session takes up a call of a legacy session, and the session with it.
func (x *revival) session(clients Returning, group []desk.Stored, revived []desk.Revived) error {
	r, t := x.relay, x.threads[0]
	back, err := clients.Return(t.Mark, x.first.Session, t.Who, x.behind)
	if err != nil {
		return &unreadable{"the session of ask " + x.first.ID + " cannot be made again", err}
	}
	id := x.msg.Field(x.msg.ID)
	s, key := back.Session, wire.IDKey(id)
	begun, answered := false, false
	defer func() {
		// Also after a panic: the session must not wait for the call.
		if begun && !answered {
			s.finished(key)
		}
		if !answered {
			back.Finish(contract.Response{})
		}
	}()
	if s.soloEntry != nil && s.soloEntry.Backend.Name() != x.entry.Backend.Name() {
		return &unreadable{"ask " + x.first.ID + " is of another server than its session", nil}
	}
	a := x.asker()
	a.of = s
	c, ctx := newCall(back.Life, x.msg, back.Peer, a, r.timeout(x.entry), r.limits.CallCap)
	if err := s.takeUp(key, c); err != nil {
		c.finish()
		return err
	}
	begun = true
	events := s.eventsOf(x.entry)
	shared := &holder{relay: r, backend: x.entry.Backend.Name(), to: events}
	if s.conversation != "" {
		events = shared
	}
	resumed, err := x.resume(contract.Hello{Principal: s.who, Params: t.Hello, Events: events}, c)
	if err != nil {
		s.finished(key)
		c.finish()
		answered = true
		back.Finish(fail(id, lostCall(err), era.Legacy))
		return err
	}
	plant.Kill("relay.resumed.session")
	if s.conversation != "" {
		s.lendable(x.entry, resumed, shared)
	}
	s.adopt(x.entry, resumed.Line)
	x.carry(group, c, resumed.Questions, func(int) contract.Peer { return back.Peer }, revived)
	for i := range revived {
		revived[i].Again = lasts(back.Peer)
	}
	answered = true
	r.running.Go(func() {
		reply, err := resumed.Wait(ctx)
		s.finished(key)
		c.finish()
		switch {
		case c.isAbandoned() || c.isSuspended() || cancelled(ctx, err):
			back.Finish(contract.Response{})
		case err != nil:
			back.Finish(failed(id, err, era.Legacy, reply.Event))
		default:
			back.Finish(restore(reply, id))
		}
	})
	return nil
}

// behind makes the session of the call again, for the first of its calls that
// is taken up. Its lines come with the calls.
func (x *revival) behind(own contract.Peer) *Session {
	r, t := x.relay, x.threads[0]
	s := &Session{
		relay: r, at: t.At, id: x.first.Session, who: t.Who, access: nothing{}, peer: own,
		version: t.Version, caps: t.Caps, hello: t.Hello, capsKey: t.CapsKey, client: t.Client, manner: t.Manner,
		surface: t.Surface, conversation: t.Conversation,
		ready: make(chan struct{}), calls: make(map[string]*call), idle: make(chan struct{}),
	}
	close(s.ready)
	if r.solo(r.table.Load(), t.At) != nil {
		s.soloEntry, s.soloLine = x.entry, newReturnedLine()
	} else {
		s.startJoin()
	}
	return s
}

// eventsOf takes what a backend of the session sends outside any call.
func (s *Session) eventsOf(e *Entry) contract.Events {
	if s.join == nil {
		return &soloEvents{s}
	}
	return &joinEvents{s.join, e.Backend.Name()}
}

// takeUp is begin for a call that was begun before a restart: what the limit
// on calls lets in was let in then.
func (s *Session) takeUp(key string, c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ask.Errorf(ask.ClientGone, "The session has ended.")
	case s.calls[key] != nil:
		return &unreadable{"two calls of one session have the request id " + key, nil}
	}
	if plant.LoneCall.On() && len(s.calls) > 0 {
		panic("planted: a second call of the session")
	}
	s.calls[key] = c
	return nil
}

// adopt gives a session the line of a call that was taken up. Several calls
// may come with one line, or each with its own: those beside the first serve
// their calls alone.
func (s *Session) adopt(e *Entry, line contract.Line) {
	if s.join == nil {
		s.soloLine.(*returnedLine).adopt(line)
		return
	}
	s.join.adopt(e, line)
}

// Admit says what the caller of a session from before a restart may use. It
// comes before the session's first call; until then that is nothing.
func (s *Session) Admit(a contract.Access) {
	s.mu.Lock()
	s.access = a
	s.mu.Unlock()
	if s.soloEntry == nil {
		return
	}
	if e := s.seen().byName[s.soloEntry.Backend.Name()]; e != nil {
		s.mu.Lock()
		s.soloEntry = e
		s.mu.Unlock()
	}
}

// seen is the table of backends as the session's caller sees it.
func (s *Session) seen() *table {
	s.mu.Lock()
	a := s.access
	s.mu.Unlock()
	return s.relay.table.Load().seenBy(a)
}

// nothing is an access to nothing.
type nothing struct{}

func (nothing) Backend(string) bool      { return false }
func (nothing) Tool(string, string) bool { return false }
func (nothing) Key() string              { return "" }

// parked takes up a call whose client was sent away with a question.
func (x *revival) parked(group []desk.Stored, revived []desk.Revived) error {
	r, e, t := x.relay, x.entry, x.threads[0]
	places := make([]parking.Place, len(x.threads))
	for i := range x.threads {
		places[i] = x.threads[i].Place
	}
	pk, offers, err := r.lot.Revive(e.terms(t.Who, 0, t.Name, t.Caps, t.Manner), x.first.Asked, places)
	if err != nil {
		return &unreadable{"the call of ask " + x.first.ID + " cannot be made again", err}
	}
	w := newErrand(pk)
	c, life := newCall(context.Background(), x.msg, nil, x.asker(), r.timeout(e), r.limits.CallCap)
	w.carries(c)
	resumed, err := x.resume(contract.Hello{Principal: t.Who, Events: &leased{r, e.Backend.Name(), w.event}}, w)
	if err != nil {
		c.finish()
		pk.Lost(lostCall(err))
		return err
	}
	plant.Kill("relay.resumed.parked")
	for i, s := range group {
		if caps, _ := r.fit(e, &s.Ask, c.asker.caps); s.Open && !x.threads[i].Told && (caps.Form || s.Ask.Kind != ask.Form) {
			_ = plain{Peer: offers[i]}.Show(&s.Ask)
		}
	}
	x.carry(group, c, resumed.Questions, func(i int) contract.Peer { return offers[i] }, revived)
	pk.Await()
	r.running.Go(func() {
		reply, err := resumed.Wait(life)
		c.finish()
		w.finish(reply, err)
		lease.Alone(resumed.Line).Close()
	})
	return nil
}
