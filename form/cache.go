package form

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// Cache keeps the forms that were last made, so that a definition that comes
// again is not checked and compiled again. It may be used by any number of
// goroutines.
type Cache struct {
	compiler *Compiler
	size     int

	mu    sync.Mutex
	known map[cacheKey]*list.Element
	used  *list.List // of *cached, the last used first
}

type cacheKey [sha256.Size]byte

type cached struct {
	key  cacheKey
	form *Form
}

// NewCache makes a cache of at most size forms, made by the compiler; the zero
// Compiler when nil. A size below 1 counts as 1.
func NewCache(compiler *Compiler, size int) *Cache {
	if compiler == nil {
		compiler = new(Compiler)
	}
	return &Cache{compiler: compiler, size: max(1, size), known: map[cacheKey]*list.Element{}, used: list.New()}
}

// Parse is [Compiler.Parse], remembered by the digest of the definition.
func (c *Cache) Parse(raw []byte) (*Form, error) {
	return c.get(digest("definition", raw, ""), func() (*Form, error) { return c.compiler.Parse(raw) })
}

// FromRequested is [Compiler.FromRequested], remembered by the digest of the
// schema and the message.
func (c *Cache) FromRequested(raw []byte, message string) (*Form, error) {
	return c.get(digest("requested", raw, message), func() (*Form, error) { return c.compiler.FromRequested(raw, message) })
}

// Len is how many forms are kept.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used.Len()
}

func digest(purpose string, raw []byte, message string) cacheKey {
	inner := sha256.Sum256(raw)
	return sha256.Sum256(append(append([]byte(purpose), inner[:]...), message...))
}

// get finds a form or makes it. The lock is not held while a form is made:
// two callers may make the same one, and one of the two is kept.
func (c *Cache) get(key cacheKey, build func() (*Form, error)) (*Form, error) {
	if f := c.find(key); f != nil {
		return f, nil
	}
	f, err := build()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.known[key]; ok {
		return e.Value.(*cached).form, nil
	}
	c.known[key] = c.used.PushFront(&cached{key, f})
	if c.used.Len() > c.size {
		oldest := c.used.Remove(c.used.Back()).(*cached)
		delete(c.known, oldest.key)
	}
	return f, nil
}

func (c *Cache) find(key cacheKey) *Form {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[key]
	if !ok {
		return nil
	}
	c.used.MoveToFront(e)
	return e.Value.(*cached).form
}
