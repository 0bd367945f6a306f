package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
)

// openStore opens the durable record: in the data directory, or at a cluster.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (journal.Journal, error) {
	if cfg.Journal.InMemory {
		log.Warn("nothing is kept across a restart (journal.in_memory)")
		return forgetful()
	}
	store, err := natsjournal.Open(ctx, storeConfig(cfg, log))
	if err != nil {
		return nil, storeProblem(cfg, err)
	}
	return store, nil
}

// storeDir is where an embedded store is.
func storeDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "journal") }

// storeConfig says which store the configuration means, where it is not one in
// memory.
func storeConfig(cfg *config.Config, log *slog.Logger) natsjournal.Config {
	c := natsjournal.Defaults()
	c.Log = log
	c.AuditAge, c.AuditBytes = cfg.Audit.Keep, int64(cfg.Audit.MaxBytes)
	j := cfg.Journal
	if j.URL == "" {
		c.Dir, c.MaxStore = storeDir(cfg), int64(j.MaxBytes)
	} else {
		c.URL, c.Replicas = j.URL, j.Replicas
		c.CAFile, c.CertFile, c.KeyFile = j.CAFile, j.CertFile, j.KeyFile
		c.NKeyFile, c.CredentialsFile = j.NKeyFile, j.CredentialsFile
	}
	return c
}

// forgetful is the record of a gateway that ends with its one client, or is
// told to keep nothing (journal.in_memory).
func forgetful() (journal.Journal, error) {
	return memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 256 << 20, MaxAudit: 10_000})
}

// results keeps, sealed, the responses of calls whose clients are away.
type results struct {
	shelf journal.Shelf
	ring  *seal.Ring
	kind  aside.Kind
	aside *aside.List
}

// Keep stores a response for a while, in place of what was there. One gateway
// at a time writes under an id.
func (r results) Keep(ctx context.Context, id string, value []byte, ttl time.Duration) error {
	sealed := []byte(r.ring.Seal(seal.Secret, []byte(id), value))
	_, err := r.shelf.Put(ctx, id, journal.Rev{}, sealed, ttl)
	if fault, ok := errors.AsType[*journal.Error](err); ok && fault.Item != nil {
		_, err = r.shelf.Put(ctx, id, fault.Item.Rev, sealed, ttl)
	}
	return err
}

// Drop forgets a response.
func (r results) Drop(ctx context.Context, id string) error {
	item, err := r.shelf.Get(ctx, id)
	if err == nil {
		err = r.shelf.Delete(ctx, id, item.Rev)
	}
	if errors.Is(err, journal.NotFound) {
		return nil
	}
	return err
}

// Below gives the responses whose ids begin with the words of prefix, without
// those that cannot be opened: they were set aside at the start.
func (r results) Below(ctx context.Context, prefix string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for item, err := range r.shelf.Scan(ctx, prefix) {
			if err != nil {
				yield(nil, err)
				return
			}
			value, err := r.ring.Unseal(seal.Secret, []byte(item.Key), string(item.Value))
			if err == nil && !yield(value, nil) {
				return
			}
		}
	}
}

// Restore gives take what is kept below prefix, after a restart. What take
// fails over is set aside.
func (r results) Restore(ctx context.Context, prefix string, take func(value []byte) error) error {
	for item, err := range r.shelf.Scan(ctx, prefix) {
		if err != nil {
			return err
		}
		// The list has why it was not taken up, and the rest goes on.
		_ = r.aside.TakeUp(aside.Thing{Kind: r.kind, Name: item.Key}, func() error {
			value, err := r.ring.Unseal(seal.Secret, []byte(item.Key), string(item.Value))
			if err != nil {
				return fmt.Errorf("it cannot be opened with the keys at hand: %w", err)
			}
			return take(value)
		})
	}
	return nil
}

// Kept gives a response, nil where there is none.
func (r results) Kept(ctx context.Context, id string) ([]byte, error) {
	item, err := r.shelf.Get(ctx, id)
	if errors.Is(err, journal.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.ring.Unseal(seal.Secret, []byte(id), string(item.Value))
}
