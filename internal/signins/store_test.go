package signins_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/signins"
)

var ann, bob = ask.Principal{Issuer: "https://id.example", Subject: "ann"}, ask.Principal{Issuer: "https://id.example", Subject: "bob"}

// shelf counts what is written to a shelf, and keeps every version.
type shelf struct {
	journal.Shelf
	puts   atomic.Int64
	broken atomic.Bool
	onPut  func()

	unreadable atomic.Bool
	onGet      func()

	mu     sync.Mutex
	values [][]byte
}

func (s *shelf) Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error) {
	if s.broken.Load() {
		return journal.Rev{}, &journal.Error{Reason: journal.Unavailable, Message: "disk on fire"}
	}
	if s.onPut != nil {
		s.onPut()
	}
	s.puts.Add(1)
	s.mu.Lock()
	s.values = append(s.values, append([]byte(key+" "), value...))
	s.mu.Unlock()
	return s.Shelf.Put(ctx, key, rev, value, ttl)
}

func (s *shelf) Get(ctx context.Context, key string) (journal.Item, error) {
	if s.unreadable.Load() {
		return journal.Item{}, &journal.Error{Reason: journal.Unavailable, Message: "disk on fire"}
	}
	item, err := s.Shelf.Get(ctx, key)
	if f := s.onGet; f != nil {
		f()
	}
	return item, err
}

type kit struct {
	t     *testing.T
	shelf *shelf
	ring  *seal.Ring
	cfg   signins.Config
	*signins.Store
}

func newKit(t *testing.T, change ...func(*signins.Config)) *kit {
	t.Helper()
	j, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 20, MaxAudit: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close(context.Background()) })
	k := &kit{t: t, shelf: &shelf{Shelf: j.Shelf("signins")}, ring: seal.Random()}
	k.cfg = signins.Config{Shelf: k.shelf, Ring: k.ring, Idle: time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&k.cfg)
	}
	k.restart()
	return k
}

// restart forgets all that is not on the shelf.
func (k *kit) restart() {
	k.t.Helper()
	s, err := signins.Open(k.t.Context(), k.cfg)
	if err != nil {
		k.t.Fatal(err)
	}
	k.Store = s
}

func (k *kit) signIn(key string, who ask.Principal) error {
	now := time.Now()
	return k.Put(k.t.Context(), key, signin.Record{
		Principal: who, Name: "a name", Claims: json.RawMessage(`{"groups":["hunter2"]}`), Created: now, Seen: now, Expires: now.Add(12 * time.Hour),
	})
}

// has fails unless the sign-ins are there, or not.
func (k *kit) has(want bool, keys ...string) {
	k.t.Helper()
	for _, key := range keys {
		if _, ok, err := k.Get(k.t.Context(), key); err != nil || ok != want {
			k.t.Errorf("%s is there: %v, %v, want %v", key, ok, err, want)
		}
	}
}

func TestSignInsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		for key, who := range map[string]ask.Principal{"a1": ann, "a2": ann, "b1": bob} {
			if err := k.signIn(key, who); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			k.restart()
			k.has(true, "a1", "a2", "b1")
			k.has(false, "c1")
		}
		r, _, _ := k.Get(t.Context(), "b1")
		if r.Principal != bob || r.Name != "a name" || string(r.Claims) != `{"groups":["hunter2"]}` {
			t.Errorf("%+v", r)
		}
		for _, v := range k.shelf.values {
			if bytes.Contains(v, []byte("hunter2")) || bytes.Contains(v, []byte("id.example")) {
				t.Errorf("the store can be read: %s", v)
			}
		}
		time.Sleep(12*time.Hour + time.Second)
		k.has(false, "a1", "b1")
	})
}

