package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/surface/terminal"
)

// ward tells, while the doctor waits, for what.
type ward struct {
	out  io.Writer
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	waiting map[string]*patient
}

// patient is something that is waited for.
type patient struct {
	what  string
	since time.Time
	last  *lastWords // nil where it writes none
}

func newWard(out io.Writer, every time.Duration) *ward {
	w := &ward{out: out, quit: make(chan struct{}), done: make(chan struct{}), waiting: map[string]*patient{}}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-w.quit:
				return
			case <-tick.C:
				w.tell()
			}
		}
	}()
	return w
}

// close ends the telling, and waits.
func (w *ward) close() {
	close(w.quit)
	<-w.done
}

// waits notes that name is waited for, until the function it returns is called.
func (w *ward) waits(name, what string, last *lastWords) (over func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[name] = &patient{what: what, since: time.Now(), last: last}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, name)
	}
}

func (w *ward) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(w.waiting)) {
		p := w.waiting[name]
		words := ""
		if line := p.last.last(); line != "" {
			words = "; it wrote: " + line
		}
		fmt.Fprintf(w.out, "%s: waiting for %s (%s)%s\n", name, p.what, time.Since(p.since).Round(time.Second), words)
	}
}

// lastWords is the log of a backend under examination, of which the last lines
// that its process wrote to standard error are kept.
type lastWords struct {
	mu    sync.Mutex
	lines []string
}

const maxLastWords = 5

func (l *lastWords) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle keeps what a process says, and drops the rest of the log.
func (l *lastWords) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "stderr" {
			return true
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		line := terminal.Line(a.Value.String(), 200)
		// What is said again at a second start is said once here.
		l.lines = append(slices.DeleteFunc(l.lines, func(s string) bool { return s == line }), line)
		l.lines = l.lines[max(0, len(l.lines)-maxLastWords):]
		return false
	})
	return nil
}

func (l *lastWords) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *lastWords) WithGroup(string) slog.Handler      { return l }

func (l *lastWords) last() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return ""
	}
	return l.lines[len(l.lines)-1]
}

// all gives the last lines in one.
func (l *lastWords) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, " / ")
}

// wrongWith is the error that names everything that is wrong.
func wrongWith(sick []string) error {
	if len(sick) == 0 {
		return nil
	}
	return errors.New(strings.Join(sick, "; "))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
