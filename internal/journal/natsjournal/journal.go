package natsjournal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/answerback/answerback/internal/journal"
)

// Journal is a journal on NATS. Safe for concurrent use.
type Journal struct {
	cfg    Config
	layout layout
	link   *link
	asks   []*table
	shelf  *table
	audit  *table
	engine *engine // nil where the store is external
	clock  *clock
	noted  noted // the time as it was last read from the store
	before int64 // the time that was noted when the store was opened
	trash  chan trash
	// lapsed counts the open asks that scans found to be over since the time
	// before.
	lapsed atomic.Int64

	life    context.Context // until it is closed
	end     context.CancelFunc
	running sync.WaitGroup
}

var _ journal.Journal = (*Journal)(nil)

// Open opens the store, or makes it where there is none yet. Errors are for
// the operator: they say what cannot be used and what to do. They are
// *journal.Error where it is about what is stored.
func Open(ctx context.Context, cfg Config) (*Journal, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	j := newJournal(cfg)
	if err := j.open(ctx); err != nil {
		return nil, errors.Join(err, j.shut())
	}
	if j.engine != nil {
		j.running.Go(j.mend)
	}
	j.running.Go(j.keepTime)
	j.running.Go(j.sweep)
	return j, nil
}

func newJournal(cfg Config) *Journal {
	j := &Journal{cfg: cfg, layout: layout{prefix: cfg.Prefix, shards: cfg.Shards}}
	j.clock = newClock(cfg.Now)
	j.trash = make(chan trash, maxTrash)
	j.life, j.end = context.WithCancel(context.Background())
	j.link = &link{
		timeout: cfg.Timeout,
		log:     cfg.Log,
		trouble: make(chan struct{}, 1),
		watches: map[*watch]struct{}{},
	}
	j.link.live()
	return j
}

func (j *Journal) open(ctx context.Context) error {
	err := j.connect()
	if err != nil {
		return err
	}
	j.makeTables()
	ends, err := j.layout.prepare(ctx, j.link.conn, &j.cfg)
	if err != nil {
		return j.locate(err)
	}
	if err := j.lookAtTime(ctx); err != nil {
		return j.locate(err)
	}
	if j.engine != nil {
		if err := j.verify(ctx, ends); err != nil {
			return j.locate(err)
		}
	}
	if err := j.begin(ctx, ends); err != nil {
		return err
	}
	j.before = j.noted.at
	if ahead := time.Duration(j.before - j.cfg.Now().UnixNano()); ahead > j.cfg.slack {
		j.cfg.Log.Warn("journal: the wall clock is behind the time of the store, which goes on from there", "by", ahead.Round(time.Second))
	}
	return j.noteTime(ctx)
}

// begin gives every new stream a first message. From then on a stream that
// is not there has been lost, and is not one that was never made.
func (j *Journal) begin(ctx context.Context, ends map[string]uint64) error {
	for _, t := range j.tables() {
		if ends[t.stream] > 0 || t == j.shelf { // there the time is noted next
			continue
		}
		if _, err := t.put(ctx, write{subject: t.mark, kind: kindMark, expires: journal.Never}); err != nil {
			return err
		}
	}
	return nil
}

// connect starts the engine where it is ours, and connects to it.
func (j *Journal) connect() (err error) {
	options := j.link.options()
	url := j.cfg.URL
	if j.cfg.embedded() {
		if j.engine, err = startEngine(&j.cfg); err != nil {
			return err
		}
		url = ""
		options = append(options, nats.InProcessServer(j.engine))
	} else {
		more, err := j.cfg.credentials()
		if err != nil {
			return err
		}
		options = append(options, more...)
	}
	if j.link.conn, err = nats.Connect(url, options...); err != nil {
		return unavailable("connecting to NATS", err)
	}
	return nil
}

func (j *Journal) makeTables() {
	newTable := func(stream, subjects string) *table {
		t := &table{
			link: j.link, clock: j.clock, slack: j.cfg.slack, stream: stream, mark: subjects + "mark",
			lane: make(chan struct{}, 1), index: len(j.asks), passed: j.passed,
		}
		if j.engine != nil {
			t.stamps, t.room = j.stamps, j.engine.room
		}
		t.book.begin(0, map[int64]tally{})
		return t
	}
	for i := range j.layout.shards {
		j.asks = append(j.asks, newTable(j.layout.askStream(i), j.layout.askSubjects(i)))
	}
	j.shelf = newTable(j.layout.shelfStream(), j.layout.shelfSubjects())
	// The audit is only read through its table, and has no marks: what a
	// lagging replica does not have yet is read the next time.
	j.audit = &table{link: j.link, stream: j.layout.auditStream()}
}

// tables gives those that have a ledger, in the order of a stamp.
func (j *Journal) tables() []*table { return append(j.asks[:len(j.asks):len(j.asks)], j.shelf) }

// stamps gives the ledgers of all tables as they are now.
func (j *Journal) stamps() []ledger {
	now := j.clock.now()
	all := make([]ledger, 0, len(j.asks)+1)
	for _, t := range j.asks {
		all = append(all, t.book.ledger(now))
	}
	return append(all, j.shelf.book.ledger(now))
}

// Close ends everything that the journal runs and waits for it, as long as
// ctx lets it take leave of the store properly. After an error the store is
// closed as well.
func (j *Journal) Close(ctx context.Context) error {
	j.end()
	j.running.Wait()
	var err error
	if j.link.broken.Load() == nil && j.link.conn.IsConnected() {
		// In an embedded store this last write vouches for the ends of all streams.
		if err = j.noteTime(ctx); err != nil && j.engine == nil {
			j.cfg.Log.Warn("journal: the time could not be noted in the store", "cause", err)
			err = nil
		}
	}
	return errors.Join(err, j.shut())
}

// shut releases what open got hold of.
func (j *Journal) shut() error {
	j.end()
	j.link.lose()
	if j.link.conn != nil {
		closed := j.link.conn.StatusChanged(nats.CLOSED)
		j.link.conn.Close()
		<-closed
	}
	if j.engine != nil {
		return j.engine.close()
	}
	return nil
}
