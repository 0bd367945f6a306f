//go:build crash

package crash

import (
	"crypto/sha256"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
)

var ada = ask.Principal{Issuer: "https://issuer.example", Subject: "ada"}

// newDesk makes a desk as the gateway does, with room for many asks.
func newDesk(t testing.TB, dir string, store journal.Asks, audit func(desk.Record)) (d *desk.Desk, home string) {
	t.Helper()
	ring, err := seal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	at, err := seal.OpenHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	shard := func(a ask.Addressee) uint16 { return seal.Shard(a.Principal.Issuer, a.Principal.Subject, a.Group) }
	d, err = desk.New(desk.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Mint:  func(a ask.Addressee) string { return ring.Mint(seal.Ask, at, shard(a)) },
		Shard: shard,
		Key: func(id string) (journal.Key, error) {
			of, err := ring.Verify(seal.Ask, id)
			return journal.Key{Shard: of.Shard, Home: of.Home.String(), ID: id}, err
		},
		Journal: store,
		Seal:    func(id string, plain []byte) []byte { return ring.SealBytes(seal.Secret, []byte(id), plain) },
		Unseal: func(id string, sealed []byte) ([]byte, error) {
			return ring.UnsealBytes(seal.Secret, []byte(id), sealed)
		},
		MaxTimeout: time.Hour, Terms: ask.Terms{Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		Keep: time.Hour, Timeout: func(ask.Kind) time.Duration { return time.Hour },
		MaxOpen: 2_000_000, MaxOpenPerSession: 2_000_000, MaxOpenPerPrincipal: 2_000_000, RatePerMinute: 1_000_000, Burst: 1 << 20,
		Digest: func(b []byte) []byte { sum := sha256.Sum256(b); return sum[:] },
		Audit:  audit,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, at.String()
}

// openStore opens the store of a directory.
func openStore(t testing.TB, dir string) *natsjournal.Journal {
	t.Helper()
	c := natsjournal.Defaults()
	c.Dir, c.Log = dir, slog.New(slog.DiscardHandler)
	j, err := natsjournal.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// inMemory is a directory that costs no time to sync, where there is one.
func inMemory(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "answerback-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// nobody is a client that is shown questions and does nothing.
type nobody struct{}

func (nobody) Show(*ask.Ask) error         { return nil }
func (nobody) Withdraw(string, *ask.Error) {}
