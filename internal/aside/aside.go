package aside

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// Kind says what was set aside.
type Kind string

// Every kind.
const (
	Ask      Kind = "ask"      // the record of one ask cannot be read
	Call     Kind = "call"     // the call in which asks were asked cannot be taken up
	Response Kind = "response" // a response that waits for its client cannot be read
	Task     Kind = "task"     // a task of an A2A client cannot be taken up
)

// Kinds are all of them.
var Kinds = []Kind{Ask, Call, Response, Task}

const (
	// tries is how many starts may fail over a thing before it is left alone.
	tries = 2
	// maxItems bounds the list. What is beyond it is only counted, and stays
	// where it was stored like all the rest.
	maxItems = 10_000
	// maxReason and maxStack bound what is kept of a failure.
	maxReason = 2 << 10
	maxStack  = 16 << 10
	// storeTime bounds one write.
	storeTime = 5 * time.Second
)

// Thing names what is taken up.
type Thing struct {
	Kind    Kind
	Name    string   // the store's: an ask's id, a group's name, a key
	Backend string   // whose call it is, where that is known
	Asks    []string // the ids of the asks that belong to it
}

// Item is a thing that was set aside.
type Item struct {
	Key      string    `json:"key"` // names it on the command line
	Kind     Kind      `json:"kind"`
	Name     string    `json:"name"`
	Backend  string    `json:"backend,omitempty"`
	Asks     []string  `json:"asks,omitempty"`
	Reason   string    `json:"reason"`
	Stack    string    `json:"stack,omitempty"` // of a panic
	Failures int       `json:"failures"`        // starts that failed over it
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Epoch    uint64    `json:"epoch"` // the gateway's at the last failure
	Retry    bool      `json:"retry,omitempty"`
}

// Tried reports whether the next start tries to take the thing up.
func (it *Item) Tried() bool { return it.Failures < tries || it.Retry || it.Kind == Ask }

// Config is what a List is made of. Every field is required.
type Config struct {
	Shelf journal.Shelf
	Home  string
	Epoch uint64
	Now   func() time.Time
	Log   *slog.Logger
	Count func(Kind) // counts what this start did not take up
}

// List is what was set aside in one home. Safe for concurrent use. A nil List
// contains failures all the same, and remembers nothing.
type List struct {
	cfg Config

	mu    sync.Mutex
	items map[string]*entry // by kind and name
	full  bool              // it was said that there is no more room
}

type entry struct {
	item Item
	rev  journal.Rev
}

// Open reads the list. What is on it and cannot be read is left where it is,
// with a line in the log.
func Open(ctx context.Context, cfg Config) (*List, error) {
	l := &List{cfg: cfg, items: make(map[string]*entry)}
	for it, err := range cfg.Shelf.Scan(ctx, cfg.Home) {
		if err != nil {
			return nil, fmt.Errorf("what was set aside at earlier starts cannot be read: %w", err)
		}
		e := &entry{rev: it.Rev}
		if err := json.Unmarshal(it.Value, &e.item); err != nil || e.item.Kind == "" {
			cfg.Log.Warn("an entry of the list of what was set aside cannot be read", "key", it.Key, "err", err)
			continue
		}
		l.items[id(e.item.Kind, e.item.Name)] = e
	}
	return l, nil
}

func id(k Kind, name string) string { return string(k) + "\n" + name }