// What was signed out stays so: after a restart, and where a use of it is under
// way at the same time.
func TestEndIsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		for _, key := range []string{"a1", "a2"} {
			if err := k.signIn(key, ann); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Minute)
		if err := k.Delete(t.Context(), "a1"); err != nil {
			t.Fatal(err)
		}
		if err := k.Touch(t.Context(), "a1", time.Now()); err != nil {
			t.Fatal(err)
		}
		k.has(false, "a1")
		k.restart()
		k.has(false, "a1")
		k.has(true, "a2")
		// The end is there until the sign-in would be gone anyway, so that an
		// older version that comes back in the store is not the newest.
		time.Sleep(11*time.Hour + 41*time.Minute)
		if item, err := k.shelf.Get(t.Context(), "a1"); err != nil || len(item.Value) == 0 {
			t.Errorf("the end is gone: %v", err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := k.shelf.Get(t.Context(), "a1"); !errors.Is(err, journal.NotFound) {
			t.Errorf("the end stays: %v", err)
		}
		if err := k.Delete(t.Context(), "a1"); err != nil {
			t.Errorf("ended twice: %v", err)
		}
	})
}

func TestEndWinsAgainstUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		if err := k.signIn("a1", ann); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		// A use is stored between the read and the write of the end.
		other, err := signins.Open(t.Context(), k.cfg)
		if err != nil {
			t.Fatal(err)
		}
		once := false
		k.shelf.onPut = func() {
			if !once {
				once = true
				if err := other.Touch(t.Context(), "a1", time.Now()); err != nil {
					t.Error(err)
				}
			}
		}
		if err := k.Delete(t.Context(), "a1"); err != nil {
			t.Fatal(err)
		}
		k.has(false, "a1")
		if _, ok, _ := other.Get(t.Context(), "a1"); ok {
			t.Error("another gateway takes it still")
		}
		if !once || k.shelf.puts.Load() != 4 {
			t.Errorf("%d writes: the use did not come between", k.shelf.puts.Load())
		}
	})
}

// A use is noted at most once in a quarter of the idle time, however many
// requests there are, and known exactly until the gateway ends.
func TestUseIsNotedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		if err := k.signIn("a1", ann); err != nil {
			t.Fatal(err)
		}
		before := k.shelf.puts.Load()
		for range 59 {
			time.Sleep(time.Minute)
			if err := k.Touch(t.Context(), "a1", time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if n := k.shelf.puts.Load() - before; n != 3 {
			t.Errorf("%d writes in 59 minutes, want 3", n)
		}
		if r, _, _ := k.Get(t.Context(), "a1"); !r.Seen.Equal(time.Now()) {
			t.Errorf("seen %s ago", time.Since(r.Seen))
		}
		k.restart()
		if r, _, _ := k.Get(t.Context(), "a1"); time.Since(r.Seen) > 15*time.Minute {
			t.Errorf("after a restart seen %s ago", time.Since(r.Seen))
		}
	})
}

func TestSignInsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, func(c *signins.Config) { c.Max, c.PerPerson = 4, 3 })
		for i := range 5 {
			time.Sleep(time.Minute)
			if err := k.signIn(fmt.Sprintf("a%d", i), ann); err != nil {
				t.Fatal(err)
			}
			if i == 2 { // the oldest is used, so the next goes
				time.Sleep(time.Minute)
				if err := k.Touch(t.Context(), "a0", time.Now()); err != nil {
					t.Fatal(err)
				}
				k.restart() // what goes is known after a restart too
				if err := k.Touch(t.Context(), "a0", time.Now()); err != nil {
					t.Fatal(err)
				}
			}
		}
		k.has(true, "a0", "a3", "a4")
		k.has(false, "a1", "a2")
		if err := k.signIn("b0", bob); err != nil {
			t.Fatal(err)
		}
		e, full := errors.AsType[*ask.Error](k.signIn("b1", bob))
		if !full || e.Code != ask.TooManyOpen {
			t.Errorf("one too many: %v", e)
		}
		k.has(false, "b1")
		k.has(true, "b0", "a0") // nobody makes room for somebody else
		if err := k.Delete(t.Context(), "a0"); err != nil {
			t.Fatal(err)
		}
		if err := k.signIn("b1", bob); err != nil {
			t.Errorf("after a sign-out there is room: %v", err)
		}
		time.Sleep(2 * time.Hour) // all are idle
		for i := range 3 {
			if err := k.signIn(fmt.Sprintf("c%d", i), ask.Principal{Issuer: "i", Subject: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		}
	})
}

