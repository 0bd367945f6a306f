package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

// maxFindings is how many messages of one stream Check names.
const maxFindings = 1000

// Finding is one thing that is wrong with a store.
type Finding struct {
	Stream  string
	Subject string // of the message, or "" where it is about the whole stream
	Seq     uint64
	Problem error
}

func (f Finding) String() string {
	if f.Subject == "" {
		return f.Stream + ": " + f.Problem.Error()
	}
	return fmt.Sprintf("%s: message %d, %s: %v", f.Stream, f.Seq, f.Subject, f.Problem)
}

// Check reads an embedded store that no process uses, all of it, and gives
// what is wrong, where Open would stop at the first thing. A store without
// findings is opened by Open. Check writes no records, but the engine may
// write its indexes: to repair a damaged store, work on a copy. The error is
// for a store that cannot be read at all.
func Check(ctx context.Context, cfg Config) ([]Finding, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if !cfg.embedded() {
		return nil, fail(journal.Invalid, "only a store in a directory of its own can be checked", nil)
	}
	if _, err := os.Stat(cfg.Dir); err != nil {
		return nil, unavailable("looking for the store", err)
	}
	j := newJournal(cfg)
	if err := j.connect(); errors.Is(err, journal.Corrupt) {
		return []Finding{{Stream: cfg.Dir, Problem: err}}, j.shut()
	} else if err != nil {
		return nil, errors.Join(err, j.shut())
	}
	j.makeTables()
	found, err := j.inspect(ctx)
	return found, errors.Join(err, j.shut())
}

// inspect gives everything that is wrong with the streams.
func (j *Journal) inspect(ctx context.Context) ([]Finding, error) {
	js, err := jetstream.New(j.link.conn)
	if err != nil {
		return nil, unavailable("talking to NATS", err)
	}
	var found []Finding
	var store string
	ends := map[string]uint64{}
	for _, s := range j.layout.streams(&j.cfg) {
		info, err := js.Stream(ctx, s.Name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			found = append(found, Finding{Stream: s.Name, Problem: errors.New("the stream is missing")})
			continue
		case err != nil:
			return nil, unavailable("looking for stream "+s.Name, err)
		}
		if err := j.layout.recognise(&s, &info.CachedInfo().Config, &store); err != nil {
			found = append(found, Finding{Stream: s.Name, Problem: err})
		}
		ends[s.Name] = info.CachedInfo().State.LastSeq
	}
	for _, t := range append(j.tables(), j.audit) {
		if _, there := ends[t.stream]; !there {
			continue
		}
		bad, err := j.inspectFrames(ctx, t)
		if err != nil {
			return nil, err
		}
		found = append(found, bad...)
	}
	if len(found) > 0 { // then the ledgers cannot agree
		return found, nil
	}
	err = j.lookAtTime(ctx)
	if err == nil {
		err = j.verify(ctx, ends)
	}
	if errors.Is(err, journal.Corrupt) {
		found, err = append(found, Finding{Stream: "all", Problem: err}), nil
	}
	return found, err
}

// inspectFrames gives the messages of a table that cannot be used.
func (j *Journal) inspectFrames(ctx context.Context, t *table) ([]Finding, error) {
	var found []Finding
	filter := j.layout.auditSubject()
	if t.mark != "" {
		filter = j.everything(t)
	}
	s := scanner{table: t, filters: []string{filter}, next: 1, bad: func(subject string, seq uint64, err error) {
		if len(found) < maxFindings {
			found = append(found, Finding{t.stream, subject, seq, err})
		}
	}}
	err := s.run(ctx, func(m stored, _ error) bool {
		if m.frame.kind == kindAsk {
			if _, err := j.record(&m); err != nil {
				s.bad(m.subject, m.seq, err)
			}
		}
		return true
	})
	return found, err
}
