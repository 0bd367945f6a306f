// Package parkingtest has shelves for tests of calls that outlive their
// requests. They do not outlive the test.
package parkingtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// Memory is a parking.Results. The zero Memory is empty. Safe for concurrent
// use.
type Memory struct {
	mu   sync.Mutex
	kept map[string]shelved
}

type shelved struct {
	value []byte
	until time.Time
}

// Keep keeps a value for a while.
func (m *Memory) Keep(_ context.Context, id string, value []byte, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = make(map[string]shelved)
	}
	m.kept[id] = shelved{value, time.Now().Add(ttl)}
	return nil
}

// Kept gives a value, nil where there is none.
func (m *Memory) Kept(_ context.Context, id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.kept[id]; time.Now().Before(s.until) {
		return s.value, nil
	}
	return nil, nil
}

// Drop forgets a value.
func (m *Memory) Drop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, id)
	return nil
}

// Restore gives take the values whose ids begin with the words of prefix. The
// errors of take come back together, and panics pass.
func (m *Memory) Restore(_ context.Context, prefix string, take func(value []byte) error) error {
	m.mu.Lock()
	var found [][]byte
	for id, s := range m.kept {
		if strings.HasPrefix(id, prefix+".") && time.Now().Before(s.until) {
			found = append(found, s.value)
		}
	}
	m.mu.Unlock()
	var errs []error
	for _, value := range found {
		errs = append(errs, take(value))
	}
	return errors.Join(errs...)
}

// Len is how many values were kept and not dropped.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.kept)
}
