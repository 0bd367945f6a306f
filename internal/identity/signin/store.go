package signin

import (
	"container/list"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
)

// Record is a session as it is stored. It holds nothing that opens it.
type Record struct {
	Principal ask.Principal   `json:"principal"`
	Name      string          `json:"name,omitempty"`
	Claims    json.RawMessage `json:"claims,omitempty"`
	Created   time.Time       `json:"created"`
	Seen      time.Time       `json:"seen"`
	Expires   time.Time       `json:"expires"`
}

// Store keeps sessions under keys from which no cookie can be made. Its
// methods may be called concurrently; a Record is not modified after it was
// given or taken.
type Store interface {
	// Put adds a session. It gives an *ask.Error with TooManyOpen when
	// there is no room for another.
	Put(ctx context.Context, key string, r Record) error
	// Get gives the session, which may have ended; ok is false without one.
	Get(ctx context.Context, key string) (r Record, ok bool, err error)
	// Touch notes when a session was last used, and does nothing if it was
	// deleted meanwhile: a use must not bring back what was signed out.
	Touch(ctx context.Context, key string, seen time.Time) error
	// Delete removes the session if there is one.
	Delete(ctx context.Context, key string) error
}

func (r Record) person() (identity.Person, bool) {
	var claims identity.Claims
	if len(r.Claims) > 0 {
		if err := json.Unmarshal(r.Claims, &claims); err != nil {
			return identity.Person{}, false
		}
	}
	return identity.Person{Principal: r.Principal, Name: r.Name, Claims: claims, Expires: r.Expires}, true
}

// ended reports whether the session is over, by age or for want of use.
func (r Record) ended(now time.Time, idle time.Duration) bool {
	return !now.Before(r.Expires) || !now.Before(r.Seen.Add(idle))
}

// memory is a Store of this process.
type memory struct {
	max, perPerson int
	idle           time.Duration
	now            func() time.Time

	mu    sync.Mutex
	byKey map[string]*list.Element
	// order has *memoryEntry, the longest unused in front. No session
	// outlives its idle time, so the ended ones gather there.
	order    *list.List
	byPerson map[ask.Principal][]*list.Element
}

type memoryEntry struct {
	key    string
	record Record
}

func newMemory(max, perPerson int, idle time.Duration, now func() time.Time) *memory {
	return &memory{
		max: max, perPerson: perPerson, idle: idle, now: now,
		byKey: map[string]*list.Element{}, order: list.New(), byPerson: map[ask.Principal][]*list.Element{},
	}
}

// Put makes room by dropping what has ended, and the person's own longest
// unused session if they have too many; never the session of somebody else.
func (m *memory) Put(_ context.Context, key string, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[key]; ok {
		m.remove(e)
	}
	now := m.now()
	for e := m.order.Front(); e != nil && e.Value.(*memoryEntry).record.ended(now, m.idle); e = m.order.Front() {
		m.remove(e)
	}
	if own := m.byPerson[r.Principal]; len(own) >= m.perPerson {
		m.remove(slices.MinFunc(own, func(a, b *list.Element) int {
			return a.Value.(*memoryEntry).record.Seen.Compare(b.Value.(*memoryEntry).record.Seen)
		}))
	}
	if m.order.Len() >= m.max {
		return ask.Errorf(ask.TooManyOpen, "Too many people are signed in. Try again later.")
	}
	e := m.order.PushBack(&memoryEntry{key: key, record: r})
	m.byKey[key] = e
	m.byPerson[r.Principal] = append(m.byPerson[r.Principal], e)
	return nil
}

func (m *memory) Get(_ context.Context, key string) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[key]
	if !ok {
		return Record{}, false, nil
	}
	return e.Value.(*memoryEntry).record, true, nil
}

func (m *memory) Touch(_ context.Context, key string, seen time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[key]; ok {
		e.Value.(*memoryEntry).record.Seen = seen
		m.order.MoveToBack(e)
	}
	return nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[key]; ok {
		m.remove(e)
	}
	return nil
}

func (m *memory) remove(e *list.Element) {
	entry := m.order.Remove(e).(*memoryEntry)
	delete(m.byKey, entry.key)
	who := entry.record.Principal
	own := slices.DeleteFunc(m.byPerson[who], func(o *list.Element) bool { return o == e })
	if len(own) == 0 {
		delete(m.byPerson, who)
		return
	}
	m.byPerson[who] = own
}
