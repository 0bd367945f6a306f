package natsjournal

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

func TestOneProcessHasTheDirectory(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	_, err := Open(t.Context(), cfg)
	if !errors.Is(err, journal.Unavailable) || !strings.Contains(err.Error(), cfg.Dir) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatalf("the second one was told: %v", err)
	}
	open(t, config(t)) // another directory is free
	reopen(t, cfg, j)
}

func TestStoreOfAnotherShapeIsRefused(t *testing.T) {
	cfg := config(t)
	shut(t, open(t, cfg))
	other := cfg
	other.Shards = 8
	wantCorrupt(t, other, "4 shards")
	open(t, cfg)
}

func TestAnInterruptedFirstStartIsFinished(t *testing.T) {
	cfg := config(t)
	e, err := startEngine(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect("", nats.InProcessServer(e))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	l, store := layout{prefix: cfg.Prefix, shards: cfg.Shards}, "store"
	for _, s := range l.streams(&cfg)[:2] {
		if _, err := l.create(t.Context(), js, s, &store); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	j := open(t, cfg)
	create(t, j, ask("one"))
	if got := stream(t, j, j.audit.stream).CachedInfo().Config.Metadata[metaStore]; got != store {
		t.Errorf("the rest belongs to store %q", got)
	}
}

// One stream was written to, and it is the one that is gone.
func TestP9TheOnlyStreamInUseIsMissed(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	r := create(t, j, ask("one"))
	name := j.asks[j.layout.shard(r.Shard)].stream
	path := j.engine.path(name)
	crash(t, j)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	wantCorrupt(t, cfg, name)
}

func TestAStreamThatIsNotOursIsRefused(t *testing.T) {
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"not ours":         func(c *jetstream.StreamConfig) { c.Metadata = nil },
		"format":           func(c *jetstream.StreamConfig) { c.Metadata[metaFormat] = "99" },
		"belongs to store": func(c *jetstream.StreamConfig) { c.Metadata[metaStore] = "another" },
		"no republish":     func(c *jetstream.StreamConfig) { c.RePublish = nil },
		"many versions":    func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 },
		"drops the oldest": func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			j := open(t, cfg)
			js, err := jetstream.New(j.link.conn)
			if err != nil {
				t.Fatal(err)
			}
			c := stream(t, j, "answerback-ask-2").CachedInfo().Config
			change(&c)
			if _, err := js.UpdateStream(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			shut(t, j)
			wantCorrupt(t, cfg, "answerback-ask-2")
		})
	}
}

func TestAFullStoreRefusesNewRecordsAndRecovers(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.MaxStore, cfg.AuditBytes = 8<<20, 1<<20
	j := open(t, cfg)
	var kept []journal.Record
	var err error
	for i := 0; err == nil && i < 100; i++ {
		r := ask(fmt.Sprint("ask-", i))
		r.Body = make([]byte, 256<<10)
		if r.Rev, err = j.Create(t.Context(), r); err == nil {
			kept = append(kept, r)
		}
	}
	if !errors.Is(err, journal.Full) {
		t.Fatalf("after %d asks: %v", len(kept), err)
	}
	if _, err := j.Get(t.Context(), ask(fmt.Sprint("ask-", len(kept))).Key); !errors.Is(err, journal.NotFound) {
		t.Errorf("what was refused is there: %v", err)
	}
	for _, r := range kept {
		if got, err := j.Get(t.Context(), r.Key); err != nil || got.Rev != r.Rev {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
	// What is open can still be settled, and makes room.
	for _, r := range kept {
		r.Body = []byte("answered")
		settle(t, j, r, time.Hour)
	}
	create(t, j, ask("one"))
}

// Some errors of the disk make the engine give up its storage. It is started
// again, with everything that was acknowledged.
func TestTheEngineIsMendedWithoutARestart(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Timeout = time.Second
	j := open(t, cfg)
	first := create(t, j, ask("first"))
	missed := make(chan journal.Wake, 100)
	stop, err := j.Watch(t.Context(), home, func(w journal.Wake) { missed <- w })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := j.engine.server.DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = j.Create(t.Context(), ask("refused"))
	if err != nil && !errors.Is(err, journal.Unavailable) {
		t.Errorf("a failed store says %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("refusing took %v", took)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); ; {
		r := ask("second")
		if _, err = j.Create(t.Context(), r); err == nil || errors.Is(err, journal.Exists) {
			break
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not mended: %v", err)
		}
	}
	if got, err := j.Get(t.Context(), first.Key); err != nil || got.Rev != first.Rev {
		t.Errorf("the first ask: %v", err)
	}
	for w := range missed {
		if w.Missed {
			break
		}
	}
	crash(t, j)
	open(t, cfg)
}

// A store that turns out to be damaged when it is started again is not used
// any more, and not even mended.
func TestADamagedEngineIsNotMended(t *testing.T) {
	cfg := config(t)
	cfg.Timeout = time.Second
	j := open(t, cfg)
	first := create(t, j, ask("first"))
	path := j.engine.path(j.asks[j.layout.shard(first.Shard)].stream)
	if err := j.engine.server.DisableJetStream(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); ; {
		_, err := j.Create(t.Context(), ask("second"))
		if errors.Is(err, journal.Corrupt) {
			break
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not noticed: %v", err)
		}
	}
	if _, err := j.Get(t.Context(), first.Key); !errors.Is(err, journal.Corrupt) {
		t.Errorf("reading gives %v", err)
	}
}

func TestADirectoryThatCannotBeUsed(t *testing.T) {
	cfg := config(t)
	cfg.Dir += "/file"
	if err := os.WriteFile(cfg.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg); !errors.Is(err, journal.Unavailable) || !strings.Contains(err.Error(), cfg.Dir) {
		t.Errorf("got error %v", err)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no directory and no URL":  func(c *Config) { c.Dir = "" },
		"a directory and a URL":    func(c *Config) { c.URL = "nats://127.0.0.1" },
		"replicas without a URL":   func(c *Config) { c.Replicas = 3 },
		"two replicas":             func(c *Config) { c.Dir, c.URL, c.Replicas = "", "nats://127.0.0.1", 2 },
		"no log":                   func(c *Config) { c.Log = nil },
		"a wildcard prefix":        func(c *Config) { c.Prefix = "*" },
		"no shards":                func(c *Config) { c.Shards = 0 },
		"too many shards":          func(c *Config) { c.Shards = 65 },
		"no time":                  func(c *Config) { c.Timeout = 0 },
		"no audit":                 func(c *Config) { c.AuditAge = 0 },
		"no room for the audit":    func(c *Config) { c.AuditBytes = 0 },
		"no memory":                func(c *Config) { c.MaxMemory = 0 },
		"an audit as the store":    func(c *Config) { c.MaxStore = c.AuditBytes },
		"credentials for nobody":   func(c *Config) { c.NKeyFile = "seed" },
		"a certificate, no key":    func(c *Config) { c.Dir, c.URL, c.CertFile = "", "nats://127.0.0.1", "cert" },
		"two ways to be somebody":  func(c *Config) { c.Dir, c.URL, c.NKeyFile, c.CredentialsFile = "", "nats://127.0.0.1", "a", "b" },
		"a seed that is not there": func(c *Config) { c.Dir, c.URL, c.NKeyFile = "", "nats://127.0.0.1", "nowhere" },
	} {
		cfg := config(t)
		change(&cfg)
		if j, err := Open(t.Context(), cfg); err == nil {
			shut(t, j)
			t.Errorf("%s: taken", name)
		}
	}
}
