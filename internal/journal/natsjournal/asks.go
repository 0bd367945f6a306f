package natsjournal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// Create is journal.Asks.Create.
func (j *Journal) Create(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if err := r.CheckCreate(); err != nil {
		return journal.Rev{}, err
	}
	return j.store(ctx, &r, journal.Exists)
}

// Update is journal.Asks.Update.
func (j *Journal) Update(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if err := r.CheckUpdate(); err != nil {
		return journal.Rev{}, err
	}
	return j.store(ctx, &r, journal.Conflict)
}

func (j *Journal) store(ctx context.Context, r *journal.Record, lost journal.Reason) (journal.Rev, error) {
	w := write{
		subject: j.layout.ask(r.Key),
		old:     r.Rev,
		kind:    kindAsk,
		open:    !r.Settled,
		expires: journal.After(j.clock.now(), journal.Seconds(r.Keep)),
		payload: encodeAsk(r),
	}
	if w.open {
		w.expires = j.recoverable(r)
	}
	rev, err := j.asks[j.layout.shard(r.Shard)].replace(ctx, w)
	if !errors.Is(err, errLost) {
		return rev, err
	}
	current, err := j.Get(ctx, r.Key)
	switch {
	case err == nil:
		return journal.Rev{}, &journal.Error{Reason: lost, Message: "storing " + r.ID, Current: &current}
	case lost == journal.Exists && errors.Is(err, journal.NotFound):
		// It went meanwhile. Its id was used all the same.
		return journal.Rev{}, fail(journal.Exists, "storing "+r.ID, nil)
	}
	return journal.Rev{}, err
}

// recoverable gives the moment from which on an open ask counts as over. It
// is rounded up, so that open asks have few different ones. The deadline is on
// the wall clock, and the moment on the clock of the store.
func (j *Journal) recoverable(r *journal.Record) int64 {
	grain := int64(j.cfg.grain)
	at := journal.After(j.clock.now(), r.Recoverable(j.cfg.Now(), j.cfg.Recovery))
	return (at + grain - 1) / grain * grain
}

// Get is journal.Asks.Get.
func (j *Journal) Get(ctx context.Context, k journal.Key) (journal.Record, error) {
	if err := k.Check(); err != nil {
		return journal.Record{}, err
	}
	m, err := j.asks[j.layout.shard(k.Shard)].get(ctx, j.layout.ask(k))
	if err != nil {
		return journal.Record{}, err
	}
	return j.record(&m)
}

