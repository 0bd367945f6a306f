package upload

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// Path is where links lead, below the public address of the gateway.
const Path = "/files/"

const (
	// partSize is how much of a file is in memory and in one record. Sealed,
	// it stays below what a journal takes.
	partSize = 512 << 10
	// maxFiles is how many drafts one question can have.
	maxFiles = 100
	// maxBusy is how many files are taken at once.
	maxBusy = 64
	// tidyTime bounds the removal of what is of no use any more. What it does
	// not get to goes when its time is over.
	tidyTime = 10 * time.Second

	recordFormat = 1
)

// Shelf is where everything is kept. A journal.Shelf is one.
type Shelf interface {
	Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error)
	Get(ctx context.Context, key string) (journal.Item, error)
	Delete(ctx context.Context, key string, rev journal.Rev) error
	Scan(ctx context.Context, prefix string) iter.Seq2[journal.Item, error]
}

// Limits bounds what is kept. All of them are required.
type Limits struct {
	PerAsk int64         // bytes of all files of one question together
	Total  int64         // bytes of all files together
	Draft  time.Duration // how long a file waits for its answer to be sent
	Keep   time.Duration // how long its server can fetch it after that
	Uses   int           // how often
}

// Config is what a Store is made of. Every field is required.
type Config struct {
	Shelf     Shelf
	Ring      *seal.Ring
	Home      seal.Home
	Now       func() time.Time
	Log       *slog.Logger
	PublicURL string // what links begin with, without a path
	Limits    Limits
}

func (c *Config) check() error {
	l := &c.Limits
	switch {
	case c.Shelf == nil || c.Ring == nil || c.Now == nil || c.Log == nil || c.PublicURL == "":
		return errors.New("upload: Config needs Shelf, Ring, Now, Log and PublicURL")
	case l.PerAsk < 1 || l.Total < 1 || l.Uses < 1:
		return errors.New("upload: Limits needs PerAsk, Total and Uses of at least 1")
	case l.Draft < journal.MinKeep || l.Keep < journal.MinKeep:
		return errors.New("upload: Limits needs Draft and Keep of at least a second")
	}
	return nil
}

// Store keeps files. Safe for concurrent use; it runs nothing of its own. Its
// errors are *ask.Error.
type Store struct {
	cfg  Config
	room *room
	busy *busy
}

// New makes a Store.
func New(cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, busy: newBusy(maxBusy)}
	s.room = &room{max: cfg.Limits.Total, now: cfg.Now, count: s.stored}
	return s, nil
}

// Place is what a file is given for.
type Place struct {
	Ask   string // the id of the question
	Field string // the id of the field
	By    ask.Principal
}

// File is a draft: a file that was given and is not yet part of an answer.
type File struct {
	ID    string
	Field string
	Name  string
	Type  string // by its content
	Size  int64
}

// Upload is the file as a form judges it.
func (f *File) Upload() form.Upload { return form.Upload{Name: f.Name, Type: f.Type, Size: f.Size} }

// draft is a File in the store.
type draft struct {
	Format int
	File
	Ask   string
	By    ask.Principal
	Sum   []byte
	Until time.Time // until then it can be sent
	Gone  time.Time // then its parts are gone
	Parts []journal.Rev
}

// link is what stands behind the address of a file.
type link struct {
	Format int
	draft
	Backend string
	Until   time.Time
	Left    int // how often it can still be used
}

// Keys of the shelf. A question's drafts stand together.
func draftKey(ask, id string) string { return "ask." + ask + "." + id }

// read opens a record. One that is damaged, or not ours, is none.
func (s *Store) read(item *journal.Item, to any) error {
	raw, err := s.cfg.Ring.UnsealBytes(seal.File, []byte(item.Key), item.Value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

func (s *Store) write(ctx context.Context, key string, rev journal.Rev, record any, ttl time.Duration) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	_, err = s.cfg.Shelf.Put(ctx, key, rev, s.cfg.Ring.SealBytes(seal.File, []byte(key), raw), ttl)
	return refusal(err)
}

// drafts gives the drafts of a question that can still be sent, by key.
func (s *Store) drafts(ctx context.Context, askID string) ([]draft, error) {
	var all []draft
	for item, err := range s.cfg.Shelf.Scan(ctx, "ask."+askID) {
		if err != nil {
			return nil, refusal(err)
		}
		var d draft
		if err := s.read(&item, &d); err != nil {
			return nil, ask.Wrap(ask.StoreCorrupt, "What is kept of a file is damaged.", err)
		}
		if s.cfg.Now().Before(d.Until) {
			all = append(all, d)
		}
	}
	return all, nil
}

// stored says how much there is, and until when.
func (s *Store) stored(ctx context.Context, add func(id string, o occupied)) error {
	for _, prefix := range []string{"ask", "link"} {
		for item, err := range s.cfg.Shelf.Scan(ctx, prefix) {
			if err != nil {
				return refusal(err)
			}
			var l link // a draft is one without a link's own members
			if s.read(&item, &l) == nil {
				add(l.ID, occupied{l.Ask, l.Size, l.Gone})
			}
		}
	}
	return nil
}

// refusal gives an error of the store in words about files.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	e := *journal.Refusal(err)
	if e.Code == ask.Unknown {
		e.Message = "There is no such file."
	}
	return &e
}

// safeName is what a sender called a file, without folders and without
// characters that hide or reorder what stands around them.
func safeName(name string) string {
	name = strings.ToValidUTF8(name, "\ufffd")
	if at := strings.LastIndexAny(name, `/\`); at >= 0 {
		name = name[at+1:]
	}
	name = strings.TrimSpace(strings.Map(visible, name))
	const most = 200
	if len(name) > most {
		// The end says what a file is for people and for allowedExtensions.
		head, tail := name[:most/2], name[len(name)-most/2:]
		name = strings.ToValidUTF8(head, "") + "…" + strings.ToValidUTF8(tail, "")
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}
