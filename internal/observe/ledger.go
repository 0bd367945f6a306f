package observe

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// maxBackends bounds how many backends are counted apart. Names come from the
// configuration, so only reloads without end could reach it.
const maxBackends = 10_000

// Ledger counts. Safe for concurrent use; make one with NewLedger.
type Ledger struct {
	mu       sync.Mutex
	backends map[string]*Asks
}

// Asks counts the questions of one backend.
type Asks struct {
	Backend  string `json:"backend"`
	Asked    uint64 `json:"asked"`
	Answered uint64 `json:"answered"`
	Expired  uint64 `json:"expired"`
	// Withdrawn counts those that the backend took back before their
	// deadline: a sign that its own timer is shorter than people are.
	Withdrawn uint64 `json:"withdrawn"`
	Abandoned uint64 `json:"abandoned"`
	Refused   uint64 `json:"refused"`
	Late      uint64 `json:"late"`
}

// NewLedger makes an empty Ledger.
func NewLedger() *Ledger { return &Ledger{backends: make(map[string]*Asks)} }

// Record counts one transition.
func (l *Ledger) Record(r desk.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.backends[r.Backend]
	if a == nil {
		if len(l.backends) >= maxBackends || r.Backend == "" {
			return
		}
		a = &Asks{Backend: r.Backend}
		l.backends[r.Backend] = a
	}
	switch r.Transition {
	case "asked":
		a.Asked++
	case "late":
		a.Late++
	case "settled":
		a.settled(r.Ending)
	}
}

func (a *Asks) settled(how ask.Ending) {
	switch how {
	case ask.Answered:
		a.Answered++
	case ask.Expired:
		a.Expired++
	case ask.Withdrawn:
		a.Withdrawn++
	case ask.Abandoned:
		a.Abandoned++
	case ask.Refused:
		a.Refused++
	}
}

// Asks gives the counts so far, by backend in the order of names.
func (l *Ledger) Asks() []Asks {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Asks, 0, len(l.backends))
	for _, name := range slices.Sorted(maps.Keys(l.backends)) {
		all = append(all, *l.backends[name])
	}
	return all
}

// ServeHTTP gives the counts as JSON.
func (l *Ledger) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		Asks []Asks `json:"asks"`
	}{l.Asks()})
}
