package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/bridge"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/observe"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/relay"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/surface/events"
	surface "github.com/answerback/answerback/internal/surface/mcp"
	"github.com/answerback/answerback/internal/upload"
	"github.com/answerback/answerback/internal/wire"
)

// maxForms is how many forms are kept ready.
const maxForms = 1024

// gateway is the whole program behind its doors, built from one
// configuration.
type gateway struct {
	log     *slog.Logger
	ring    *seal.Ring
	home    seal.Home
	store   journal.Journal
	epoch   uint64         // counts the lives of this home
	aside   *aside.List    // what this start or an earlier one could not take up
	desk    *desk.Desk     // nil when questions are switched off
	office  *office.Office // nil with the desk
	ledger  *observe.Ledger
	metrics *observe.Metrics
	auditor *observe.Auditor
	health  *observe.Health
	catalog *catalog.Cache
	relay   *relay.Relay
	surface *surface.Surface
	// requests and responses bound the memory of what clients and backends
	// send.
	requests, responses *budget.Budget
	files               *upload.Store  // nil when there are no pages, or no questions
	given               config.Files   // its limits, which a reload does not change
	tidier              *upload.Tidier // of files; nil with them
	teller              teller
	events              *events.Surface
	agent               *agent // nil where A2A is not spoken
	// accounts are what people have connected; nil without doors.
	accounts *accounts

	mu       sync.Mutex // orders reloads and closing
	cfg      *config.Config
	backends map[string]backend
	retired  sync.WaitGroup // backends that a reload took out and that drain
	brood    brood
	closing  chan struct{}
}

