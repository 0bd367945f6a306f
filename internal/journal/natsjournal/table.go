package natsjournal

import (
	"context"
	"errors"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/plant"
)

// table is one stream that keeps the last message of each subject.
type table struct {
	link   *link
	clock  *clock
	slack  time.Duration // after which the engine removes what is over
	stream string
	mark   string          // the subject of its marks
	stamps func() []ledger // nil where the store is shared
	room   func() error    // why nothing new can be stored; nil where the store is shared
	book   book
	index  int                   // in a stamp
	passed func(*table, *stored) // told of what a reader's scan passed over

	// lane lets one write in at a time where ledgers are kept: holding it over
	// the write is what makes them exact. The engine stores the messages of one
	// stream one after another anyway. doubt belongs to whoever holds it.
	lane  chan struct{}
	doubt *doubt
}

// doubt is a write whose fate is unknown.
type doubt struct {
	write
	nonce uint64
}

// write is one version of a record, to be stored.
type write struct {
	subject string
	old     journal.Rev // what it replaces, zero for nothing
	kind    kind
	expires int64 // from when on readers find nothing; 0 for an end
	open    bool  // an ask that is open: the engine does not remove it
	payload []byte
	least   int64 // of what a backup has: until when it must stay at least

	// These are set by date.
	until  int64
	pinned bool
	ttl    time.Duration // after which the engine may remove it; 0 for never
}

// date sets how long w stays in the store. This is the only place that does,
// so that the rule holds for every write: no version may be removed before
// those that it replaced are over.
func (w *write) date(now int64, slack time.Duration) {
	w.until = plant.Instead(plant.ShortLife, w.expires, max(journal.Until(w.old, w.expires), w.least))
	if w.kind == kindMark || w.kind == kindClock {
		return // they are replaced and never read as records
	}
	w.pinned = w.open || w.until == journal.Never
	if !w.pinned {
		left := time.Duration(max(w.until-now, 0))
		w.ttl = journal.Seconds(left + slack)
	}
}

// errLost means that the compare-and-set was lost.
var errLost = errors.New("another version is stored")

// put stores w. Errors: errLost, or a *journal.Error.
func (t *table) put(ctx context.Context, w write) (journal.Rev, error) {
	ctx, cancel := t.link.limit(ctx)
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return journal.Rev{}, unavailable("storing "+w.subject, err)
	}
	w.date(t.clock.now(), t.slack)
	if t.stamps == nil {
		return t.putShared(ctx, w)
	}
	if w.old.IsZero() && w.kind != kindMark && w.kind != kindClock {
		if err := t.room(); err != nil {
			return journal.Rev{}, fail(journal.Full, "storing "+w.subject, err)
		}
	}
	if err := t.enter(ctx); err != nil {
		return journal.Rev{}, unavailable("storing "+w.subject, err)
	}
	defer t.leave()
	if err := t.dispel(ctx); err != nil {
		return journal.Rev{}, unavailable("storing "+w.subject+" after a write whose fate is unknown", err)
	}
	plant.Kill("journal.put.before")
	rev, n, err := t.publish(ctx, w, t.stamps())
	plant.Kill("journal.put.after")
	switch {
	case err == nil:
		t.book.count(&w, rev.Seq)
	case errors.Is(err, journal.Unavailable):
		t.doubt = &doubt{w, n}
	}
	return rev, err
}

// putShared is put where others write too. With several replicas the engine
// refuses a write beside another one that is not decided yet. Then nothing was
// lost so far: the version to replace is still there, and the write is
// repeated.
func (t *table) putShared(ctx context.Context, w write) (journal.Rev, error) {
	for {
		rev, _, err := t.publish(ctx, w, nil)
		if !errors.Is(err, errLost) {
			return rev, err
		}
		is, err := t.last(ctx, w.subject) // the zero message where there is none
		switch {
		case err != nil && !errors.Is(err, journal.NotFound):
			return journal.Rev{}, err
		case is.seq != w.old.Seq:
			return journal.Rev{}, errLost
		}
		select {
		case <-ctx.Done():
			return journal.Rev{}, unavailable("storing "+w.subject+" beside another write", context.Cause(ctx))
		case <-time.After(retryPause):
		}
	}
}

// replace is put for a version that readers can still see: one that has
// expired is not replaced although it is still in the store.
func (t *table) replace(ctx context.Context, w write) (journal.Rev, error) {
	if !w.old.IsZero() && t.clock.now() >= w.old.Expires {
		return journal.Rev{}, errLost
	}
	return t.put(ctx, w)
}

