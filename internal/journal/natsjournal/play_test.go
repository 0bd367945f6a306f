package natsjournal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// The play: a process writes to a store at random, is killed, and the next one
// says what it finds. What it finds is compared with what the processes before
// it were told. The engine's own ways to remove something fail here: see
// TestTheEngineBringsBackWhatItRemoved.

const (
	playDir  = "NATSJOURNAL_PLAY_DIR"
	playSeed = "NATSJOURNAL_PLAY_SEED"

	playItems  = 40
	playRounds = 6
)

// brief makes the times of a configuration so short that a test can wait for
// them.
func brief(cfg Config) Config {
	cfg.Recovery, cfg.slack, cfg.grain, cfg.beat = time.Second, time.Second, time.Second, 200*time.Millisecond
	return cfg
}

func playConfig(dir string) Config {
	cfg := brief(Defaults())
	cfg.Dir, cfg.Shards, cfg.MaxStore, cfg.AuditBytes = dir, 1, 4<<30, 1<<20
	cfg.Log = slog.New(slog.DiscardHandler)
	return cfg
}

// player is the process that plays. It says on its standard output what it
// found, then each write before it is made, and whether it was.
type player struct {
	j   *Journal
	rng *rand.Rand
	ctx context.Context
}

// play runs until the process is killed.
func play(dir, seed string) {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	j, err := Open(ctx, playConfig(dir))
	if err != nil {
		say("refused", strconv.Quote(err.Error()))
		os.Exit(1)
	}
	p := player{j, rand.New(rand.NewPCG(n, 1)), ctx}
	items, asks := p.report()
	for i := 0; ; i++ {
		id := fmt.Sprint(seed, "-", i)
		if p.rng.IntN(2) == 0 {
			p.writeItem(items, id)
		} else {
			p.writeAsk(asks, id)
		}
	}
}

func say(words ...any) { fmt.Println(words...) }

// report says what is in the store.
func (p *player) report() (map[string]journal.Rev, map[string]journal.Record) {
	items, asks := map[string]journal.Rev{}, map[string]journal.Record{}
	for item, err := range p.j.Shelf("play").Scan(p.ctx, "") {
		if err != nil {
			panic(err)
		}
		items[item.Key] = item.Rev
		say("has", "item."+item.Key, strings.Fields(string(item.Value))[0])
	}
	for r, err := range p.j.Open(p.ctx, home) {
		if err != nil {
			panic(err)
		}
		asks[r.ID] = r
		say("has", "ask."+r.ID, strings.Fields(string(r.Body))[0])
	}
	say("all", p.j.clock.now())
	return items, asks
}

// body begins with id and is up to 200 KB long, so that the store has several
// blocks.
func (p *player) body(id string) []byte {
	return append([]byte(id+" "), make([]byte, p.rng.IntN(200<<10))...)
}

func (p *player) writeItem(items map[string]journal.Rev, id string) {
	key := fmt.Sprint("k", p.rng.IntN(playItems))
	rev, s := items[key], p.j.Shelf("play")
	if !rev.IsZero() && p.rng.IntN(3) == 0 {
		say("write", "item."+key, "end")
		err := s.Delete(p.ctx, key, rev)
		delete(items, key)
		p.wrote(0, err)
		return
	}
	ttl := time.Duration(p.rng.IntN(4)) * time.Second
	say("write", "item."+key, id)
	rev, err := s.Put(p.ctx, key, rev, p.body(id), ttl)
	items[key] = rev
	if err != nil {
		delete(items, key)
	}
	p.wrote(rev.Expires, err)
}

func (p *player) writeAsk(asks map[string]journal.Record, id string) {
	var r journal.Record
	open := slices.Sorted(maps.Keys(asks))
	if len(open) < 10 || p.rng.IntN(3) == 0 {
		r = ask(id)
		r.Body = p.body(id)
		r.Deadline = time.Now().Add(time.Duration(p.rng.IntN(3)) * time.Second)
		say("write", "ask."+r.ID, id)
		rev, err := p.j.Create(p.ctx, r)
		if r.Rev = rev; err == nil {
			asks[r.ID] = r
		}
		p.wrote(rev.Expires, err)
		return
	}
	r = asks[open[p.rng.IntN(len(open))]]
	r.Body = p.body(id)
	if !r.Settled && p.rng.IntN(2) == 0 {
		r.Settled, r.Keep = true, time.Second
	}
	say("write", "ask."+r.ID, id)
	rev, err := p.j.Update(p.ctx, r)
	r.Rev = rev
	if asks[r.ID] = r; err != nil {
		delete(asks, r.ID)
	}
	p.wrote(rev.Expires, err)
}

