package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

// site is a store whose engine can be killed.
type site interface {
	config() *Config
	open(t *testing.T) *Journal
	// kill ends the engine as kill -9 does and starts it again without its
	// index. The journal that was open is closed.
	kill(t *testing.T, j *Journal)
}

// still is a configuration with short times and no writes by itself, so that
// a copy of its directory is what kill -9 would leave there.
func still(cfg Config) Config {
	cfg = brief(cfg)
	cfg.beat = time.Hour
	return cfg
}

// copied gives a copy of the directory of a running engine, without indexes.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	forgetIndex(t, to)
	return to
}

type embeddedSite struct{ cfg Config }

func (s *embeddedSite) config() *Config { return &s.cfg }

func (s *embeddedSite) open(t *testing.T) *Journal { return open(t, s.cfg) }

func (s *embeddedSite) kill(t *testing.T, j *Journal) {
	s.cfg.Dir = copied(t, s.cfg.Dir)
	crash(t, j)
}

// serverSite is one external server, or a cluster of three.
type serverSite struct {
	cfg     Config
	options []*server.Options
	servers []*server.Server
}

func newServerSite(t *testing.T, n int) *serverSite {
	s := &serverSite{cfg: still(config(t))}
	s.cfg.Dir, s.cfg.Replicas, s.cfg.Shards = "", n, 1
	var routes []*url.URL
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
		}
		if n > 1 {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}
			routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
			l.Close()
		}
		s.options = append(s.options, o)
	}
	for _, o := range s.options {
		o.Routes = routes
	}
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

func (s *serverSite) start(t *testing.T) {
	t.Helper()
	s.servers, s.cfg.URL = nil, ""
	for _, o := range s.options {
		options := *o // the server writes to what it is given
		n, err := server.NewServer(&options)
		if err != nil {
			t.Fatal(err)
		}
		n.Start()
		s.servers = append(s.servers, n)
	}
	for i, n := range s.servers {
		if !n.ReadyForConnections(30 * time.Second) {
			t.Fatal("a server does not start")
		}
		if i > 0 {
			s.cfg.URL += ","
		}
		s.cfg.URL += n.ClientURL()
	}
	until(t, "the servers have leaders", func() bool {
		ready, led := true, len(s.servers) == 1
		for _, n := range s.servers {
			ready = ready && n.JetStreamEnabled() && n.Healthz(nil).StatusCode == 200
			led = led || n.JetStreamIsLeader() && len(n.JetStreamClusterPeers()) == len(s.servers)
		}
		return ready && led
	})
}

// led waits until each stream has a leader.
func (s *serverSite) led(t *testing.T) {
	t.Helper()
	conn, err := nats.Connect(s.cfg.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range (layout{prefix: s.cfg.Prefix, shards: s.cfg.Shards}).streams(&s.cfg) {
		until(t, c.Name+" has a leader", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := js.Stream(ctx, c.Name)
			return err == nil
		})
	}
}

func (s *serverSite) stop() {
	for _, n := range s.servers {
		stop(n)
	}
}

func (s *serverSite) config() *Config { return &s.cfg }

func (s *serverSite) open(t *testing.T) *Journal { return open(t, s.cfg) }

func (s *serverSite) kill(t *testing.T, j *Journal) {
	var dirs []string
	for _, o := range s.options {
		dirs = append(dirs, copied(t, o.StoreDir))
	}
	crash(t, j)
	s.stop()
	for i, o := range s.options {
		o.StoreDir = dirs[i]
	}
	s.start(t)
	s.led(t)
}

// until waits for something that must happen.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(60 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// messages gives how many messages a stream holds.
func messages(t *testing.T, j *Journal, name string) uint64 {
	t.Helper()
	info, err := stream(t, j, name).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

// What was ended is not there after a crash, although the engine finds older
// versions in its files: grants that were revoked, results that were taken,
// questions that were settled. What counts is there.
func TestWhatIsOverStaysOverAfterACrash(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]func(*testing.T) site{
		"embedded": func(t *testing.T) site { return &embeddedSite{still(config(t))} },
		"external": func(t *testing.T) site { return newServerSite(t, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overAfterACrash(t, s(t), true)
		})
	}
}

