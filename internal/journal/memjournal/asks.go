package memjournal

import (
	"context"
	"iter"
	"slices"

	"github.com/answerback/answerback/internal/journal"
)

// Create is journal.Asks.Create.
func (j *Journal) Create(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if err := r.CheckCreate(); err != nil {
		return journal.Rev{}, err
	}
	return j.store(ctx, r)
}

// Update is journal.Asks.Update.
func (j *Journal) Update(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if err := r.CheckUpdate(); err != nil {
		return journal.Rev{}, err
	}
	return j.store(ctx, r)
}

func (j *Journal) store(ctx context.Context, r journal.Record) (journal.Rev, error) {
	if err := alive(ctx, "storing "+r.ID); err != nil {
		return journal.Rev{}, err
	}
	old := r.Rev
	r.Rev = journal.Rev{}
	r.Body = slices.Clone(r.Body)
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	keep := journal.Seconds(r.Keep)
	if !r.Settled {
		keep = r.Recoverable(now, journal.Recovery)
	}
	rev, why := j.asks.put(r.Key, old, r, len(r.Body)+len(r.Addressee), journal.After(now.UnixNano(), keep), !r.Settled)
	if why != "" {
		err := &journal.Error{Reason: why, Message: "storing " + r.ID}
		if now, ok := j.record(r.Key); ok && why != journal.Full {
			err.Current = &now
		}
		return journal.Rev{}, err
	}
	if now, ok := j.record(r.Key); ok {
		j.tell(func(w *watcher) bool { return w.home == r.Home }, event{record: now})
	}
	return rev, nil
}

// record gives a copy. The lock is held.
func (j *Journal) record(k journal.Key) (journal.Record, bool) {
	row, ok := j.asks.get(k)
	r := row.value
	r.Rev, r.Body = row.rev, slices.Clone(r.Body)
	return r, ok
}

func (j *Journal) read(k journal.Key) (journal.Record, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record(k)
}

// Get is journal.Asks.Get.
func (j *Journal) Get(ctx context.Context, k journal.Key) (journal.Record, error) {
	if err := k.Check(); err != nil {
		return journal.Record{}, err
	}
	if err := alive(ctx, "reading "+k.ID); err != nil {
		return journal.Record{}, err
	}
	r, ok := j.read(k)
	if !ok {
		return journal.Record{}, &journal.Error{Reason: journal.NotFound, Message: "reading " + k.ID}
	}
	return r, nil
}

// Open is journal.Asks.Open.
func (j *Journal) Open(ctx context.Context, home string) iter.Seq2[journal.Record, error] {
	if err := journal.CheckHome(home); err != nil {
		return failed[journal.Record](err)
	}
	return func(yield func(journal.Record, error) bool) {
		j.mu.Lock()
		keys := j.asks.keys(func(k journal.Key) bool { return k.Home == home })
		j.mu.Unlock()
		each(ctx, "reading home "+home, keys, j.read)(yield)
	}
}

// List is journal.Asks.List.
func (j *Journal) List(ctx context.Context, shard uint16, addressee string, limit int) ([]journal.Record, error) {
	if err := journal.CheckList(addressee, limit); err != nil {
		return nil, err
	}
	if err := alive(ctx, "listing"); err != nil {
		return nil, err
	}
	j.mu.Lock()
	keys := j.asks.keys(func(k journal.Key) bool { return k.Shard == shard })
	j.mu.Unlock()
	var list []journal.Record
	for r, err := range each(ctx, "listing", keys, j.read) {
		if err != nil {
			return nil, err
		}
		if r.Addressee == addressee && !r.Settled {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b journal.Record) int { return a.Asked.Compare(b.Asked) })
	return list[:min(limit, len(list))], nil
}

// Settled is journal.Asks.Settled.
func (j *Journal) Settled(ctx context.Context, shard uint16, addressee string) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		j.mu.Lock()
		keys := j.asks.keys(func(k journal.Key) bool { return k.Shard == shard })
		j.mu.Unlock()
		each(ctx, "reading what is settled", keys, func(k journal.Key) (journal.Record, bool) {
			r, ok := j.read(k)
			return r, ok && r.Settled && r.Addressee == addressee
		})(yield)
	}
}

// Watch is journal.Asks.Watch.
func (j *Journal) Watch(_ context.Context, home string, wake func(journal.Wake)) (func(), error) {
	if err := journal.CheckHome(home); err != nil {
		return nil, err
	}
	w := j.watch(func(e event) { wake(journal.Wake{Record: e.record, Missed: e.missed}) })
	w.home = home
	j.start(w)
	return w.stop, nil
}