// newGateway builds a gateway over a store, which it closes with itself. It
// starts no listener. Without doors there are no pages, and nobody comes but
// over the standard streams.
func newGateway(ctx context.Context, cfg *config.Config, d *doors, store journal.Journal, log *slog.Logger) (*gateway, error) {
	ring, err := seal.Open(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	home, err := seal.OpenHome(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	g := &gateway{log: log, ledger: observe.NewLedger(), ring: ring, home: home, store: store, cfg: cfg, closing: make(chan struct{}), backends: make(map[string]backend)}
	if err := g.observe(cfg); err != nil {
		return nil, err
	}
	if err := g.begin(ctx); err != nil {
		return nil, err
	}
	g.budget(cfg)
	if d != nil {
		if g.accounts, err = openAccounts(ctx, cfg, d.public, g.store, ring, g.auditAccount, log); err != nil {
			return nil, err
		}
	}
	if cfg.Asks.Enabled {
		if err := g.ask(cfg, d); err != nil {
			return nil, err
		}
	}
	forms := form.NewCache(&form.Compiler{MaxLength: cfg.Asks.MaxFieldLength}, maxForms)
	if g.desk != nil {
		if g.office, err = office.New(g.desk, forms, lookup); err != nil {
			return nil, err
		}
	}
	g.catalog, err = catalog.NewCache(catalog.Config{Max: 10_000, Bytes: 256 << 20, Age: 30 * time.Second, Timeout: 30 * time.Second, Now: time.Now})
	if err != nil {
		return nil, err
	}
	entries, err := g.entries(cfg)
	if err != nil {
		return nil, err
	}
	var pages relay.Pages
	authenticate := func(*http.Request) (contract.Caller, error) { return contract.Caller{}, errNotLocal }
	if d != nil {
		pages, authenticate = d, d.authenticate
	}
	g.relay, err = relay.New(relay.Config{
		Results: results{g.store.Shelf("results"), ring, aside.Response, g.aside}, Home: home.String(), Clients: clientsOf(cfg),
		Observe: counting{g.metrics},
		Pages:   pages, Entries: entries, Names: namesOf(cfg), Desk: g.desk, Forms: forms, Office: g.office, SecretsToClients: cfg.Asks.SecretsToClients, Ring: ring, Catalog: g.catalog, Log: log,
		Cross: func(x contract.Crossing) (contract.Line, error) {
			return bridge.Open(bridge.Config{Crossing: x, Log: log, Scan: wire.Limits{Bytes: int(cfg.Limits.MessageBytes)}})
		},
		Info: fmt.Appendf(nil, `{"name":"answerback","version":%q}`, version),
		Limits: relay.Limits{
			CallTimeout: cfg.Limits.CallTimeout, CallCap: cfg.Limits.CallCap,
			CallsPerSession: cfg.Limits.CallsPerSession, StateAge: cfg.Limits.CallCap,
			Away: cfg.Limits.Away, Round: cfg.Limits.Round, Parked: cfg.Asks.MaxOpenPerPrincipal,
			Scan: wire.Limits{Bytes: int(cfg.Limits.MessageBytes)}, Conversation: cfg.Events.Conversation,
		},
	})
	if err != nil {
		return nil, err
	}
	g.surface, err = surface.New(surface.Config{
		Gateway:      surface.Through(g.relay),
		Authenticate: authenticate,
		Local:        contract.Caller{Principal: identity.Local},
		Ring:         ring, Home: home, Epoch: g.epoch, Log: log,
		Budget:                  g.requests,
		Replays:                 budget.New(budget.Config{Name: "replays", Total: int64(cfg.Limits.BodiesTotal), Each: int64(cfg.Limits.BodiesPerPrincipal), Log: log}),
		MaxBody:                 int(cfg.Limits.BodyBytes),
		MaxSessions:             cfg.Limits.Sessions,
		MaxSessionsPerPrincipal: cfg.Limits.SessionsPerPrincipal,
		MaxCalls:                cfg.Limits.CallsPerSession,
		SessionIdle:             cfg.Limits.SessionIdle,
		Kept:                    g.keeps,
	})
	if err != nil {
		return nil, err
	}
	g.metrics.SessionsFrom(g.surface.Sessions)
	var attempts events.Attempts
	if g.desk != nil {
		attempts = g.desk
	}
	g.events, err = events.New(events.Config{
		Attempts: attempts,
		Gateway:  events.Through(g.relay), Authenticate: authenticate,
		Ring: ring, Home: home, Log: log,
		Budget:               g.requests,
		MaxBody:              int(cfg.Limits.BodyBytes),
		MaxCalls:             cfg.Limits.Sessions,
		MaxCallsPerPrincipal: cfg.Limits.SessionsPerPrincipal,
		Linger:               cfg.Events.Linger, Keep: cfg.Events.Keep, Cap: cfg.Limits.CallCap,
		Shelf: shelved{results{g.store.Shelf("events"), ring, aside.Response, g.aside}},
	})
	if err == nil && cfg.A2A.Enabled && d != nil {
		g.agent, err = newAgent(cfg, d, g)
	}
	return g, err
}

// ask sets up what questions need: the desk, a place for files, and somebody
// who tells of what waits.
func (g *gateway) ask(cfg *config.Config, d *doors) (err error) {
	if g.teller, err = newTeller(cfg, d, g.metrics, g.log); err != nil {
		return err
	}
	g.given = cfg.Asks.Files
	if d != nil {
		if g.files, err = newFiles(cfg, d.public, g.store, g.ring, g.home, g.log); err != nil {
			return err
		}
		g.tidier = g.files.Tidy()
	}
	g.desk, err = newDesk(cfg, g.store, g.ring, g.home, g.aside, func(r desk.Record) {
		g.auditor.Record(r)
		g.teller.record(r)
		if g.tidier != nil && leavesFiles(r) {
			g.tidier.Over(r.Ask)
		}
	}, g.log)
	return err
}

// observe sets up what is told of the gateway: figures, the audit, and health.
func (g *gateway) observe(cfg *config.Config) (err error) {
	info, _ := debug.ReadBuildInfo()
	g.metrics, err = observe.NewMetrics(observe.MetricsConfig{Version: versionOf(info), Commit: commitOf(info), Now: time.Now, Log: g.log})
	if err != nil {
		return err
	}
	g.metrics.Backends(cfg.Enabled())
	g.store = g.metrics.Timed(g.store)
	g.auditor, err = observe.NewAuditor(observe.AuditConfig{Journal: g.store, Ledger: g.ledger, Metrics: g.metrics, Log: g.log, MaxPending: 16384})
	if err != nil {
		return err
	}
	g.health, err = observe.NewHealth(observe.HealthConfig{Probe: observe.Reaches(g.store), Log: g.log})
	return err
}

// clientsOf gives the rules for clients that can be told by their names alone.
func clientsOf(cfg *config.Config) relay.Clients {
	var rules relay.Clients
	for _, c := range cfg.Clients {
		rules = append(rules, relay.ClientRule{Name: c.Name, Version: c.Version, Hold: c.Hold, Timer: c.Timer, Doubt: c.InstantDecline})
	}
	return rules
}

func newDesk(cfg *config.Config, store journal.Asks, ring *seal.Ring, home seal.Home, set *aside.List, audit func(desk.Record), log *slog.Logger) (*desk.Desk, error) {
	return desk.New(desk.Config{
		Now: time.Now,
		Log: log,
		Mint: func(a ask.Addressee) string {
			return ring.Mint(seal.Ask, home, shardOf(a))
		},
		Shard: shardOf,
		Key: func(id string) (journal.Key, error) {
			at, err := ring.Verify(seal.Ask, id)
			return journal.Key{Shard: at.Shard, Home: at.Home.String(), ID: id}, err
		},
		Journal: store,
		Seal:    func(id string, plain []byte) []byte { return ring.SealBytes(seal.Secret, []byte(id), plain) },
		Unseal: func(id string, sealed []byte) ([]byte, error) {
			return ring.UnsealBytes(seal.Secret, []byte(id), sealed)
		},
		Keep:  cfg.Journal.Keep,
		Aside: set,
		Timeout: func(k ask.Kind) time.Duration {
			switch k {
			case ask.Sampling:
				return cfg.Asks.SamplingTimeout
			case ask.Connect:
				return cfg.Asks.ConnectTimeout
			}
			return cfg.Asks.Timeout
		},
		MaxTimeout: cfg.Limits.CallCap,
		Terms: ask.Terms{
			Warn: cfg.Asks.WarnBefore, Extension: cfg.Asks.Extension, Extensions: cfg.Asks.MaxExtensions, Attempts: cfg.Asks.Attempts,
		},
		MaxOpen: cfg.Asks.MaxOpen, MaxOpenPerSession: cfg.Asks.MaxOpenPerSession, MaxOpenPerPrincipal: cfg.Asks.MaxOpenPerPrincipal,
		RatePerMinute: cfg.Asks.RatePerMinute, Burst: cfg.Asks.Burst,
		Digest: func(answer []byte) []byte { return ring.Digest(seal.Audit, answer) },
		Audit:  audit,
	})
}

// shardOf spreads asks over the store by whom they are for.
func shardOf(a ask.Addressee) uint16 {
	return seal.Shard(a.Principal.Issuer, a.Principal.Subject, a.Group)
}

// What the words of the configuration mean.
var (
	schemas = map[string]relay.Schemas{"reject": relay.RejectSchemas, "warn": relay.WarnOfSchemas, "pass": relay.PassSchemas}
	secrets = map[string]relay.Secrets{"page": relay.SecretsToPage, "refuse": relay.RefuseSecrets}
)

func namesOf(cfg *config.Config) relay.Names {
	switch cfg.Names {
	case "prefix":
		return relay.Prefixed
	case "plain":
		return relay.Plain
	}
	return relay.Auto
}

// entries builds the backends that cfg names and that do not run yet, and
// gives all of them to the relay in the order of their names.
func (g *gateway) entries(cfg *config.Config) ([]relay.Entry, error) {
	var entries []relay.Entry
	for _, name := range cfg.Enabled() {
		c := cfg.Backends[name]
		b, ok := g.backends[name]
		if !ok {
			var err error
			if b, err = newBackend(name, c, cfg, g.credentials(name, c), g.responses, g.ring, g.epoch, g.log); err != nil {
				return nil, fmt.Errorf("backend %s: %w", name, err)
			}
			g.backends[name] = b
			g.brood.add(b)
		}
		filter, err := catalog.NewFilter(c.Tools.Allow, c.Tools.Deny)
		if err != nil {
			return nil, fmt.Errorf("backends.%s.tools: %w", name, err)
		}
		e := relay.Entry{
			Backend: b, Filter: filter, Timeout: c.CallTimeout, Away: c.Away, AnsweredBy: c.AnsweredBy, Tasks: c.TaskWhenAsked,
			Schemas: schemas[c.FormSchema], Secrets: secrets[c.Secrets],
		}
		if e.Doorstep, err = g.doorstep(name, c); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// reload changes the backends to those of cfg: the new ones are built first,
// then swapped in, and those that went drain. On an error nothing changes.
func (g *gateway) reload(cfg *config.Config) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	diff := config.Diff(g.cfg, cfg)
	kept := g.backends
	next := maps.Clone(kept)
	for _, name := range slices.Concat(diff.Removed, diff.Changed) {
		if !cfg.Backends[name].SameServer(g.cfg.Backends[name]) {
			delete(next, name)
		}
	}
	g.backends = next
	entries, err := g.entries(cfg)
	if err == nil {
		err = g.accounts.reload(cfg)
	}
	if err != nil {
		for name, b := range next {
			if kept[name] != b {
				b.Close(context.Background())
				g.brood.remove(b)
			}
		}
		g.backends = kept
		return err
	}
	g.metrics.Backends(cfg.Enabled())
	g.relay.Swap(entries)
	for name, b := range kept {
		if next[name] != b {
			g.retire(name, b)
		}
	}
	for _, key := range diff.Restart {
		g.log.Warn("a changed setting takes effect at the next start", "key", key)
	}
	g.cfg = cfg
	return nil
}

// retire closes a backend after its calls had time to end, or when the
// gateway ends before.
func (g *gateway) retire(name string, b backend) {
	drain := g.cfg.Limits.Drain
	g.log.Info("backend taken out", "backend", name, "drain", drain)
	g.retired.Go(func() {
		select {
		case <-time.After(drain):
		case <-g.closing:
		}
		b.Close(context.Background())
		g.brood.remove(b)
	})
}

// drain lets the calls of clients, of event streams and of agents' tasks end.
func (g *gateway) drain(ctx context.Context) error {
	err := g.surface.Drain(ctx)
	return errors.Join(err, g.events.Drain(ctx), g.agent.drain(ctx))
}

func (g *gateway) closeSurfaces(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { g.surface.Close(ctx) })
	wg.Go(func() { g.events.Close(ctx) })
	wg.Go(func() { g.agent.close(ctx) })
	wg.Wait()
}

// close ends everything, in the order in which questions flow.
func (g *gateway) close(ctx context.Context) {
	g.closeSurfaces(ctx)
	g.relay.Close()
	if g.desk != nil {
		g.desk.Close(ctx)
		g.teller.close()
	}
	if g.tidier != nil {
		g.tidier.Close()
	}
	if g.accounts != nil {
		g.accounts.close(ctx)
	}
	if err := g.auditor.Close(ctx); err != nil {
		g.log.Warn("the end of the audit is lost", "err", err)
	}
	g.health.Close()
	g.store.Close(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.closing)
	var wg sync.WaitGroup
	for _, b := range g.backends {
		wg.Go(func() { b.Close(ctx) })
	}
	wg.Wait()
	g.retired.Wait()
	g.catalog.Close()
}

// listen opens the listener, refusing to face a network without
// authentication.
func listen(cfg *config.Config, log *slog.Logger) (net.Listener, error) {
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("cannot listen on %s: something else does, perhaps another gateway; stop it, or choose another address with listen", cfg.Listen)
		}
		return nil, fmt.Errorf("cannot listen on %s: %w", cfg.Listen, err)
	}
	addr, ok := ln.Addr().(*net.TCPAddr)
	if ok && addr.IP.IsLoopback() {
		return ln, nil
	}
	if cfg.Identity.Authenticates() {
		return ln, nil
	}
	if !cfg.InsecureOpenToNetwork {
		ln.Close()
		return nil, errors.New("listen: " + cfg.Listen + " can be reached from the network, and nobody has to authenticate; listen on 127.0.0.1, say with identity who may call, or set insecure_open_to_network: true")
	}
	log.Warn("anybody who reaches this port can use every backend (insecure_open_to_network)", "listen", cfg.Listen)
	return ln, nil
}
