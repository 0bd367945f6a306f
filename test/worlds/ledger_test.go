//go:build worlds

package worlds

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// ledger is what the world knows, outside the gateway: what people and clients
// were told, and what backends saw. No crash of the gateway takes it away.
type ledger struct {
	mu        sync.Mutex
	changed   chan struct{} // closed and replaced with every change
	calls     map[int]*callNote
	questions map[string]*questionNote // by "n.g": the g-th run of the tool for call n
	keys      map[string]*keyNote      // by the key that a person entered
	faults    []string
}

// callNote is what is known of one call.
type callNote struct {
	n               int
	client, backend string // kinds
	person          int
	runs            int      // how often the backend ran the tool
	sent            int      // how often a client sent the call as a new one
	results         []string // what clients got in the end
	cancelled       bool
}

// questionNote is what is known of one question.
type questionNote struct {
	key    string
	call   *callNote
	given  map[string]int // answers that a person or client sent, and how often
	acked  []string       // answers that a person was told were taken
	heard  []string       // answers that the tool got
	wire   []string       // accepted answers, as they came over the connection
	kept   bool           // a person or client was told that it waits
	over   bool           // a person was told that it has ended, or the backend heard the end
	excuse string         // why it need not be answered any more
	asked  time.Time
	// unheard means that the gateway died after the tool had its answer and
	// before an attached client had the result: results are not kept for those.
	unheard bool
}

// done reports whether nothing more is expected of the question: it has ended,
// or its tool was interrupted, or something took it.
func (q *questionNote) done() bool { return q.over || q.excuse != "" || len(q.heard) > 0 }

// keyNote is what is known of one account.
type keyNote struct {
	person  int
	revoked int // the life of the gateway in which it was revoked; 0 for never
}

func newLedger() *ledger {
	return &ledger{changed: make(chan struct{}), calls: map[int]*callNote{}, questions: map[string]*questionNote{}, keys: map[string]*keyNote{}}
}

// change changes the ledger.
func (l *ledger) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	close(l.changed)
	l.changed = make(chan struct{})
}

// is reports whether something holds, with what is closed when that may change.
func (l *ledger) is(so func() bool) (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return so(), l.changed
}

// faultLocked notes a broken promise.
func (l *ledger) faultLocked(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.faults, text) {
		l.faults = append(l.faults, text)
	}
}

func (l *ledger) fault(format string, args ...any) {
	l.change(func() { l.faultLocked(format, args...) })
}

// begin notes a call before it is sent.
func (l *ledger) begin(n int, client, backend string, person int) {
	l.change(func() {
		l.calls[n] = &callNote{n: n, client: client, backend: backend, person: person, sent: 1}
	})
}

// run notes that a backend runs the tool of call n, and names its question.
func (l *ledger) run(n int) (key string) {
	l.change(func() {
		c := l.calls[n]
		if c == nil {
			l.faultLocked("a tool ran for call %d, which no client made", n)
			c = &callNote{n: n, sent: 1}
			l.calls[n] = c
		}
		c.runs++
		key = fmt.Sprintf("%d.%d", n, c.runs)
		l.questions[key] = &questionNote{key: key, call: c, given: map[string]int{}, asked: time.Now()}
	})
	return key
}

// with changes what is known of a question.
func (l *ledger) with(key string, do func(q *questionNote)) {
	l.change(func() {
		if q := l.questions[key]; q != nil {
			do(q)
		} else {
			l.faultLocked("question %s was shown, and no backend asked it", key)
		}
	})
}

// keep notes that a person or client was told that a question waits.
func (l *ledger) keep(key string) {
	l.with(key, func(q *questionNote) {
		q.kept = true
		if q.excuse == excusePassing {
			q.excuse = ""
		}
	})
}

// give notes an answer that is about to be sent.
func (l *ledger) give(key, value string) { l.with(key, func(q *questionNote) { q.given[value]++ }) }

// ack notes that a person was told that the answer was taken.
func (l *ledger) ack(key, value string) {
	l.with(key, func(q *questionNote) { q.acked, q.over = append(q.acked, value), true })
}

