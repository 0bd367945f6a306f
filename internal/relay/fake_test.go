package relay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServer is a backend whose calls a test answers in Go. It stands for
// other people's servers; backend/mcp has the real ones.
type fakeServer struct {
	name string
	// serve answers one request with the raw response, whose id it must copy.
	serve  func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error)
	legacy bool   // it knows nothing of server/discover
	caps   string // what it says there that it can; "" for nothing
	// refuse makes Open fail.
	refuse error

	mu     sync.Mutex
	opened []contract.Hello
	closed int
}

func (f *fakeServer) Name() string { return f.name }

func (f *fakeServer) Open(_ context.Context, h contract.Hello) (contract.Line, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.opened = append(f.opened, h)
	return &fakeLine{server: f, done: make(chan struct{})}, nil
}

func (f *fakeServer) Discover(context.Context, ask.Principal) (wire.Message, error) {
	if f.legacy {
		return wire.Message{}, f.refuse
	}
	caps := cmp.Or(f.caps, "{}")
	return scan(`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":` + caps + `}}`), f.refuse
}

func (f *fakeServer) Stateless(context.Context, ask.Principal) (contract.Line, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	return &fakeLine{server: f}, nil
}

func (f *fakeServer) Resume(contract.Hello, contract.Sink, ...[]byte) (*contract.Resumed, error) {
	return nil, ask.Errorf(ask.BackendLost, "It cannot be taken up.")
}

type fakeLine struct {
	server *fakeServer
	done   chan struct{}
}

func (l *fakeLine) Welcome() wire.Message {
	return scan(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"f","version":"1"}}}`)
}

func (l *fakeLine) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	sent := scan(string(wire.Splice(nil, out.Msg.Raw, out.Edits...)))
	raw, err := l.server.serve(ctx, &sent, sink)
	if err != nil {
		return contract.Reply{}, err
	}
	return contract.Reply{Msg: scan(raw)}, nil
}

func (l *fakeLine) Notify(context.Context, []byte) error { return nil }
func (l *fakeLine) Listen()                              {}
func (l *fakeLine) Done() <-chan struct{}                { return l.done }

func (l *fakeLine) Close(context.Context) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.server.closed++
}

// fakePeer is a client that a test watches.
type fakePeer struct {
	shown     chan ask.Ask
	withdrawn chan string
	notified  chan string
}

func newPeer() *fakePeer {
	return &fakePeer{shown: make(chan ask.Ask, 16), withdrawn: make(chan string, 16), notified: make(chan string, 16)}
}

func (p *fakePeer) Show(a *ask.Ask) error            { p.shown <- *a; return nil }
func (p *fakePeer) Withdraw(id string, _ *ask.Error) { p.withdrawn <- id }
func (p *fakePeer) Notify(msg []byte)                { p.notified <- string(msg) }
func (p *fakePeer) Mark() []byte                     { return nil }

func scan(raw string) wire.Message {
	m, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		panic(err)
	}
	return m
}

func okTo(msg *wire.Message, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,"result":` + result + `}`
}

// person is a caller who may use everything.
func person(name string) contract.Caller {
	return contract.Caller{Principal: ask.Principal{Issuer: "test", Subject: name}}
}

var alice = person("alice")

// newRelay makes a relay with a real desk over the servers given.
func newRelay(t *testing.T, servers ...*fakeServer) *Relay {
	t.Helper()
	ring := seal.Random()
	home := seal.RandomHome()
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 20, MaxAudit: 10})
	if err != nil {
		t.Fatal(err)
	}
	d, err := desk.New(desk.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Mint:  func(ask.Addressee) string { return ring.Mint(seal.Ask, home, 0) },
		Shard: func(ask.Addressee) uint16 { return 0 },
		Key: func(id string) (journal.Key, error) {
			_, err := ring.Verify(seal.Ask, id)
			return journal.Key{Home: "home", ID: id}, err
		},
		Journal: store, Keep: time.Hour, Digest: func([]byte) []byte { return nil },
		Seal:       func(id string, plain []byte) []byte { return ring.SealBytes(seal.Secret, []byte(id), plain) },
		Unseal:     func(id string, b []byte) ([]byte, error) { return ring.UnsealBytes(seal.Secret, []byte(id), b) },
		MaxTimeout: time.Hour, Terms: ask.Terms{Warn: time.Minute, Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		Timeout: func(ask.Kind) time.Duration { return time.Hour },
		MaxOpen: 1000, MaxOpenPerSession: 100, MaxOpenPerPrincipal: 100, RatePerMinute: 1000, Burst: 1000,
		Audit: func(desk.Record) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(context.Background()) })
	cache, err := catalog.NewCache(catalog.Config{Max: 100, Bytes: 1 << 20, Age: time.Minute, Timeout: time.Minute, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	var entries []Entry
	for _, s := range servers {
		entries = append(entries, Entry{Backend: s})
	}
	forms := form.NewCache(nil, 10)
	o, err := office.New(d, forms, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{
		Entries: entries, Desk: d, Forms: forms, Office: o, Ring: ring, Catalog: cache, Log: slog.New(slog.DiscardHandler),
		Info: []byte(`{"name":"answerback","version":"test"}`),
		Limits: Limits{
			CallTimeout: time.Minute, CallCap: 24 * time.Hour, CallsPerSession: 4, StateAge: time.Hour,
			Away: 5 * time.Minute, Round: 50 * time.Second, Parked: 8,
		},
		Cross: func(contract.Crossing) (contract.Line, error) { return nil, errors.New("no bridge here") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// park gives a relay a new lot, for that many calls of each caller, over what
// was kept.
func park(t *testing.T, r *Relay, each int, kept parking.Results) {
	t.Helper()
	lot, err := parking.New(parking.Config{
		Desk: r.desk, Ring: r.ring, Results: kept, Home: "home", Log: r.log,
		Limits: parking.Limits{Total: r.limits.CallCap, Away: r.limits.Away, Round: r.limits.Round, Each: each},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.lot = lot
}

const helloAll = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`

func openSession(t *testing.T, r *Relay, peer contract.Peer) *Session {
	t.Helper()
	msg := scan(helloAll)
	s, resp := r.Initialize(context.Background(), "", "session-1", alice, &msg, peer)
	if s == nil {
		t.Fatalf("no session: %s", resp.Body)
	}
	t.Cleanup(func() { s.Close(context.Background(), ask.Errorf(ask.ClientGone, "The test is over.")) })
	return s
}

// question makes a question whose reply the test receives.
func newQuestion(method, params string) (*contract.Question, <-chan string, context.CancelCauseFunc) {
	replies := make(chan string, 1)
	gone, cancel := context.WithCancelCause(context.Background())
	return &contract.Question{
		Method: method, Params: []byte(params), Gone: gone,
		Reply: func(_ context.Context, result, errObj []byte) error {
			replies <- string(result) + string(errObj)
			cancel(nil)
			return nil
		},
	}, replies, cancel
}

const anyForm = `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`

func send(s *Session, peer contract.Peer, raw string) wire.Message {
	msg := scan(raw)
	resp := s.Call(context.Background(), &msg, peer)
	if resp.Body == nil {
		return wire.Message{}
	}
	return scan(string(resp.Body))
}
