package desk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ada = ask.Principal{Issuer: "https://issuer.example", Subject: "ada"}
	bob = ask.Principal{Issuer: "https://issuer.example", Subject: "bob"}

	accept  = ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":{"pin":"4711"}}`)}
	fromAda = From{Principal: ada, Session: "s1", Surface: "mcp"}
)

// kit is a desk with everything that it was told to do on record.
type kit struct {
	*Desk
	store   journal.Journal
	minted  atomic.Int64
	mu      sync.Mutex
	records []Record
	log     strings.Builder
}

func newKit(t testing.TB, change func(*Config)) *kit {
	t.Helper()
	k := &kit{}
	cfg := Config{
		Now:   time.Now,
		Log:   slog.New(slog.NewTextHandler(k, nil)),
		Mint:  func(a ask.Addressee) string { return fmt.Sprintf("ask-%d-%d", shardOf(a), k.minted.Add(1)) },
		Shard: shardOf,
		Key: func(id string) (journal.Key, error) {
			if !strings.HasPrefix(id, "ask-") {
				return journal.Key{}, errors.New("no id")
			}
			shard, _, _ := strings.Cut(strings.TrimPrefix(id, "ask-"), "-")
			n, _ := strconv.Atoi(shard)
			return journal.Key{Home: "home", Shard: uint16(n), ID: id}, nil
		},
		Journal: k.journal(t),
		Seal:    func(id string, plain []byte) []byte { return append([]byte("sealed for "+id+":"), plain...) },
		Unseal: func(id string, sealed []byte) ([]byte, error) {
			plain, ok := bytes.CutPrefix(sealed, []byte("sealed for "+id+":"))
			if !ok {
				return nil, errors.New("sealed for another ask")
			}
			return plain, nil
		},
		Keep:                time.Hour,
		Digest:              func(b []byte) []byte { sum := sha256.Sum256(b); return sum[:] },
		Timeout:             func(ask.Kind) time.Duration { return 5 * time.Minute },
		MaxTimeout:          time.Hour,
		Terms:               ask.Terms{Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		MaxOpen:             10_000,
		MaxOpenPerSession:   1000,
		MaxOpenPerPrincipal: 1000,
		RatePerMinute:       1000,
		Burst:               1000,
		Audit: func(r Record) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.records = append(k.records, r)
		},
	}
	if change != nil {
		change(&cfg)
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	k.Desk = d
	return k
}

// journal is where the kit's desk keeps what it promised.
func (k *kit) journal(t testing.TB) journal.Journal {
	if k.store == nil {
		store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 30, MaxAudit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		k.store = store
		t.Cleanup(func() {
			if err := k.store.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return k.store
}

// shardOf tells the addressees of these tests apart.
func shardOf(a ask.Addressee) uint16 {
	return uint16(len(a.Group)*100 + len(a.Principal.Issuer)*10 + int(a.Principal.String()[len(a.Principal.String())-1]))
}

func (k *kit) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Write(p)
}

func (k *kit) logged() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.String()
}

// transitions are the audited transitions of one ask, in order.
func (k *kit) transitions(id string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, r := range k.records {
		if r.Ask == id {
			all = append(all, r.Transition)
		}
	}
	return all
}

func (k *kit) record(t *testing.T, id, transition string) Record {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.records, func(r Record) bool { return r.Ask == id && r.Transition == transition })
	if i < 0 {
		t.Fatalf("no record %q of %s in %+v", transition, id, k.records)
	}
	return k.records[i]
}

// client is somebody to show questions to.
type client struct {
	fail   error
	onShow func(*ask.Ask)

	mu        sync.Mutex
	shown     []ask.Ask
	withdrawn map[string]*ask.Error
}

func (c *client) Show(a *ask.Ask) error {
	if c.onShow != nil {
		c.onShow(a)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.shown = append(c.shown, *a)
	return nil
}

func (c *client) Withdraw(id string, why *ask.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.withdrawn == nil {
		c.withdrawn = map[string]*ask.Error{}
	}
	c.withdrawn[id] = why
}

func (c *client) withdrawal(id string) ask.Code {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why := c.withdrawn[id]; why != nil {
		return why.Code
	}
	return ""
}

// result takes an outcome and fails where a second one comes.
type result struct {
	t     testing.TB
	count atomic.Int64
	got   chan ask.Outcome
	fail  error // what the asker says to its outcome
}

func newResult(t testing.TB) *result { return &result{t: t, got: make(chan ask.Outcome, 1)} }

func (r *result) asker() Asker { return Asker{Settled: r.settled} }

func (r *result) settled(out ask.Outcome) error {
	if r.count.Add(1) > 1 {
		r.t.Errorf("settled again: %+v", out)
		return nil
	}
	r.got <- out
	return r.fail
}

// now gives the outcome that must be there already.
func (r *result) now() ask.Outcome {
	r.t.Helper()
	select {
	case out := <-r.got:
		return out
	default:
		r.t.Fatal("not settled")
		return ask.Outcome{}
	}
}

func (r *result) none() {
	r.t.Helper()
	if r.count.Load() != 0 {
		r.t.Fatal("settled too early")
	}
}

// question is an ask for ada in session s1.
func question() ask.Ask {
	return ask.Ask{
		Kind:      ask.Form,
		Method:    "elicitation/create",
		Params:    []byte(`{"message":"Your secret PIN?"}`),
		Backend:   "bank",
		During:    "tools/call",
		Name:      "pay",
		Session:   "s1",
		Addressee: ask.Addressee{Principal: ada},
	}
}

func wantCode(t *testing.T, err error, code ask.Code) {
	t.Helper()
	if ask.CodeOf(err) != code {
		t.Errorf("error %v, want code %q", err, code)
	}
}