// overAfterACrash plays the three situations. Where the engine is alone, what
// it has removed comes back for sure.
func overAfterACrash(t *testing.T, s site, alone bool) {
	const n = 20
	kills := 1
	if alone {
		kills = 2
	}
	// While the records are written the time of the store stands still, however
	// slow the machine is. The engine removes them by its own clock.
	wall := newTurned()
	s.config().Now = wall.now
	ctx, j := t.Context(), s.open(t)
	grants, results := j.Shelf("grants"), j.Shelf("results")
	must := func(rev journal.Rev, err error) journal.Rev {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rev
	}
	r := ask("alive")
	r.Deadline = wall.now().Add(24 * time.Hour)
	alive := create(t, j, r)
	granted := must(grants.Put(ctx, "alive", journal.Rev{}, []byte("token"), 0))
	var settled []journal.Record
	for i := range n {
		key := fmt.Sprint("k", i)
		rev := must(grants.Put(ctx, key, journal.Rev{}, []byte("token"), 0))
		rev = must(grants.Put(ctx, key, rev, []byte("refreshed"), 0))
		if err := grants.Delete(ctx, key, rev); err != nil {
			t.Fatal(err)
		}
		rev = must(results.Put(ctx, key, journal.Rev{}, []byte("result"), time.Second))
		rev = must(results.Put(ctx, key, rev, []byte("newer"), 2*time.Second))
		if err := results.Delete(ctx, key, rev); err != nil {
			t.Fatal(err)
		}
		a := create(t, j, ask(key))
		a.Rev = must(j.Update(ctx, a))
		a = settle(t, j, a, time.Second)
		settled = append(settled, settle(t, j, a, time.Second))
	}
	asks := j.asks[j.layout.shard(alive.Shard)].stream
	until(t, "the engine has removed what is over", func() bool {
		return messages(t, j, asks) == 2 && messages(t, j, j.shelf.stream) <= n+3 // ends of grants, mark, time, one alive
	})
	wall.turn(time.Minute)

	// That the engine brings back what it removed is shown by
	// TestTheEngineBringsBackWhatItRemoved. Here what came back is swept away
	// beside the reads, so it is not counted.
	for range kills {
		s.kill(t, j)
		j = s.open(t)
		grants, results = j.Shelf("grants"), j.Shelf("results")
		for k, a := range settled {
			if _, err := j.Get(ctx, a.Key); !errors.Is(err, journal.NotFound) {
				t.Errorf("a question that was settled is read: %v", err)
			}
			if _, err := j.Update(ctx, a); !errors.Is(err, journal.NotFound) {
				t.Errorf("a question that was settled is updated: %v", err)
			}
			key := fmt.Sprint("k", k)
			if _, err := grants.Get(ctx, key); !errors.Is(err, journal.NotFound) {
				t.Errorf("a grant that was revoked is read: %v", err)
			}
			if _, err := results.Get(ctx, key); !errors.Is(err, journal.NotFound) {
				t.Errorf("a result that was taken is read: %v", err)
			}
		}
		for seen, err := range j.Open(ctx, home) {
			if err != nil || seen.ID != alive.ID || seen.Rev != alive.Rev {
				t.Errorf("the home has %s at %+v: %v", seen.ID, seen.Rev, err)
			}
		}
		if list, err := j.List(ctx, alive.Shard, alive.Addressee, 10); err != nil || len(list) != 1 {
			t.Errorf("the list has %d records: %v", len(list), err)
		}
		for seen, err := range j.Settled(ctx, alive.Shard, alive.Addressee) {
			t.Errorf("the history has %s: %v", seen.ID, err)
		}
		for seen, err := range grants.Scan(ctx, "") {
			if err != nil || seen.Key != "alive" || seen.Rev != granted {
				t.Errorf("the shelf has %s: %v", seen.Key, err)
			}
		}
	}
	// What is over makes place for what is new.
	for _, shelf := range []journal.Shelf{grants, results} {
		must(shelf.Put(ctx, "k0", journal.Rev{}, []byte("new"), time.Hour))
	}
	s.kill(t, j)
	j = s.open(t)
	for _, shelf := range []string{"grants", "results"} {
		if item, err := j.Shelf(shelf).Get(ctx, "k0"); err != nil || string(item.Value) != "new" {
			t.Errorf("what was put again on shelf %s is %q: %v", shelf, item.Value, err)
		}
	}
}

// The engine's own ways to remove a message, each undone by a crash. Were this
// to fail, the engine could be relied on more than it is.
func TestTheEngineBringsBackWhatItRemoved(t *testing.T) {
	t.Parallel()
	type shape struct {
		rollup bool
		ttl    string
		end    func(t *testing.T, s jetstream.Stream, subject string, seq uint64)
	}
	purge := func(t *testing.T, s jetstream.Stream, subject string, _ uint64) {
		if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(subject)); err != nil {
			t.Error(err)
		}
	}
	remove := func(t *testing.T, s jetstream.Stream, _ string, seq uint64) {
		if err := s.DeleteMsg(t.Context(), seq); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]shape{
		"a time to live":              {ttl: "1s"},
		"a purge of the subject":      {end: purge},
		"a deletion":                  {end: remove},
		"a rollup, a time to live":    {rollup: true, ttl: "1s"},
		"a rollup, a deleted message": {rollup: true, end: remove},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 50
			cfg := config(t)
			e, js := bareEngine(t, &cfg)
			s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
				Name: "bare", Subjects: []string{"bare.>"}, MaxMsgsPerSubject: 1,
				AllowMsgTTL: true, AllowRollup: c.rollup,
			})
			if err != nil {
				t.Fatal(err)
			}
			put := func(subject string, last uint64, ttl string) uint64 {
				m := nats.NewMsg(subject)
				m.Header.Set(headerExpected, strconv.FormatUint(last, 10))
				if ttl != "" {
					m.Header.Set(headerTTL, ttl)
				}
				if c.rollup {
					m.Header.Set("Nats-Rollup", "sub")
				}
				ack, err := js.PublishMsg(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				return ack.Sequence
			}
			put("bare.alive", 0, "")
			for i := range n {
				subject := fmt.Sprint("bare.k", i)
				seq := put(subject, put(subject, put(subject, 0, ""), ""), c.ttl)
				if c.end != nil {
					c.end(t, s, subject, seq)
				}
			}
			left := func(s jetstream.Stream) uint64 {
				info, err := s.Info(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return info.State.Msgs
			}
			until(t, "the engine has removed all but one", func() bool { return left(s) == 1 })
			cfg.Dir = copied(t, cfg.Dir)
			e.stop()
			_, js = bareEngine(t, &cfg)
			if s, err = js.Stream(t.Context(), "bare"); err != nil {
				t.Fatal(err)
			}
			if back := left(s); back != n+1 {
				t.Errorf("%d messages are there, and it was %d before", back, n+1)
			}
		})
	}
}

// bareEngine starts an engine without a journal.
func bareEngine(t *testing.T, cfg *Config) (*engine, jetstream.JetStream) {
	t.Helper()
	e, err := startEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect("", nats.InProcessServer(e))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closed := conn.StatusChanged(nats.CLOSED)
		conn.Close()
		<-closed
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return e, js
}
