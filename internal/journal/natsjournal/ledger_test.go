package natsjournal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// crash closes a journal without letting it take leave of its store.
func crash(t *testing.T, j *Journal) {
	t.Helper()
	j.end()
	j.running.Wait()
	if err := j.shut(); err != nil {
		t.Fatal(err)
	}
}

func wantCorrupt(t *testing.T, cfg Config, names ...string) {
	t.Helper()
	j, err := Open(t.Context(), cfg)
	if err == nil {
		shut(t, j)
		t.Fatal("the store was opened")
	}
	if !errors.Is(err, journal.Corrupt) {
		t.Fatalf("got error %v, want %q", err, journal.Corrupt)
	}
	for _, n := range append(names, cfg.Dir) {
		if !strings.Contains(err.Error(), n) {
			t.Errorf("the error does not name %s: %v", n, err)
		}
	}
}

func TestP9AnOpenAskThatVanishedIsMissedAtStart(t *testing.T) {
	for _, clean := range []bool{true, false} {
		cfg := config(t)
		j := open(t, cfg)
		for i := range 20 {
			create(t, j, ask(fmt.Sprint("ask-", i)))
		}
		r := create(t, j, ask("victim"))
		settle(t, j, create(t, j, ask("other")), time.Hour)
		name := j.asks[j.layout.shard(r.Shard)].stream
		if err := stream(t, j, name).DeleteMsg(t.Context(), r.Rev.Seq); err != nil {
			t.Fatal(err)
		}
		if clean {
			shut(t, j)
		} else {
			crash(t, j)
		}
		wantCorrupt(t, cfg, name)
	}
}

