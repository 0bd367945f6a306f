package signin

import (
	"container/list"
	"sync"
	"time"
)

// oneTime is a bounded map of things that can be taken out once, each within
// the same time of being put in. When it is full, the oldest makes room:
// anybody can fill it without signing in, and refusing would then lock
// everybody out until the rest had aged.
type oneTime[V any] struct {
	max int
	age time.Duration
	now func() time.Time

	mu    sync.Mutex
	byKey map[digest]*list.Element
	order *list.List // of *oneTimeEntry[V], the oldest in front
}

type oneTimeEntry[V any] struct {
	key     digest
	value   V
	expires time.Time
}

func newOneTime[V any](max int, age time.Duration, now func() time.Time) *oneTime[V] {
	return &oneTime[V]{max: max, age: age, now: now, byKey: map[digest]*list.Element{}, order: list.New()}
}

// put keeps v under the key, anew if it is there already.
func (o *oneTime[V]) put(key digest, v V) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if e, ok := o.byKey[key]; ok {
		o.remove(e)
	}
	for e := o.order.Front(); e != nil; e = o.order.Front() {
		if o.order.Len() < o.max && now.Before(e.Value.(*oneTimeEntry[V]).expires) {
			break
		}
		o.remove(e)
	}
	o.byKey[key] = o.order.PushBack(&oneTimeEntry[V]{key: key, value: v, expires: now.Add(o.age)})
}

// peek gives what is under the key and leaves it there.
func (o *oneTime[V]) peek(key digest) (V, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.get(key)
}

// take gives what is under the key, to one caller only.
func (o *oneTime[V]) take(key digest) (V, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, ok := o.get(key)
	if ok {
		o.remove(o.byKey[key])
	}
	return v, ok
}

func (o *oneTime[V]) get(key digest) (v V, ok bool) {
	e, ok := o.byKey[key]
	if !ok {
		return v, false
	}
	entry := e.Value.(*oneTimeEntry[V])
	if !o.now().Before(entry.expires) {
		o.remove(e)
		return v, false
	}
	return entry.value, true
}

func (o *oneTime[V]) remove(e *list.Element) {
	delete(o.byKey, o.order.Remove(e).(*oneTimeEntry[V]).key)
}
