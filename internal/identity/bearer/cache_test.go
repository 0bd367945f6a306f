package bearer

import (
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
)

func TestCacheIsBoundedAndForgetsWhatExpired(t *testing.T) {
	c := newCache(100)
	now := time.Unix(1_000_000, 0)
	id := func(i int) digest { return digest{byte(i), byte(i >> 8)} }
	who := func(i int) identity.Person {
		return identity.Person{Principal: ask.Principal{Issuer: "i", Subject: string(rune('a' + i%26))}}
	}
	for i := range 1000 {
		c.put(id(i), who(i), now.Add(time.Minute), now)
		if len(c.entries) > 100 {
			t.Fatalf("%d entries", len(c.entries))
		}
		if p, ok := c.get(id(i), now); !ok || p.Principal != who(i).Principal {
			t.Fatalf("%d is %v, %t", i, p, ok)
		}
	}
	if len(c.entries) != 100 {
		t.Errorf("%d entries of 100", len(c.entries))
	}
	c.put(id(999), who(1), now.Add(time.Hour), now)
	if len(c.entries) != 100 {
		t.Errorf("%d entries after one was put again", len(c.entries))
	}
	later := now.Add(time.Minute)
	if _, ok := c.get(id(998), later); ok {
		t.Error("one that has expired is given")
	}
	if _, ok := c.get(id(999), later); !ok {
		t.Error("one that was put again has the old end")
	}
	for i := range 20 {
		c.put(id(5000+i), who(i), later.Add(time.Hour), later)
	}
	if len(c.entries) > 40 {
		t.Errorf("%d entries: those that have expired are kept", len(c.entries))
	}
	c.put(id(9000), who(1), later, later)
	if _, ok := c.get(id(9000), now); ok {
		t.Error("one that had expired already was kept")
	}
}