func TestP9AnItemThatVanishedIsMissedAtStart(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	rev, err := j.Shelf("grants").Put(t.Context(), "key", journal.Rev{}, []byte("value"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Shelf("grants").Put(t.Context(), "other", journal.Rev{}, []byte("value"), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := stream(t, j, j.shelf.stream).DeleteMsg(t.Context(), rev.Seq); err != nil {
		t.Fatal(err)
	}
	crash(t, j)
	wantCorrupt(t, cfg, j.shelf.stream)
}

// Records with a time to live go by themselves, which is no damage.
func TestWhatHadItsTimeIsNotMissed(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	j := open(t, cfg)
	create(t, j, ask("open"))
	r := settle(t, j, create(t, j, ask("settled")), time.Second)
	crash(t, j)
	j = open(t, cfg)
	for { // until the last message of the stream is gone
		if _, err := j.Get(t.Context(), r.Key); errors.Is(err, journal.NotFound) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	crash(t, j)
	j = open(t, cfg)
	if _, err := j.Get(t.Context(), ask("open").Key); err != nil {
		t.Error(err)
	}
}

// An audit entry that follows vouches for the streams, also when their own
// last messages have had their time.
func TestTheAuditVouchesForStreams(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	victim := create(t, j, ask("victim"))
	settle(t, j, create(t, j, ask("other")), time.Hour)
	if err := j.Append(t.Context(), []byte("entry")); err != nil {
		t.Fatal(err)
	}
	s := stream(t, j, j.asks[j.layout.shard(victim.Shard)].stream)
	last, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{victim.Rev.Seq, last.State.LastSeq} {
		if err := s.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	crash(t, j)
	wantCorrupt(t, cfg, s.CachedInfo().Config.Name)
}

func TestP9AMessageThatIsNotOursIsRefusedAtStart(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	r := create(t, j, ask("one"))
	subject := j.layout.ask(r.Key)
	if _, err := j.link.conn.Request(subject, []byte("foreign"), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Get(t.Context(), r.Key); !errors.Is(err, journal.Corrupt) {
		t.Errorf("reading it gives %v", err)
	}
	crash(t, j)
	wantCorrupt(t, cfg, subject)
}

func TestP9AMissingStreamIsRefusedAtStart(t *testing.T) {
	for _, name := range []string{"answerback-ask-0", "answerback-shelf", "answerback-audit"} {
		cfg := config(t)
		j := open(t, cfg)
		create(t, j, ask("one"))
		path := j.engine.path(name)
		shut(t, j)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		wantCorrupt(t, cfg, name)
	}
}

func TestP9ADamagedStreamIsRefusedWithItsPath(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	create(t, j, ask("one"))
	path := j.engine.path("answerback-ask-1")
	shut(t, j)
	flip(t, filepath.Join(path, "meta.inf"), 10)
	wantCorrupt(t, cfg, path)
}

// flip changes one bit of a file.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at%len(b)] ^= 0x10
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Flipped bits, cut off ends and missing files: the store is opened with all
// its open asks or not at all.
func TestP9DamagedBlocksAreNoticed(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for round := range 12 {
		cfg := config(t)
		cfg.Shards = 1
		j := open(t, cfg)
		for i := range 30 {
			create(t, j, ask(fmt.Sprint("ask-", i)))
		}
		if err := j.Append(t.Context(), []byte("entry")); err != nil {
			t.Fatal(err)
		}
		blocks := filepath.Join(j.engine.path("answerback-ask-0"), "msgs")
		if round%2 == 0 {
			shut(t, j)
		} else {
			crash(t, j)
		}
		// Without its index the engine must read the block itself.
		if round%4 < 2 {
			_ = os.Remove(filepath.Join(blocks, "index.db"))
		}
		block := filepath.Join(blocks, "1.blk")
		info, err := os.Stat(block)
		if err != nil {
			t.Fatal(err)
		}
		switch round % 3 {
		case 0:
			flip(t, block, rnd.IntN(int(info.Size())))
		case 1:
			err = os.Truncate(block, rnd.Int64N(info.Size()))
		case 2:
			err = os.Remove(block)
		}
		if err != nil {
			t.Fatal(err)
		}
		j, err = Open(t.Context(), cfg)
		if err != nil {
			refused++
			if !errors.Is(err, journal.Corrupt) || !strings.Contains(err.Error(), cfg.Dir) {
				t.Errorf("round %d: %v", round, err)
			}
			continue
		}
		n := 0
		for r, err := range j.Open(t.Context(), home) {
			if err != nil || string(r.Body) != "body of "+r.ID {
				t.Errorf("round %d: %v %q", round, err, r.Body)
			}
			n++
		}
		if n != 30 {
			t.Errorf("round %d: the store was opened with %d of 30 asks", round, n)
		}
		shut(t, j)
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

// A stream that is put back to an earlier state is noticed by what others
// know of it.
func TestP9AStaleStreamIsRefusedAtStart(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	r := create(t, j, ask("one"))
	name := j.asks[j.layout.shard(r.Shard)].stream
	path, backup := j.engine.path(name), t.TempDir()
	crash(t, j)
	if err := os.CopyFS(backup, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	j = open(t, cfg)
	settle(t, j, r, time.Hour)
	if err := j.Append(t.Context(), []byte("entry")); err != nil {
		t.Fatal(err)
	}
	crash(t, j)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(path, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	wantCorrupt(t, cfg, name)
}

// Whatever was written, and however it ended, a whole store is opened.
func TestAWholeStoreIsNeverRefused(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	cfg := config(t)
	cfg.Shards = 2
	j := open(t, cfg)
	asks := map[string]journal.Record{}
	items := map[string]journal.Rev{}
	for n := range 400 {
		id := fmt.Sprint("n", rnd.IntN(30))
		r, known := asks[id]
		s := j.Shelf("test")
		var err error
		switch rnd.IntN(8) {
		case 0, 1, 2:
			if !known {
				r = ask(id + "-" + fmt.Sprint(n))
				r.Shard = uint16(rnd.IntN(10))
			} else if rnd.IntN(2) == 0 {
				r.Settled, r.Keep = true, time.Duration(1+rnd.IntN(3))*time.Second
			}
			if known {
				r.Rev, err = j.Update(t.Context(), r)
			} else {
				r.Rev, err = j.Create(t.Context(), r)
			}
			if asks[id] = r; r.Settled {
				delete(asks, id)
			}
		case 3, 4:
			var ttl time.Duration
			if rnd.IntN(2) == 0 {
				ttl = time.Hour
			}
			items[id], err = s.Put(t.Context(), id, items[id], []byte(id), ttl)
		case 5:
			if rev, ok := items[id]; ok {
				err = s.Delete(t.Context(), id, rev)
				delete(items, id)
			}
		case 6:
			_, lost := j.Create(t.Context(), ask("same"))
			if n > 50 && lost != nil && !errors.Is(lost, journal.Exists) {
				err = lost
			}
			if rnd.IntN(2) == 0 {
				err = errors.Join(err, j.Append(t.Context(), []byte("entry")))
			}
		case 7:
			if rnd.IntN(3) > 0 {
				continue
			}
			if rnd.IntN(2) == 0 {
				shut(t, j)
			} else {
				crash(t, j)
			}
			j = open(t, cfg)
		}
		if err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
	}
	for _, want := range asks {
		if got, err := j.Get(t.Context(), want.Key); err != nil || got.Rev != want.Rev {
			t.Errorf("%s: %v at %+v, want %+v", want.ID, err, got.Rev, want.Rev)
		}
	}
}

// A write whose fate was unknown is looked up before the next one, so that
// the ledger stays exact.
func TestDoubtIsDispelledByTheNextWrite(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	r := ask("stored")
	i := j.layout.shard(r.Shard)
	w := write{subject: j.layout.ask(r.Key), kind: kindAsk, open: true, expires: j.recoverable(&r), payload: encodeAsk(&r)}
	w.date(j.clock.now(), j.cfg.slack)
	_, n, err := j.asks[i].publish(t.Context(), w, j.stamps())
	if err != nil {
		t.Fatal(err)
	}
	j.asks[i].doubt = &doubt{w, n}
	create(t, j, ask("next"))
	if j.asks[i].doubt != nil {
		t.Fatal("the doubt is still there")
	}
	if l := j.asks[i].book.ledger(j.clock.now()); l.pins != 2 {
		t.Errorf("the ledger has %d records, want 2", l.pins)
	}
	other := ask("never stored")
	other.ID = "never-stored"
	j.asks[i].doubt = &doubt{write{subject: j.layout.ask(other.Key), kind: kindAsk}, 1}
	create(t, j, ask("last"))
	if l := j.asks[i].book.ledger(j.clock.now()); l.pins != 3 {
		t.Errorf("the ledger has %d records, want 3", l.pins)
	}
	crash(t, j)
	j = open(t, cfg)
	if _, err := j.Get(t.Context(), r.Key); err != nil {
		t.Error(err)
	}
}

// Questions are over since the ledger was written, and some that were settled
// came back in the crash. The store is opened, unless a question is missing
// that is not over.
func TestP9WhatIsOverDoesNotHideAMissingAsk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lapsed, settled, missing bool }{
		"none is over":               {},
		"one is over":                {lapsed: true},
		"one came back":              {settled: true},
		"one is over, one came back": {lapsed: true, settled: true},
		"one is missing":             {missing: true},
		"one is over, one missing":   {lapsed: true, missing: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wall := newTurned()
			cfg := still(config(t))
			cfg.Now, cfg.Shards = wall.now, 1
			j := open(t, cfg)
			long := ask("long")
			long.Deadline = wall.now().Add(time.Hour)
			long = create(t, j, long)
			if c.lapsed {
				create(t, j, ask("lapsed"))
			}
			held := messages(t, j, "answerback-ask-0")
			if c.settled {
				settle(t, j, create(t, j, ask("settled")), time.Second)
				// The clock of the store stands still; that of the engine does not.
				until(t, "the engine has removed it", func() bool { return messages(t, j, "answerback-ask-0") == held })
			}
			if c.missing {
				if err := stream(t, j, "answerback-ask-0").DeleteMsg(t.Context(), long.Rev.Seq); err != nil {
					t.Fatal(err)
				}
				shut(t, j)
				wall.turn(30 * time.Second)
				wantCorrupt(t, cfg, "answerback-ask-0")
				return
			}
			dir := copied(t, cfg.Dir)
			crash(t, j)
			cfg.Dir = dir
			wall.turn(30 * time.Second)
			j = open(t, cfg)
			if c.settled && messages(t, j, "answerback-ask-0") <= held {
				t.Error("nothing came back: this shows nothing")
			}
			for r, err := range j.Open(t.Context(), home) {
				if err != nil || r.ID != "long" {
					t.Errorf("%s is read: %v", r.ID, err)
				}
			}
			if _, err := j.Get(t.Context(), long.Key); err != nil {
				t.Error(err)
			}
			// From here on the ledger is exact again.
			if err := stream(t, j, "answerback-ask-0").DeleteMsg(t.Context(), long.Rev.Seq); err != nil {
				t.Fatal(err)
			}
			shut(t, j)
			wantCorrupt(t, cfg, "answerback-ask-0")
		})
	}
}