// hear notes what the tool got for an answer.
func (l *ledger) hear(key, value string) {
	l.with(key, func(q *questionNote) {
		q.heard = append(q.heard, value)
		// A tool that was interrupted says nothing about the question.
		q.over = q.over || !strings.HasPrefix(value, "end ")
	})
}

// received notes an accepted answer on the connection to a backend. Values name
// their question.
func (l *ledger) received(value string) {
	if key, _, ok := strings.Cut(value, ":"); ok {
		l.with(key, func(q *questionNote) { q.wire, q.over = append(q.wire, value), true })
	}
}

// Why a question need not be answered any more.
const (
	excusePassing   = "it only passed through, and the gateway died"
	excuseLost      = "its backend cannot be resumed, and the gateway died"
	excuseServer    = "its backend restarted"
	excuseExpired   = "its time was up"
	excuseOld       = "its time may have been up"
	excuseCancelled = "its call was cancelled"
	excuseRestored  = "a backup was restored"
)

// lapseLocked excuses what is older than a question may become. On a busy machine
// a step of a world can take that long.
func (l *ledger) lapseLocked() {
	for _, q := range l.questions {
		if !q.done() && len(q.acked) == 0 && time.Since(q.asked) > askHours*time.Second {
			q.excuse = excuseOld
		}
	}
}

// resumes reports whether a question of a client of one kind at a backend of
// another outlives the gateway.
func resumes(client, backend string) bool {
	return backend == httpKind || backend == keyedKind || passes(client, backend)
}

// passes reports whether questions go from the backend to the client as parts
// of results. Such a question is in no list: its client has it.
func passes(client, backend string) bool {
	return (client == modernClient || client == agentClient) && (backend == modernKind || backend == agentKind)
}

// died notes that the gateway process ended.
func (l *ledger) died() {
	l.change(func() {
		for _, q := range l.questions {
			attached := q.call.client == formsClient || q.call.client == linksClient
			q.unheard = q.unheard || attached && q.over && len(q.call.results) == 0
			switch {
			case q.excuse != "" || len(q.heard) > 0:
			case !resumes(q.call.client, q.call.backend):
				q.excuse = excuseLost
			case !q.kept:
				q.excuse = excusePassing
			}
		}
	})
}

// excuse excuses the questions that match and that no backend has heard the
// end of.
func (l *ledger) excuse(why string, match func(q *questionNote) bool) {
	l.change(func() {
		for _, q := range l.questions {
			if q.excuse == "" && len(q.heard) == 0 && match(q) {
				q.excuse = why
			}
		}
	})
}

// restored notes that a backup was restored: of no question that exists is it
// known what the gateway remembers. Its person may be asked once more, and the
// answer may not arrive. What its tool has heard stays true.
func (l *ledger) restored() {
	l.change(func() {
		for _, q := range l.questions {
			q.excuse = excuseRestored
		}
	})
}

// result notes what a client got at the end of call n.
func (l *ledger) result(n int, value string) {
	l.change(func() { l.calls[n].results = append(l.calls[n].results, value) })
}

// owed are the questions that must still be answered.
func (l *ledger) owed() ([]string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lapseLocked()
	var keys []string
	for key, q := range l.questions {
		if q.kept && len(q.heard) == 0 && q.excuse == "" && q.call.backend != keyedKind {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, l.changed
}

// listed checks what a person found in a list. before is the set of questions
// that had ended when the list was asked for.
func (l *ledger) listed(person int, key string, before map[string]bool) {
	l.change(func() {
		q := l.questions[key]
		switch {
		case q == nil:
			l.faultLocked("question %s was listed, and no backend asked it", key)
			return
		case q.call.person != person:
			l.faultLocked("P5: person %d saw question %s of person %d", person, key, q.call.person)
		case q.excuse == excuseExpired:
			l.faultLocked("P3: question %s is open long after its deadline", key)
		case before[key] && q.excuse != excuseRestored:
			l.faultLocked("revived: question %s was listed again after it had ended (heard %q)", key, q.heard)
		}
		q.kept = true
		if q.excuse == excusePassing {
			q.excuse = ""
		}
	})
}

// ended gives the questions that have ended so far.
func (l *ledger) ended() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]bool{}
	for key, q := range l.questions {
		if q.over || q.excuse == excuseExpired {
			all[key] = true
		}
	}
	return all
}