func (t *table) enter(ctx context.Context) error {
	select {
	case t.lane <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *table) leave() { <-t.lane }

// publish stores w, and finds out what became of it where that is not clear.
func (t *table) publish(ctx context.Context, w write, stamp []ledger) (journal.Rev, uint64, error) {
	f := frame{
		kind:      w.kind,
		pinned:    w.pinned,
		oldPinned: w.old.Pinned && (stamp == nil || w.old.Until > stamp[t.index].asof),
		oldSeq:    w.old.Seq,
		version:   w.old.Version + 1,
		nonce:     nonce(),
		expires:   w.expires,
		until:     w.until,
		stamp:     stamp,
		payload:   w.payload,
	}
	rev := journal.Rev{Version: f.version, Pinned: f.pinned, Expires: f.expires, Until: f.until}
	seq, repeated, err := t.link.publish(ctx, &publication{
		subject:  w.subject,
		data:     f.encode(w.subject),
		expected: w.old.Seq,
		any:      w.kind == kindMark,
		ttl:      w.ttl,
	})
	var refused *apiError
	switch {
	case err == nil:
		rev.Seq = seq
		return rev, f.nonce, nil
	case !errors.As(err, &refused):
		return journal.Rev{}, f.nonce, unavailable("storing "+w.subject, err)
	case !refused.wrongLast():
		return journal.Rev{}, f.nonce, fail(refused.reason(), "storing "+w.subject, refused)
	case !repeated:
		return journal.Rev{}, f.nonce, errLost
	}
	// The one that won may be the one we sent first.
	got, err := t.last(ctx, w.subject)
	switch {
	case err != nil && !errors.Is(err, journal.NotFound):
		return journal.Rev{}, f.nonce, unavailable("storing "+w.subject, err)
	case err == nil && got.frame.nonce == f.nonce:
		rev.Seq = got.seq
		return rev, f.nonce, nil
	}
	return journal.Rev{}, f.nonce, errLost
}

// dispel finds out what became of a write whose fate was unknown. The lane is
// held. An attempt that must lose queues up behind that write; when it has
// lost, the write has been stored or never will be.
func (t *table) dispel(ctx context.Context) error {
	d := t.doubt
	if d == nil {
		return nil
	}
	const never = 1 << 62
	var refused *apiError
	_, _, err := t.link.publish(ctx, &publication{subject: t.mark, expected: never})
	switch {
	case err == nil:
		return errors.New("an attempt that cannot succeed was acknowledged")
	case !errors.As(err, &refused):
		return err
	}
	got, err := t.last(ctx, d.subject)
	if err != nil && !errors.Is(err, journal.NotFound) {
		return err
	}
	if err == nil && got.frame.nonce == d.nonce {
		t.book.count(&d.write, got.seq)
	}
	t.doubt = nil
	return nil
}

// stored is one message of a stream.
type stored struct {
	subject string
	seq     uint64
	at      time.Time
	frame   frame
}

func (s *stored) rev() journal.Rev {
	return journal.Rev{Seq: s.seq, Version: s.frame.version, Pinned: s.frame.pinned, Expires: s.frame.expires, Until: s.frame.until}
}

// read checks a message and gives what is in it.
func read(stream, subject string, seq uint64, at time.Time, data []byte) (stored, error) {
	f, err := decode(subject, data)
	if err != nil {
		return stored{}, corrupt("message "+subject+" of stream "+stream+" cannot be used", err)
	}
	return stored{subject, seq, at, f}, nil
}

// counts reports whether a message is a record that readers may see: no end
// of one, and not over. All that readers get goes through here.
func (t *table) counts(m *stored) bool {
	switch m.frame.kind {
	case kindAsk, kindItem:
		return t.clock.now() < m.frame.expires
	}
	return false
}

// get reads the record of a subject from the stream's leader.
func (t *table) get(ctx context.Context, subject string) (stored, error) {
	m, err := t.last(ctx, subject)
	if err == nil && !t.counts(&m) {
		return stored{}, fail(journal.NotFound, "reading "+subject, nil)
	}
	return m, err
}

// last reads the last message of a subject, also where it is over.
func (t *table) last(ctx context.Context, subject string) (stored, error) {
	return t.message(ctx, subject, map[string]any{"last_by_subj": subject})
}

func (t *table) message(ctx context.Context, what string, which map[string]any) (stored, error) {
	ctx, cancel := t.link.limit(ctx)
	defer cancel()
	reply, err := t.link.request(ctx, "STREAM.MSG.GET."+t.stream, which)
	if err != nil {
		return stored{}, unavailable("reading "+what, err)
	}
	var r struct {
		Error   *apiError `json:"error"`
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := parse(reply, &r); err != nil {
		return stored{}, unavailable("reading "+what, err)
	}
	switch {
	case r.Error == nil:
		m := &r.Message
		return read(t.stream, m.Subject, m.Seq, m.Time, m.Data)
	case r.Error.ErrCode == errMsgNotFound:
		return stored{}, fail(journal.NotFound, "reading "+what, nil)
	}
	return stored{}, unavailable("reading "+what, r.Error)
}