// wrote says how a write ended. What has expired meanwhile is not found.
func (p *player) wrote(expires int64, err error) {
	switch {
	case err == nil:
		say("ok", expires)
	case errors.Is(err, journal.NotFound):
		say("gone")
	default: // the disk has failed; the fate of the write is unknown
		os.Exit(1)
	}
}

// version is what the model knows of a key.
type version struct {
	value   string
	expires int64
}

// model is what the store must hold.
type model struct {
	t       *testing.T
	known   map[string]version
	pending string // the key of a write whose fate is unknown
	maybe   version
	writes  int
	cut     func() // takes the power from the disk, or nil
}

// round runs one process until it has made some writes, and kills it.
func (m *model) round(dir string, seed uint64, writes int) {
	m.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), playDir+"="+dir, playSeed+"="+fmt.Sprint(seed))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	began := time.Now().UnixNano()
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	has := map[string]string{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		f := strings.SplitN(lines.Text(), " ", 3)
		switch f[0] {
		case "has":
			has[f[1]] = f[2]
		case "all":
			m.check(has, began, number(m.t, f[1]))
		case "write":
			m.pending, m.maybe = f[1], version{value: f[2], expires: journal.Never}
		case "ok":
			m.maybe.expires = number(m.t, f[1])
			m.known[m.pending] = m.maybe
			m.pending = ""
			m.writes++
			writes--
		case "gone":
			m.pending = ""
		case "refused":
			m.t.Fatalf("the store was refused: %s", lines.Text())
		}
		if writes == 0 { // what it said before it died still counts
			writes = -1
			if m.cut != nil {
				m.cut()
			}
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func number(t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// check compares what a process found, between two moments, with what is
// known.
func (m *model) check(has map[string]string, began, done int64) {
	m.t.Helper()
	if m.pending != "" { // either is right
		key := m.pending
		m.pending = ""
		switch has[key] {
		case m.maybe.value:
			m.known[key] = m.maybe
		case "":
			if was := m.known[key]; was.expires > done && m.maybe.value != "end" && was.value != "end" && was.value != "" {
				m.t.Errorf("%s is missing: it was %q", key, was.value)
			}
			m.known[key] = version{value: "end"}
		}
	}
	for key, got := range has {
		if want, ok := m.known[key]; !ok || want.value != got || want.expires <= began {
			m.t.Errorf("%s is %q again, and was last %+v, at %d", key, got, want, began)
		}
	}
	for key, want := range m.known {
		if want.value != "end" && want.expires > done && has[key] == "" {
			m.t.Errorf("%s is missing: it was %+v, at %d", key, want, done)
		}
		if want.expires <= began {
			m.known[key] = version{value: "end"}
		}
	}
}

// However a process ends, the next one finds everything that counts, and
// nothing that is over.
func TestTheStoreNeverCountsWhatIsOver(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	m := &model{t: t, known: map[string]version{}}
	m.play(dir, seed, rng, func() {})
}

// play runs the rounds. Between two of them restore puts the disk right.
func (m *model) play(dir string, seed uint64, rng *rand.Rand, restore func()) {
	t := m.t
	t.Helper()
	for i := range playRounds {
		m.round(dir, seed+uint64(i), 50+rng.IntN(150))
		restore()
		if t.Failed() {
			return
		}
		if i%2 == 1 {
			forgetIndex(t, dir)
		}
		if i%3 == 2 {
			<-time.After(4 * time.Second) // what was written is over, and the engine removes it
		}
	}
	m.round(dir, seed+playRounds, 1)
	restore()
	t.Logf("%d writes in %d processes", m.writes, playRounds)
	if m.writes < 50*playRounds {
		t.Error("there were too few writes to show anything")
	}
}

// forgetIndex makes the engine read its blocks when it starts, as it does
// where it was killed before it wrote an index.
func forgetIndex(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}