// Open is journal.Asks.Open.
func (j *Journal) Open(ctx context.Context, home string) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		if err := journal.CheckHome(home); err != nil {
			yield(journal.Record{}, err)
			return
		}
		lapsed := j.lapsed.Load()
		defer func() {
			if n := j.lapsed.Load() - lapsed; n > 0 {
				j.cfg.Log.Warn("journal: questions were open for too long after their deadlines while no gateway settled them, and count as over", "home", home, "count", n)
			}
		}()
		for i, t := range j.asks {
			for m, err := range t.records(ctx, j.layout.askSubjects(i)+"*."+home+".*") {
				var r journal.Record
				if err == nil {
					r, err = j.record(&m)
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// Settled is journal.Asks.Settled.
func (j *Journal) Settled(ctx context.Context, shard uint16, addressee string) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		i := j.layout.shard(shard)
		for m, err := range j.asks[i].records(ctx, j.layout.askSubjects(i)+fmt.Sprintf("%04x.>", shard)) {
			var r journal.Record
			if err == nil {
				if m.frame.pinned {
					continue
				}
				r, err = j.record(&m)
			}
			if err == nil && r.Addressee != addressee {
				continue // somebody else with the same hash
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// listers is how many records a list reads at once.
const listers = 16

// List is journal.Asks.List. The leader names the subjects of everybody with
// the addressee's hash, and each of them is read.
func (j *Journal) List(ctx context.Context, shard uint16, addressee string, limit int) ([]journal.Record, error) {
	if err := journal.CheckList(addressee, limit); err != nil {
		return nil, err
	}
	i := j.layout.shard(shard)
	t := j.asks[i]
	subjects, err := t.subjects(ctx, j.layout.askSubjects(i)+fmt.Sprintf("%04x.>", shard))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	oldest := oldest{addressee: addressee, limit: limit}
	next := make(chan string)
	var wg sync.WaitGroup
	for range min(listers, len(subjects)) {
		wg.Go(func() {
			for s := range next {
				m, err := t.get(ctx, s)
				if errors.Is(err, journal.NotFound) {
					continue
				}
				var r journal.Record
				if err == nil {
					r, err = j.record(&m)
				}
				if err != nil {
					cancel(err)
					continue
				}
				oldest.add(r)
			}
		})
	}
	for _, s := range subjects {
		next <- s
	}
	close(next)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		if e, ok := errors.AsType[*journal.Error](err); ok {
			return nil, e
		}
		return nil, unavailable("listing", err)
	}
	return oldest.records(), nil
}

// subjects gives the subjects that match, as the stream's leader knows them.
func (t *table) subjects(ctx context.Context, filter string) ([]string, error) {
	var all []string
	for {
		var r struct {
			Error *apiError `json:"error"`
			Total int       `json:"total"`
			State struct {
				Subjects map[string]uint64 `json:"subjects"`
			} `json:"state"`
		}
		limited, cancel := t.link.limit(ctx)
		reply, err := t.link.request(limited, "STREAM.INFO."+t.stream, map[string]any{"subjects_filter": filter, "offset": len(all)})
		cancel()
		if err == nil {
			err = parse(reply, &r)
		}
		if err == nil && r.Error != nil {
			err = r.Error
		}
		if err != nil {
			return nil, unavailable("listing stream "+t.stream, err)
		}
		for s := range r.State.Subjects {
			all = append(all, s)
		}
		if len(r.State.Subjects) == 0 || len(all) >= r.Total {
			return all, nil
		}
	}
}

// oldest keeps those records of one addressee that were asked first.
type oldest struct {
	addressee string
	limit     int

	mu   sync.Mutex
	kept []journal.Record
}

func (o *oldest) add(r journal.Record) {
	if r.Settled || r.Addressee != o.addressee {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, r)
	if len(o.kept) >= 2*o.limit+listers {
		o.trim()
	}
}

func (o *oldest) trim() {
	slices.SortFunc(o.kept, func(a, b journal.Record) int {
		if c := a.Asked.Compare(b.Asked); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	if len(o.kept) > o.limit {
		clear(o.kept[o.limit:])
		o.kept = o.kept[:o.limit]
	}
}

func (o *oldest) records() []journal.Record {
	o.trim()
	return o.kept
}

// record reads an ask.
func (j *Journal) record(m *stored) (journal.Record, error) {
	k, err := j.layout.key(m.subject)
	if err == nil && m.frame.kind != kindAsk {
		err = errors.New("it is of kind " + strconv.Quote(string(m.frame.kind)))
	}
	if err != nil {
		return journal.Record{}, corrupt(m.subject+" is not an ask", err)
	}
	r := journal.Record{Key: k, Rev: m.rev(), Settled: !m.frame.pinned}
	p := reader{b: m.frame.payload}
	r.Asked, r.Deadline = decodeTime(p.varint()), decodeTime(p.varint())
	r.Keep = time.Duration(p.uvarint())
	r.Addressee = string(p.bytes(p.uvarint()))
	r.Body = p.b
	if p.bad {
		return journal.Record{}, corrupt(m.subject+" cannot be used", errShort)
	}
	return r, nil
}

func encodeAsk(r *journal.Record) []byte {
	b := make([]byte, 0, 4*binary.MaxVarintLen64+len(r.Addressee)+len(r.Body))
	b = binary.AppendVarint(b, encodeTime(r.Asked))
	b = binary.AppendVarint(b, encodeTime(r.Deadline))
	b = binary.AppendUvarint(b, uint64(r.Keep))
	b = binary.AppendUvarint(b, uint64(len(r.Addressee)))
	b = append(b, r.Addressee...)
	return append(b, r.Body...)
}

// noTime stands for the zero time, which has no nanoseconds.
const noTime = math.MinInt64

func encodeTime(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func decodeTime(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
