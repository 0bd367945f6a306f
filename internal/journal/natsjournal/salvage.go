package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

// Salvage reads what can be read of a damaged embedded store, in the form in
// which it can be loaded into another, and tells lost of what cannot. The
// engine may write to the directory: give it a copy. The sequence ends with an
// error where nothing can be read at all.
//
// Where a message is lost, an older version of the same record may be among
// what is read. What is salvaged is therefore to be treated as a backup of
// unknown age.
func Salvage(ctx context.Context, cfg Config, lost func(Finding)) iter.Seq2[journal.Saved, error] {
	return func(yield func(journal.Saved, error) bool) {
		if err := salvage(ctx, cfg, lost, func(s journal.Saved) bool { return yield(s, nil) }); err != nil {
			yield(journal.Saved{}, err)
		}
	}
}

func salvage(ctx context.Context, cfg Config, lost func(Finding), yield func(journal.Saved) bool) (err error) {
	cfg.damage = func(stream string, problem error) { lost(Finding{Stream: stream, Problem: problem}) }
	if err := cfg.check(); err != nil {
		return err
	}
	if _, err := os.Stat(cfg.Dir); err != nil || !cfg.embedded() {
		return unavailable("looking for the store", err)
	}
	j := newJournal(cfg)
	defer func() { err = errors.Join(err, j.shut()) }()
	if err := j.connect(); err != nil {
		return err
	}
	js, err := jetstream.New(j.link.conn)
	if err != nil {
		return unavailable("talking to NATS", err)
	}
	if err := j.fitShards(ctx, js); err != nil {
		return err
	}
	j.makeTables()
	if err := j.lookAtTime(ctx); err != nil {
		lost(Finding{Stream: j.shelf.stream, Subject: j.clockSubject(), Problem: err})
	}
	for _, t := range append(j.tables(), j.audit) {
		_, err := js.Stream(ctx, t.stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			lost(Finding{Stream: t.stream, Problem: errors.New("the stream is missing: all that it held is lost")})
			continue
		}
		if err != nil {
			return unavailable("looking for stream "+t.stream, err)
		}
		if more, err := j.salvageTable(ctx, t, lost, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

// fitShards takes the number of shards from the store, as far as it is known
// there.
func (j *Journal) fitShards(ctx context.Context, js jetstream.JetStream) error {
	for i := range maxShards {
		s, err := js.Stream(ctx, j.layout.askStream(i))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return unavailable("looking for stream "+j.layout.askStream(i), err)
		}
		if n, err := strconv.Atoi(s.CachedInfo().Config.Metadata[metaShards]); err == nil && n > 0 && n <= maxShards {
			j.layout.shards = n
			return nil
		}
	}
	return nil
}

// salvageTable gives what can be read of one stream. It is false where the
// reader has had enough.
func (j *Journal) salvageTable(ctx context.Context, t *table, lost func(Finding), yield func(journal.Saved) bool) (more bool, err error) {
	filter := j.layout.auditSubject()
	if t != j.audit {
		filter = j.recordsOf(t)
	}
	more = true
	give := func(s journal.Saved) bool {
		more = yield(s)
		return more
	}
	s := scanner{table: t, filters: []string{filter}, next: 1, bad: func(subject string, seq uint64, err error) {
		lost(Finding{t.stream, subject, seq, err})
	}}
	err = s.run(ctx, func(m stored, _ error) bool {
		if t == j.audit {
			for e, err := range entries(&m) {
				if err != nil {
					s.bad(m.subject, m.seq, err)
				} else if !give(journal.Saved{Kind: journal.SavedAudit, At: e.At, Value: e.Data}) {
					return false
				}
			}
			return true
		}
		record, ok, err := j.saved(t, &m)
		switch {
		case err != nil:
			s.bad(m.subject, m.seq, err)
		case ok:
			return give(record)
		}
		return true
	})
	if err != nil {
		return false, fmt.Errorf("what is left of stream %s cannot be read: %w", t.stream, err)
	}
	return more, nil
}
