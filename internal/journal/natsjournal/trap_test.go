package natsjournal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

// The traps of the engine that were met in trials, each held shut by a test.

const home = "0123456789abcdef"

func ask(id string) journal.Record {
	return journal.Record{
		Key:       journal.Key{Shard: 0xbeef, Home: home, ID: id},
		Addressee: "https://id.example.com|anna",
		Asked:     time.Unix(1_800_000_000, 0),
		Body:      []byte("body of " + id),
	}
}

func create(t testing.TB, j *Journal, r journal.Record) journal.Record {
	t.Helper()
	rev, err := j.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.Rev = rev
	return r
}

func settle(t testing.TB, j *Journal, r journal.Record, keep time.Duration) journal.Record {
	t.Helper()
	r.Settled, r.Keep = true, keep
	rev, err := j.Update(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.Rev = rev
	return r
}

func stream(t testing.TB, j *Journal, name string) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(j.link.conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnUpdateCarriesExpectedSequenceAndTTLTogether(t *testing.T) {
	j := open(t, config(t))
	r := create(t, j, ask("one"))
	was := r.Rev.Seq
	r = settle(t, j, r, 90*time.Second)
	m, err := stream(t, j, j.asks[j.layout.shard(r.Shard)].stream).GetMsg(t.Context(), r.Rev.Seq)
	if err != nil {
		t.Fatal(err)
	}
	// The engine may remove the record only when the open version that it
	// replaced would be over too, and slack has passed.
	ttl, err := time.ParseDuration(m.Header.Get("Nats-TTL"))
	if removed := m.Time.Add(ttl); err != nil || removed.Before(time.Unix(0, r.Rev.Until).Add(j.cfg.slack)) || removed.After(time.Unix(0, r.Rev.Until).Add(j.cfg.slack+time.Minute)) {
		t.Errorf("the update was stored with TTL %q (%v): it goes at %v and must stay until %v", m.Header.Get("Nats-TTL"), err, removed, time.Unix(0, r.Rev.Until))
	}
	if got := m.Header.Get("Nats-Expected-Last-Subject-Sequence"); got != strconv.FormatUint(was, 10) {
		t.Errorf("the update was stored expecting sequence %q, want %d", got, was)
	}
}

// On the subjects themselves an attempt that lost can be heard. Were watches
// to listen there, they would hear it too.
func TestWatchesDoNotListenWhereLostAttemptsAreHeard(t *testing.T) {
	j := open(t, config(t))
	raw, err := j.link.conn.SubscribeSync(j.layout.prefix + ".ask.>")
	if err != nil {
		t.Fatal(err)
	}
	wakes := make(chan journal.Wake, 10)
	stop, err := j.Watch(t.Context(), home, func(w journal.Wake) { wakes <- w })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	create(t, j, ask("one"))
	if _, err := j.Create(t.Context(), ask("one")); !errors.Is(err, journal.Exists) {
		t.Fatal(err)
	}
	create(t, j, ask("two"))
	for range 3 {
		if _, err := raw.NextMsg(10 * time.Second); err != nil {
			t.Fatalf("the trap is not there any more: %v", err)
		}
	}
	if a, b := <-wakes, <-wakes; a.Record.ID != "one" || b.Record.ID != "two" {
		t.Errorf("the watch saw %q and %q", a.Record.ID, b.Record.ID)
	}
}

func TestOneSubscriptionServesAllAsks(t *testing.T) {
	j := open(t, config(t))
	stop, err := j.Watch(t.Context(), home, func(journal.Wake) {})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	create(t, j, ask("first"))
	before := j.link.conn.NumSubscriptions()
	for i := range 50 {
		create(t, j, ask(fmt.Sprint("ask-", i)))
	}
	if after := j.link.conn.NumSubscriptions(); after != before {
		t.Errorf("50 asks took %d subscriptions", after-before)
	}
}

func TestStreamsAreSetUpAsThePromisesNeed(t *testing.T) {
	j := open(t, config(t))
	js, err := jetstream.New(j.link.conn)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s := range js.ListStreams(t.Context()).Info() {
		c := s.Config
		n++
		if c.AllowDirect || c.MirrorDirect {
			t.Errorf("%s lets replicas answer that lag behind", c.Name)
		}
		if c.AllowAtomicPublish || c.AllowBatchPublish {
			t.Errorf("%s takes batches, which are slow and not used", c.Name)
		}
		if c.Storage != jetstream.FileStorage || c.PersistMode == jetstream.AsyncPersistMode || c.NoAck {
			t.Errorf("%s acknowledges what is not on disk", c.Name)
		}
		if c.Name == j.audit.stream {
			if c.Discard != jetstream.DiscardOld || c.MaxAge != j.cfg.AuditAge || c.MaxBytes != j.cfg.AuditBytes {
				t.Errorf("the audit keeps %v, %d bytes", c.MaxAge, c.MaxBytes)
			}
			continue
		}
		if c.Discard != jetstream.DiscardNew || c.MaxAge != 0 || c.MaxMsgsPerSubject != 1 || !c.AllowMsgTTL || c.RePublish == nil {
			t.Errorf("%s is set up wrongly: %+v", c.Name, c)
		}
	}
	if n != j.cfg.Shards+2 {
		t.Errorf("there are %d streams, want %d", n, j.cfg.Shards+2)
	}
}

func TestTheEngineHasNoListener(t *testing.T) {
	j := open(t, config(t))
	if a := j.engine.server.Addr(); a != nil {
		t.Errorf("the server listens at %v", a)
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	if got := listening(t); len(got) != 0 {
		t.Errorf("the process listens: %v", got)
	}
}

// listening gives the listening TCP sockets of this process.
func listening(t *testing.T) []string {
	mine := map[string]bool{}
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(fds) == 0 {
		t.Fatal("cannot read the process's files", err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
			mine[strings.Trim(target, "socket:[]")] = true
		}
	}
	var found []string
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			f := strings.Fields(lines.Text())
			if len(f) > 9 && f[3] == "0A" && mine[f[9]] {
				found = append(found, f[1])
			}
		}
	}
	return found
}

func TestEveryWriteIsSyncedBeforeItIsAcknowledged(t *testing.T) {
	t.Parallel()
	const variable, writes = "NATSJOURNAL_SYNC_DIR", 50
	if dir := os.Getenv(variable); dir != "" { // the process that is traced
		cfg := config(t)
		cfg.Dir = dir
		j := open(t, cfg)
		for i := range writes {
			create(t, j, ask(fmt.Sprint("ask-", i)))
		}
		return
	}
	j := open(t, config(t))
	if c := j.engine.server.JetStreamConfig(); !c.SyncAlways {
		t.Fatal("the engine acknowledges before it syncs")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace to count")
	}
	calls := func(syscalls, dir string) int {
		log := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(strace, "-f", "-o", log, "-e", "trace="+syscalls, os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("strace does not work here: %v: %s", err, out)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return len(regexp.MustCompile(`(?m)(fsync|fdatasync)\(\d+(\)| <unfinished)`).FindAll(text, -1))
	}
	if n := calls("fsync,fdatasync", t.TempDir()); n < writes {
		t.Errorf("%d writes took %d syncs", writes, n)
	}
}

func TestReadsDoNotAskReplicas(t *testing.T) {
	j := open(t, config(t))
	direct, err := j.link.conn.SubscribeSync("$JS.API.DIRECT.>")
	if err != nil {
		t.Fatal(err)
	}
	r := create(t, j, ask("one"))
	if _, err := j.Get(t.Context(), r.Key); err != nil {
		t.Fatal(err)
	}
	if _, err := j.List(t.Context(), r.Shard, r.Addressee, 10); err != nil {
		t.Fatal(err)
	}
	if err := j.link.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := direct.Pending(); n != 0 {
		t.Errorf("%d reads went to any replica", n)
	}
}

// What was published while there was no connection must not arrive later,
// when its caller has been told that it failed.
func TestNothingIsKeptToBeSentLater(t *testing.T) {
	j := open(t, config(t))
	j.engine.mu.Lock()
	s := j.engine.server
	j.engine.server = nil
	j.engine.mu.Unlock()
	j.cfg.Log.Info("cutting the connection")
	if err := j.link.conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	for j.link.conn.IsConnected() {
		runtime.Gosched()
	}
	err := j.link.conn.Publish("later", nil)
	j.engine.mu.Lock()
	j.engine.server = s
	j.engine.mu.Unlock()
	if !errors.Is(err, nats.ErrReconnectBufExceeded) {
		t.Errorf("publishing without a connection gives %v", err)
	}
}
