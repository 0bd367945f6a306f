package observe

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

const (
	// readyTime bounds how long the answer to a question for readiness takes,
	// and probeAge how long what was found out counts.
	readyTime = 900 * time.Millisecond
	probeAge  = time.Second
	// probeTime bounds a look at the journal.
	probeTime = 800 * time.Millisecond
)

// HealthConfig is what a Health is made of. Every field is required.
type HealthConfig struct {
	// Probe reports whether the store can be reached. It returns soon after
	// ctx ends.
	Probe func(ctx context.Context) error
	Log   *slog.Logger
}

// Health says whether the gateway lives and whether it is ready. Safe for
// concurrent use. However often it is asked, it looks at the store about once
// a second.
type Health struct {
	cfg HealthConfig

	mu       sync.Mutex
	started  bool
	draining bool
	closed   bool
	looked   time.Time     // when the store was last looked at
	fault    error         // what was found then
	looking  chan struct{} // closed when the look that is under way ends; nil where none is
	running  sync.WaitGroup
}

// errUnknown is what is known of a store before it was looked at.
var errUnknown = errors.New("it has not answered yet")

// NewHealth makes a Health that has not started. Close ends it.
func NewHealth(cfg HealthConfig) (*Health, error) {
	if cfg.Probe == nil || cfg.Log == nil {
		return nil, errors.New("observe: HealthConfig needs Probe and Log")
	}
	return &Health{cfg: cfg, fault: errUnknown}, nil
}

// Reaches probes a journal with one small read.
func Reaches(j journal.Journal) func(ctx context.Context) error {
	shelf := j.Shelf("health")
	return func(ctx context.Context) error {
		_, err := shelf.Get(ctx, "probe")
		if errors.Is(err, journal.NotFound) {
			return nil
		}
		return err
	}
}

// Started says that the gateway has begun to serve.
func (h *Health) Started() { h.set(&h.started) }

// Draining says that the gateway takes no new work.
func (h *Health) Draining() { h.set(&h.draining) }

func (h *Health) set(what *bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*what = true
}

// Close waits for a look at the store that is under way, which ends soon.
func (h *Health) Close() {
	h.set(&h.closed)
	h.running.Wait()
}

// Live answers that the process is there.
func (h *Health) Live(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, readiness{Status: "ok"})
}

type readiness struct {
	Status   string   `json:"status"`
	NotReady []string `json:"not_ready,omitempty"`
}

// Ready answers within a second whether the gateway should be given work, and
// names what is not ready: started, serving (it drains) or journal. The cause
// goes to the log alone.
func (h *Health) Ready(w http.ResponseWriter, r *http.Request) {
	fault := h.store(r.Context())
	h.mu.Lock()
	var missing []string
	if !h.started {
		missing = append(missing, "started")
	}
	if h.draining || h.closed {
		missing = append(missing, "serving")
	}
	h.mu.Unlock()
	if fault != nil {
		missing = append(missing, "journal")
	}
	if len(missing) > 0 {
		answer(w, http.StatusServiceUnavailable, readiness{Status: "not ready", NotReady: missing})
		return
	}
	answer(w, http.StatusOK, readiness{Status: "ready"})
}

func answer(w http.ResponseWriter, status int, body readiness) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// store says what is wrong with the store, as it was a moment ago. It does
// not wait for a store that hangs.
func (h *Health) store(ctx context.Context) error {
	h.mu.Lock()
	if h.closed || !h.looked.IsZero() && time.Since(h.looked) < probeAge {
		defer h.mu.Unlock()
		return h.fault
	}
	if h.looking == nil {
		h.looking = make(chan struct{})
		h.running.Go(h.look)
	}
	looking := h.looking
	h.mu.Unlock()

	patience := time.NewTimer(readyTime)
	defer patience.Stop()
	select {
	case <-looking:
	case <-patience.C:
		return context.DeadlineExceeded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// look probes the store, and logs where that has changed.
func (h *Health) look() {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	err := h.cfg.Probe(ctx)
	h.mu.Lock()
	before := h.fault
	h.looked, h.fault = time.Now(), err
	close(h.looking)
	h.looking = nil
	h.mu.Unlock()
	switch {
	case err != nil && (before == nil || errors.Is(before, errUnknown)):
		h.cfg.Log.Warn("the journal cannot be reached", "err", err)
	case err == nil && before != nil && !errors.Is(before, errUnknown):
		h.cfg.Log.Info("the journal can be reached again")
	}
}
