package config

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// bench is a watcher whose events and content the test makes, in the fake time
// of synctest.
type bench struct {
	events  chan fsnotify.Event
	errors  chan error
	content string
	gone    bool
	fired   []time.Duration
	start   time.Time
}

func (b *bench) event() { b.events <- fsnotify.Event{} }

func bubble(t *testing.T, test func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{events: make(chan fsnotify.Event), errors: make(chan error), start: time.Now()}
		w := &Watcher{
			events: b.events, errors: b.errors,
			sum: func() (sum [32]byte, ok bool) {
				copy(sum[:], b.content)
				return sum, !b.gone
			},
			release: func() error { return nil },
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx, func() { b.fired = append(b.fired, time.Since(b.start)) })
		}()
		test(t, b)
		stop()
		<-done
	})
}

func (b *bench) firedAt(t *testing.T, want ...time.Duration) {
	t.Helper()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	if len(b.fired) != len(want) {
		t.Fatalf("fired at %v, want %v", b.fired, want)
	}
	for i := range want {
		if b.fired[i] != want[i] {
			t.Fatalf("fired at %v, want %v", b.fired, want)
		}
	}
}

func TestWatchFiresOnceTheDirectoryIsQuiet(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.content = "new"
		for range 3 {
			b.event()
			time.Sleep(100 * time.Millisecond)
		}
		b.firedAt(t, 450*time.Millisecond)
	})
}

func TestWatchIgnoresUntouchedContentAndMissingFiles(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.event()
		b.firedAt(t)
		b.gone, b.content = true, "gone"
		b.event()
		b.firedAt(t)
	})
}

func TestWatchLooksAfterLostEvents(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.content = "new"
		b.errors <- errors.New("overflow")
		b.firedAt(t, 250*time.Millisecond)
	})
}

func TestWatchIsNotStarvedByABusyDirectory(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.content = "new"
		for range 50 {
			b.event()
			time.Sleep(100 * time.Millisecond)
		}
		b.firedAt(t, 2*time.Second)
	})
}

func TestWatchEndsWithItsSource(t *testing.T) {
	for name, end := range map[string]func(*bench){
		"events": func(b *bench) { close(b.events) },
		"errors": func(b *bench) { close(b.errors) },
	} {
		t.Run(name, func(t *testing.T) { bubble(t, func(_ *testing.T, b *bench) { end(b) }) })
	}
}
