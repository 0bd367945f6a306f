package natsjournal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// turned is a wall clock that can be turned. It has no monotonic part.
type turned struct {
	mu sync.Mutex
	at time.Time
}

func newTurned() *turned { return &turned{at: time.Now().Round(0)} }

func (c *turned) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *turned) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// The wall clock is turned back over a restart, and within a life. What was
// over stays over, and what is put then has its whole time.
func TestAWallClockTurnedBackBringsNothingBack(t *testing.T) {
	wall := newTurned()
	cfg := config(t)
	cfg.Now = wall.now
	j := open(t, cfg)
	ctx, s := t.Context(), j.Shelf("test")
	rev, err := s.Put(ctx, "short", journal.Rev{}, []byte("value"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	a := settle(t, j, create(t, j, ask("settled")), time.Hour)
	lapsed := create(t, j, ask("lapsed"))
	over := func() {
		t.Helper()
		if _, err := s.Get(ctx, "short"); !errors.Is(err, journal.NotFound) {
			t.Errorf("an item that was over is read: %v", err)
		}
		if _, err := s.Put(ctx, "short", rev, nil, 0); !errors.Is(err, journal.NotFound) {
			t.Errorf("an item that was over is replaced: %v", err)
		}
		for _, k := range []journal.Key{a.Key, lapsed.Key} {
			if _, err := j.Get(ctx, k); !errors.Is(err, journal.NotFound) {
				t.Errorf("%s was over and is read: %v", k.ID, err)
			}
		}
		for r, err := range j.Open(ctx, home) {
			t.Errorf("%s was over and is read: %v", r.ID, err)
		}
	}
	wall.turn(30 * time.Hour)
	over()
	wall.turn(-29 * time.Hour)
	over()
	j = reopen(t, cfg, j) // notes the time as it leaves
	s = j.Shelf("test")
	over()
	if _, err := s.Put(ctx, "short", journal.Rev{}, []byte("again"), time.Hour); err != nil {
		t.Fatal(err)
	}
	fresh := create(t, j, ask("fresh"))
	wall.turn(59 * time.Minute)
	if item, err := s.Get(ctx, "short"); err != nil || string(item.Value) != "again" {
		t.Errorf("an item is over before its time: %v", err)
	}
	if _, err := j.Get(ctx, fresh.Key); err != nil {
		t.Errorf("a question is over before its time: %v", err)
	}
	wall.turn(time.Minute)
	if _, err := s.Get(ctx, "short"); !errors.Is(err, journal.NotFound) {
		t.Errorf("an item outlives its time: %v", err)
	}
	crash(t, j)
	wall.turn(-time.Hour)
	open(t, cfg)
}

// A crash without leave keeps the time of the last beat.
func TestTheTimeIsNotedAtEveryBeat(t *testing.T) {
	wall := newTurned()
	cfg := config(t)
	cfg.Now, cfg.beat = wall.now, 10*time.Millisecond
	j := open(t, cfg)
	if _, err := j.Shelf("test").Put(t.Context(), "short", journal.Rev{}, nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	began := wall.now()
	wall.turn(2 * time.Hour)
	until(t, "the time is noted", func() bool {
		return notedTime(t, j) >= began.Add(2*time.Hour).UnixNano()
	})
	crash(t, j)
	wall.turn(-3 * time.Hour)
	j = open(t, cfg)
	if _, err := j.Shelf("test").Get(t.Context(), "short"); !errors.Is(err, journal.NotFound) {
		t.Errorf("an item that was over is read: %v", err)
	}
}

// notedTime gives the time that the store has.
func notedTime(t *testing.T, j *Journal) int64 {
	t.Helper()
	m, err := j.shelf.last(t.Context(), j.clockSubject())
	if err != nil {
		t.Fatal(err)
	}
	at, _ := binary.Varint(m.frame.payload)
	return at
}

// While no gateway is there, time passes in the engine: what the engine
// removes then is over, although the wall clock of the gateway stands still.
func TestTimeThatPassesInTheEngineCounts(t *testing.T) {
	_, cfg := external(t, nil)
	wall := newTurned()
	cfg.Now = wall.now
	j := open(t, cfg)
	if _, err := j.Shelf("test").Put(t.Context(), "short", journal.Rev{}, nil, time.Second); err != nil {
		t.Fatal(err)
	}
	shut(t, j)
	until(t, "the time has passed", func() bool {
		j := open(t, cfg)
		defer shut(t, j)
		_, err := j.Shelf("test").Get(t.Context(), "short")
		return errors.Is(err, journal.NotFound)
	})
}

// An ask that nobody settled for too long counts as over, which is said once,
// and its place is made free.
func TestAnAskThatNobodySettledIsReported(t *testing.T) {
	wall := newTurned()
	cfg := config(t)
	var log syncBuffer
	cfg.Now, cfg.Log = wall.now, slog.New(slog.NewTextHandler(&log, nil))
	j := open(t, cfg)
	for _, id := range []string{"one", "two"} {
		create(t, j, ask(id))
	}
	alive := ask("alive")
	alive.Deadline = wall.now().Add(48 * time.Hour)
	create(t, j, alive)
	shut(t, j)
	wall.turn(30 * time.Hour)
	for round := range 2 {
		j = open(t, cfg)
		n := 0
		for range j.Open(t.Context(), home) {
			n++
		}
		if n != 1 {
			t.Errorf("%d questions are read, want 1", n)
		}
		if said := strings.Count(log.String(), "count as over"); said != 1 {
			t.Errorf("after start %d it was said %d times", round+1, said)
		}
		shut(t, j)
	}
	if !strings.Contains(log.String(), "count=2") {
		t.Errorf("the log does not say how many: %s", log.String())
	}
	j = open(t, cfg)
	for range j.Open(t.Context(), home) {
		continue
	}
	name := j.asks[j.layout.shard(alive.Shard)].stream
	until(t, "the engine has room again", func() bool { return messages(t, j, name) == 2 })
	crash(t, j)
	cfg.Dir = copied(t, cfg.Dir)
	open(t, cfg)
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A program that is started while the store is closed has a copy of its files
// for a moment, and must not keep the lock.
func TestTheLockEndsWithTheStore(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	copyOf := duplicate(t, lock)
	defer copyOf.Close()
	e := &engine{cfg: &Config{}, lock: lock}
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// duplicate opens the file that f has open, as a child process does.
func duplicate(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := dup(f)
	if err != nil {
		t.Skipf("files cannot be copied here: %v", err)
	}
	return os.NewFile(fd, f.Name())
}