// While the shelf cannot be read, people who were there a moment ago are known,
// for a quarter of an hour; nobody comes back who was signed out, not even by a
// read that was under way.
func TestShelfThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		for _, key := range []string{"a1", "a2", "a3"} {
			if err := k.signIn(key, ann); err != nil {
				t.Fatal(err)
			}
		}
		k.restart()
		if err := k.Delete(t.Context(), "a2"); err != nil {
			t.Fatal(err)
		}
		k.shelf.onGet = func() { // the end comes between the read and its result
			k.shelf.onGet = nil
			if err := k.Delete(t.Context(), "a3"); err != nil {
				t.Error(err)
			}
		}
		if _, ok, err := k.Get(t.Context(), "a3"); !ok || err != nil {
			t.Fatalf("control: %v, %v", ok, err)
		}
		k.shelf.unreadable.Store(true)
		k.has(true, "a1")
		for _, key := range []string{"a2", "a3", "never"} {
			if _, ok, err := k.Get(t.Context(), key); ok || !errors.Is(err, journal.Unavailable) {
				t.Errorf("%s: %v, %v", key, ok, err)
			}
		}
		time.Sleep(15 * time.Minute)
		if _, ok, err := k.Get(t.Context(), "a1"); ok || err == nil {
			t.Error("taken for longer than a quarter of an hour")
		}
		k.shelf.unreadable.Store(false)
		k.has(true, "a1")
	})
}

// A store that fails signs nobody in, and lets nobody believe that they are
// signed out.
func TestBrokenShelf(t *testing.T) {
	k := newKit(t)
	if err := k.signIn("a1", ann); err != nil {
		t.Fatal(err)
	}
	k.shelf.broken.Store(true)
	if err := k.signIn("a2", ann); !errors.Is(err, journal.Unavailable) {
		t.Errorf("signed in: %v", err)
	}
	if err := k.Delete(t.Context(), "a1"); !errors.Is(err, journal.Unavailable) {
		t.Errorf("signed out: %v", err)
	}
	k.shelf.broken.Store(false)
	k.has(true, "a1")
	k.has(false, "a2")
}

// An operator ends the sign-ins of one person, or of everybody.
func TestOperatorEndsSignIns(t *testing.T) {
	k := newKit(t)
	for key, who := range map[string]ask.Principal{"a1": ann, "a2": ann, "b1": bob} {
		if err := k.signIn(key, who); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := k.End(t.Context(), ann); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	k.restart()
	k.has(false, "a1", "a2")
	k.has(true, "b1")
	if n, err := k.End(t.Context(), ask.Principal{}); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	k.has(false, "b1")
	if n, err := k.End(t.Context(), ask.Principal{}); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
}

// Old keys open what they sealed; without its key a record is none.
func TestKeysRotate(t *testing.T) {
	one, two := bytes.Repeat([]byte{1}, seal.KeySize), bytes.Repeat([]byte{2}, seal.KeySize)
	k := newKit(t)
	rotate := func(keys ...[]byte) {
		ring, err := seal.New(keys...)
		if err != nil {
			t.Fatal(err)
		}
		k.cfg.Ring = ring
		k.restart()
	}
	rotate(one)
	if err := k.signIn("a1", ann); err != nil {
		t.Fatal(err)
	}
	rotate(two, one)
	k.has(true, "a1")
	if err := k.signIn("a2", ann); err != nil {
		t.Fatal(err)
	}
	rotate(two)
	k.has(false, "a1")
	k.has(true, "a2")
	// A record that is put under another key opens nothing.
	item, err := k.shelf.Get(t.Context(), "a2")
	if err == nil {
		_, err = k.shelf.Put(t.Context(), "a3", journal.Rev{}, item.Value, time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.has(false, "a3")
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := signins.Open(t.Context(), signins.Config{}); err == nil || !strings.Contains(err.Error(), "required") {
		t.Errorf("%v", err)
	}
}
