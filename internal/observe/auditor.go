package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal"
)

const (
	flushEvery = 100 * time.Millisecond // how long a record waits for others
	appendTime = 5 * time.Second        // bounds one attempt to store a batch
	retryMin   = 100 * time.Millisecond
	retryMax   = 5 * time.Second
	complain   = time.Second // how often lost records are logged at most
)

// AuditConfig is what an Auditor is made of. Every field is required.
type AuditConfig struct {
	Journal journal.Audit
	Ledger  *Ledger
	Metrics *Metrics
	Log     *slog.Logger
	// MaxPending is how many records wait for the journal at most. On average
	// they may take 1 KB each.
	MaxPending int
}

// Auditor puts records on file, in batches and in the background, so that
// whoever reports is not kept waiting. Safe for concurrent use.
//
// It does its best and promises nothing: what waits is lost when the process
// dies or when the journal stays away for longer than there is room. What is
// lost while the process lives is counted and logged. A batch of which the
// journal did not say whether it is stored is stored again, so that a record
// may be there twice.
type Auditor struct {
	cfg     AuditConfig
	some    chan struct{} // there is something to store
	full    chan struct{} // there is a whole batch
	closing chan struct{}
	done    chan struct{} // the goroutine has ended
	once    sync.Once

	// life is that of the goroutine's writes.
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	queue   queue
	closed  bool
	unsaid  int       // records that were lost and not yet logged
	lastSay time.Time // when that was last done
}

// NewAuditor makes an Auditor and starts its goroutine, which Close ends.
func NewAuditor(cfg AuditConfig) (*Auditor, error) {
	if cfg.Journal == nil || cfg.Ledger == nil || cfg.Metrics == nil || cfg.Log == nil || cfg.MaxPending < 1 {
		return nil, errors.New("observe: AuditConfig needs Journal, Ledger, Metrics, Log and MaxPending")
	}
	a := &Auditor{
		cfg:     cfg,
		some:    make(chan struct{}, 1),
		full:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
		queue:   queue{maxRecords: cfg.MaxPending, maxBytes: cfg.MaxPending << 10},
	}
	a.life, a.end = context.WithCancel(context.Background())
	go a.run()
	return a, nil
}

// Record counts a transition and queues it for the journal. It is what the
// desk is given for its audit: it does no I/O but for the log's.
func (a *Auditor) Record(r desk.Record) {
	a.cfg.Ledger.Record(r)
	a.cfg.Metrics.Record(r)
	var room [1024]byte
	a.keep(appendLine(room[:0], &r))
}

// Account queues what happened to somebody's account for the journal, in the
// same way.
func (a *Auditor) Account(r AccountRecord) {
	var room [1024]byte
	a.keep(appendAccount(room[:0], &r))
}

// keep queues a line, which it copies.
func (a *Auditor) keep(line []byte) {
	a.mu.Lock()
	taken := !a.closed && a.queue.add(line)
	first, whole := len(a.queue.batches) == 1 && a.queue.batches[0].len() == 1, len(a.queue.batches) > 1
	a.mu.Unlock()
	switch {
	case !taken:
		a.lost(1)
	case whole:
		signal(a.full)
	case first:
		signal(a.some)
	}
}

// signal leaves word for a goroutine that is busy.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run stores what is queued until the Auditor is closed and all is stored, or
// its life ends.
func (a *Auditor) run() {
	defer close(a.done)
	for {
		select {
		case <-a.some:
		case <-a.closing:
			a.flush()
			return
		}
		wait := time.NewTimer(flushEvery)
		select {
		case <-wait.C:
		case <-a.full:
		case <-a.closing:
		}
		wait.Stop()
		a.flush()
	}
}

// flush stores batches until none is left. While one is being stored the next
// one grows.
func (a *Auditor) flush() {
	for a.life.Err() == nil {
		a.mu.Lock()
		b := a.queue.take()
		a.mu.Unlock()
		if b == nil {
			a.say(false)
			return
		}
		n, err := b.len(), a.store(b)
		cut := err != nil && a.life.Err() != nil
		a.mu.Lock()
		if cut {
			a.queue.putBack(b)
		} else {
			a.queue.stored(b)
		}
		a.mu.Unlock()
		switch {
		case err == nil:
			a.cfg.Metrics.auditWritten.Add(float64(n))
		case !cut:
			a.lost(n)
		}
	}
}

// store tries until a batch is stored, or cannot be, or nobody waits for it
// any more. Close makes it try at once.
func (a *Auditor) store(b *batch) error {
	closing := a.closing
	for wait, failures := retryMin, 0; ; wait, failures = min(2*wait, retryMax), failures+1 {
		ctx, cancel := context.WithTimeout(a.life, appendTime)
		err := a.cfg.Journal.Append(ctx, b.entries()...)
		cancel()
		switch {
		case err == nil:
			if failures > 0 {
				a.cfg.Log.Info("the audit is being stored again", "failures", failures)
			}
			return nil
		case errors.Is(err, journal.Invalid) || errors.Is(err, journal.TooLarge):
			a.cfg.Log.Error("audit records cannot be stored", "records", b.len(), "err", err)
			return err
		case failures == 0:
			a.cfg.Log.Error("the audit is not being stored; records wait while there is room", "records", b.len(), "err", err)
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-closing:
			closing, wait = nil, retryMin
		case <-a.life.Done():
		}
		again.Stop()
		if a.life.Err() != nil {
			return err
		}
	}
}

// lost counts records that will not be on file, and says so.
func (a *Auditor) lost(n int) {
	a.cfg.Metrics.auditDropped.Add(float64(n))
	a.mu.Lock()
	a.unsaid += n
	a.mu.Unlock()
	a.say(true)
}

// say logs what was lost since it last did, where often is set not too often.
func (a *Auditor) say(often bool) {
	a.mu.Lock()
	now, n := time.Now(), a.unsaid
	if n == 0 || often && now.Sub(a.lastSay) < complain {
		a.mu.Unlock()
		return
	}
	a.unsaid, a.lastSay = 0, now
	a.mu.Unlock()
	a.cfg.Log.Error("audit records were lost", "records", n)
}

// Close takes no more records, stores those that wait and ends the goroutine,
// which it waits for. When ctx ends before all is stored the rest is lost, and
// the error says how much.
func (a *Auditor) Close(ctx context.Context) error {
	a.once.Do(func() {
		a.mu.Lock()
		a.closed = true
		a.mu.Unlock()
		close(a.closing)
	})
	defer context.AfterFunc(ctx, a.end)()
	<-a.done
	a.end()
	a.mu.Lock()
	left := a.queue.clear()
	a.mu.Unlock()
	if left > 0 {
		a.lost(left)
		a.say(false)
		return fmt.Errorf("%d records of the audit were not stored: %w", left, context.Cause(ctx))
	}
	return nil
}
