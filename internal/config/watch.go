package config

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime is how long a directory must be quiet: editors and
	// Kubernetes replace a file in several steps.
	settleTime = 250 * time.Millisecond
	// settleCap bounds the wait in a directory that is never quiet.
	settleCap = 2 * time.Second
)

// Watch is NewWatcher and Run in one: it returns when ctx ends, or at once with
// the reason why the file cannot be watched.
func Watch(ctx context.Context, path string, onChange func()) error {
	w, err := NewWatcher(path)
	if err != nil {
		return err
	}
	w.Run(ctx, onChange)
	return nil
}

// Watcher notices that the content of a file has become another. One that was
// made must be run, or it is never released.
type Watcher struct {
	events  <-chan fsnotify.Event
	errors  <-chan error
	sum     func() ([32]byte, bool) // of the content, false where it cannot be read
	release func() error
	last    [32]byte
}

// NewWatcher begins to watch the file at path, which need not be there yet. Who
// loads the file afterwards misses no change.
func NewWatcher(path string) (*Watcher, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot watch the configuration: %w", err)
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("cannot watch the configuration: %w", err)
	}
	// The directory and not the file: a replaced file is another file.
	if err := notify.Add(filepath.Dir(path)); err != nil {
		_ = notify.Close()
		return nil, fmt.Errorf("cannot watch the directory of the configuration: %w", err)
	}
	w := &Watcher{
		events: notify.Events, errors: notify.Errors,
		sum: func() ([32]byte, bool) {
			follow(notify, path)
			return contentSum(path)
		},
		release: notify.Close,
	}
	w.last, _ = w.sum()
	return w, nil
}

// follow watches also the directory of the file that a symbolic link leads to.
// It may fail: the link may dangle for a moment, and the next event of its own
// directory tries again.
func follow(notify *fsnotify.Watcher, path string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	own, wanted := filepath.Dir(path), filepath.Dir(target)
	for _, dir := range notify.WatchList() {
		if dir != own && dir != wanted {
			_ = notify.Remove(dir)
		}
	}
	_ = notify.Add(wanted)
}

func contentSum(path string) ([32]byte, bool) {
	data, err := readFile(path)
	if err != nil {
		return [32]byte{}, false
	}
	return sha256.Sum256(data), true
}

// Run calls onChange each time the content has become another, one call after
// the other, until ctx ends. A file that is gone, or was written again with the
// same content, changes nothing. Run once only.
func (w *Watcher) Run(ctx context.Context, onChange func()) {
	defer w.release()
	var (
		quiet = time.NewTimer(0)
		since time.Time // the first event of a burst, zero outside one
	)
	quiet.Stop()
	defer quiet.Stop()
	stir := func() {
		if since.IsZero() {
			since = time.Now()
		}
		quiet.Reset(min(settleTime, settleCap-time.Since(since)))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.events:
			if !ok {
				return
			}
			stir()
		case _, ok := <-w.errors:
			// Events were lost: look, as if there had been one.
			if !ok {
				return
			}
			stir()
		case <-quiet.C:
			since = time.Time{}
			sum, readable := w.sum()
			if readable && sum != w.last {
				w.last = sum
				onChange()
			}
		}
	}
}