// key names a thing in the store and on the command line.
func key(k Kind, name string) string {
	sum := sha256.Sum256([]byte(id(k, name)))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// TakeUp has something taken up. Where take fails or panics, the thing is set
// aside, and the error says why. A thing that has failed often enough is not
// tried; reading an ask has no effect and always is.
func (l *List) TakeUp(t Thing, take func() error) error {
	before := l.find(t)
	if before != nil && !before.Tried() {
		l.cfg.Count(t.Kind)
		l.cfg.Log.Warn("left aside: it failed at earlier starts (answerback journal aside)", "kind", t.Kind, "name", t.Name, "key", before.Key, "reason", before.Reason)
		return errors.New(before.Reason)
	}
	err := contain(take)
	switch {
	case l == nil:
	case err != nil:
		l.set(t, before, err)
	case before != nil:
		l.taken(t, before)
	}
	return err
}

// failure is a panic as an error.
type failure struct {
	value any
	stack []byte
}

func (f *failure) Error() string { return fmt.Sprint("panicked: ", f.value) }

// contain runs take, and makes a panic in it an error.
func contain(take func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &failure{value: p, stack: debug.Stack()}
		}
	}()
	return take()
}

func (l *List) find(t Thing) *Item {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.items[id(t.Kind, t.Name)]
	if e == nil {
		return nil
	}
	it := e.item
	return &it
}

// set puts a thing on the list, or notes a further failure.
func (l *List) set(t Thing, before *Item, why error) {
	now := l.cfg.Now().UTC()
	it := Item{
		Key: key(t.Kind, t.Name), Kind: t.Kind, Name: t.Name, Backend: t.Backend, Asks: t.Asks,
		Reason: cut(why.Error(), maxReason), First: now, Last: now, Epoch: l.cfg.Epoch,
	}
	if before != nil {
		it.First, it.Failures = before.First, before.Failures
	}
	it.Failures++
	log := l.cfg.Log.With("kind", t.Kind, "name", t.Name, "key", it.Key, "backend", t.Backend, "asks", len(t.Asks), "failures", it.Failures)
	if f, ok := errors.AsType[*failure](why); ok {
		it.Stack = cut(string(f.stack), maxStack)
		log = log.With("stack", it.Stack)
	}
	l.cfg.Count(t.Kind)
	if before == nil && !l.room(t) {
		return
	}
	log.Error("set aside: it could not be taken up after a restart", "err", why)
	if err := l.put(it); err != nil {
		l.cfg.Log.Error("what was set aside could not be listed", "kind", t.Kind, "name", t.Name, "err", err)
	}
}

// room makes room for one more thing, and says once that there is none.
func (l *List) room(t Thing) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) < maxItems {
		l.items[id(t.Kind, t.Name)] = &entry{}
		return true
	}
	if !l.full {
		l.full = true
		l.cfg.Log.Error("more was set aside than is listed: what is beyond is only counted", "listed", maxItems)
	}
	return false
}

// put stores an item and remembers it. One thing is taken up by one goroutine
// at a time, and a list has one process: there is nobody to conflict with but
// an attempt of this process whose end is not known.
func (l *List) put(it Item) error {
	value, err := json.Marshal(it)
	if err != nil {
		return err
	}
	l.mu.Lock()
	var rev journal.Rev
	if e := l.items[id(it.Kind, it.Name)]; e != nil {
		rev = e.rev
	}
	l.items[id(it.Kind, it.Name)] = &entry{item: it, rev: rev}
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	rev, err = l.cfg.Shelf.Put(ctx, l.cfg.Home+"."+it.Key, rev, value, 0)
	if fault, ok := errors.AsType[*journal.Error](err); ok && fault.Item != nil {
		rev, err = l.cfg.Shelf.Put(ctx, fault.Item.Key, fault.Item.Rev, value, 0)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items[id(it.Kind, it.Name)] = &entry{item: it, rev: rev}
	return nil
}

// taken takes a thing off the list that was taken up after all.
func (l *List) taken(t Thing, before *Item) {
	l.cfg.Log.Info("taken up: it had been set aside at an earlier start", "kind", t.Kind, "name", t.Name, "key", before.Key)
	if err := l.remove(before.Key); err != nil {
		l.cfg.Log.Warn("what was taken up is still listed as set aside", "kind", t.Kind, "name", t.Name, "err", err)
	}
}

func cut(s string, limit int) string { return s[:min(len(s), limit)] }
