package natsjournal

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/answerback/answerback/internal/journal"
)

// How much may wait for a slow watcher before the connection drops the rest,
// and the watcher is told so.
const (
	watchMessages = 1 << 16
	watchBytes    = 64 << 20
)

// Headers of what the engine republishes.
const (
	headerStream   = "Nats-Stream"
	headerSubject  = "Nats-Subject"
	headerSequence = "Nats-Sequence"
)

// watch hears what is stored, on a goroutine of its own.
type watch struct {
	link   *link
	subs   []*nats.Subscription
	gap    chan struct{} // holds one token where something may have been missed
	heard  func(m *stored)
	missed func()
}

// Watch is journal.Asks.Watch.
func (j *Journal) Watch(ctx context.Context, home string, wake func(journal.Wake)) (func(), error) {
	if err := journal.CheckHome(home); err != nil {
		return nil, err
	}
	w := &watch{missed: func() { wake(journal.Wake{Missed: true}) }}
	w.heard = func(m *stored) {
		r, err := j.record(m)
		if err != nil {
			w.missed()
			return
		}
		wake(journal.Wake{Record: r})
	}
	return j.link.watch(ctx, w, j.layout.prefix+".on.ask.*.*."+home+".*")
}

func (s shelf) Watch(ctx context.Context, prefix string, changed func(journal.Change)) (func(), error) {
	if err := journal.CheckPrefix(s.name, prefix); err != nil {
		return nil, err
	}
	w := &watch{
		missed: func() { changed(journal.Change{Missed: true}) },
		heard: func(m *stored) {
			changed(journal.Change{Item: s.item(m), Deleted: m.frame.kind == kindDeleted})
		},
	}
	var subjects []string
	for _, f := range s.filters(prefix) {
		subjects = append(subjects, s.j.layout.on(f))
	}
	return s.j.link.watch(ctx, w, subjects...)
}

// watch begins to listen. When it returns, the engine knows of it.
func (l *link) watch(ctx context.Context, w *watch, subjects ...string) (stop func(), err error) {
	w.link, w.gap = l, make(chan struct{}, 1)
	queue, quit, done := make(chan *nats.Msg), make(chan struct{}), make(chan struct{})
	stop = sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.watches, w)
		l.mu.Unlock()
		for _, s := range w.subs {
			_ = s.Unsubscribe()
		}
		close(quit)
		<-done
	})
	go func() {
		defer close(done)
		w.run(queue, quit)
	}()
	for _, s := range subjects {
		sub, err := l.conn.Subscribe(s, func(m *nats.Msg) {
			select {
			case queue <- m:
			case <-quit:
			}
		})
		if err == nil {
			w.subs = append(w.subs, sub)
			err = sub.SetPendingLimits(watchMessages, watchBytes)
		}
		if err != nil {
			stop()
			return nil, unavailable("watching "+s, err)
		}
	}
	limited, cancel := l.limit(ctx)
	defer cancel()
	if err := l.conn.FlushWithContext(limited); err != nil {
		stop()
		return nil, unavailable("watching", err)
	}
	l.mu.Lock()
	l.watches[w] = struct{}{}
	l.mu.Unlock()
	return stop, nil
}

func (w *watch) run(queue <-chan *nats.Msg, quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		case <-w.gap:
			w.missed()
		case m := <-queue:
			if s, err := republished(m); err != nil {
				w.link.log.Error("journal: a wake-up cannot be used", "cause", err)
				w.missed()
			} else if s.frame.kind != kindMark && s.frame.kind != kindClock {
				w.heard(&s)
			}
		}
	}
}

// republished reads a message that the engine republished.
func republished(m *nats.Msg) (stored, error) {
	subject := m.Header.Get(headerSubject)
	seq, err := strconv.ParseUint(m.Header.Get(headerSequence), 10, 64)
	if err != nil || subject == "" {
		return stored{}, errors.New("it was not republished by a stream")
	}
	return read(m.Header.Get(headerStream), subject, seq, time.Time{}, m.Data)
}

// missed tells the watch of sub, or all of them, that it may have missed
// something.
func (l *link) missed(sub *nats.Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watches {
		mine := sub == nil
		for _, s := range w.subs {
			mine = mine || s == sub
		}
		if !mine {
			continue
		}
		select {
		case w.gap <- struct{}{}:
		default:
		}
	}
}
