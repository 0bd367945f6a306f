package signins

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// Config says where sign-ins are kept, and how many. All of it is required but
// the counts.
type Config struct {
	Shelf journal.Shelf
	Ring  *seal.Ring
	Idle  time.Duration // of signin.Config
	Now   func() time.Time
	Log   *slog.Logger

	Max       int // of everybody together, as far as this gateway knows them; 10,000
	PerPerson int // of one person; 16
}

// Store is a signin.Store on a shelf. Safe for concurrent use.
type Store struct {
	cfg   Config
	index *index
	away  atomic.Int64 // until when the shelf is not read for sign-ins that are known; Unix nanoseconds
}

const (
	// readTime is how long a read of a sign-in that is known here may take.
	readTime = time.Second
	// awayTime is for how long a shelf that did not answer is left alone: a page
	// reads its sign-in more than once, and must not wait each time.
	awayTime = 5 * time.Second
)

var _ signin.Store = (*Store)(nil)

// Open reads what is on the shelf.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Shelf == nil || cfg.Ring == nil || cfg.Idle <= 0 || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("signins: shelf, ring, idle time, clock and logger are required")
	}
	if cfg.Max <= 0 {
		cfg.Max = 10_000
	}
	if cfg.PerPerson <= 0 {
		cfg.PerPerson = 16
	}
	s := &Store{cfg: cfg, index: newIndex(cfg.Max, cfg.PerPerson, cfg.Idle)}
	unreadable := 0
	for item, err := range cfg.Shelf.Scan(ctx, "") {
		if err != nil {
			return nil, err
		}
		k, err := s.unseal(item)
		switch {
		case err != nil:
			unreadable++
		case !k.Ended:
			s.index.confirm(item.Key, k.Record, cfg.Now())
		}
	}
	if unreadable > 0 {
		cfg.Log.Warn("sign-ins that were sealed with keys which are gone are not used", "signins", unreadable)
	}
	return s, nil
}

// kept is a sign-in as it is stored.
type kept struct {
	Record signin.Record `json:"record"`
	Ended  bool          `json:"ended,omitempty"` // the rest is empty but for the end of its time
}

func (s *Store) unseal(item journal.Item) (kept, error) {
	var k kept
	plain, err := s.cfg.Ring.UnsealBytes(seal.Signin, []byte(item.Key), item.Value)
	if err == nil {
		err = json.Unmarshal(plain, &k)
	}
	return k, err
}

// endSlack is how much longer than a sign-in the record of its end stays.
const endSlack = time.Hour

func (s *Store) put(ctx context.Context, key string, rev journal.Rev, k kept) error {
	plain, err := json.Marshal(k)
	if err != nil {
		return err
	}
	ttl := k.Record.Expires.Sub(s.cfg.Now())
	if k.Ended {
		ttl += endSlack
	}
	_, err = s.cfg.Shelf.Put(ctx, key, rev, s.cfg.Ring.SealBytes(seal.Signin, []byte(key), plain), max(ttl, time.Second))
	return err
}

// get reads a sign-in that has not been ended.
func (s *Store) get(ctx context.Context, key string) (k kept, rev journal.Rev, ok bool, err error) {
	item, err := s.cfg.Shelf.Get(ctx, key)
	if errors.Is(err, journal.NotFound) {
		return kept{}, journal.Rev{}, false, nil
	}
	if err != nil {
		return kept{}, journal.Rev{}, false, err
	}
	if k, err = s.unseal(item); err != nil {
		return kept{}, item.Rev, false, nil // as good as none: its key is gone
	}
	return k, item.Rev, !k.Ended, nil
}

// Put adds a sign-in. Where a person has too many, their longest unused one
// ends first.
func (s *Store) Put(ctx context.Context, key string, r signin.Record) error {
	out, err := s.index.reserve(key, r, s.cfg.Now())
	if err != nil {
		return err
	}
	for _, old := range out {
		if err := s.Delete(ctx, old); err != nil {
			s.index.remove(key)
			return err
		}
	}
	if err := s.put(ctx, key, journal.Rev{}, kept{Record: r}); err != nil {
		s.index.remove(key)
		return err
	}
	s.index.confirm(key, r, s.cfg.Now())
	return nil
}

// Get gives a sign-in. When it was last used is known better here than on the
// shelf. While the shelf cannot be read, one that was there within the last 15
// minutes is taken as it was.
func (s *Store) Get(ctx context.Context, key string) (signin.Record, bool, error) {
	now := s.cfg.Now()
	before, known := s.index.stale(key, now)
	if known {
		if now.UnixNano() < s.away.Load() {
			return before, true, nil
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readTime)
		defer cancel()
	}
	k, _, ok, err := s.get(ctx, key)
	switch {
	case errors.Is(err, journal.Unavailable):
		s.away.Store(s.cfg.Now().Add(awayTime).UnixNano())
		// It may have been ended meanwhile.
		if r, known := s.index.stale(key, s.cfg.Now()); known {
			return r, true, nil
		}
		return signin.Record{}, false, err
	case err != nil:
		return signin.Record{}, false, err
	case !ok:
		s.index.remove(key)
		return signin.Record{}, false, nil
	}
	if seen := s.index.confirm(key, k.Record, s.cfg.Now()); seen.After(k.Record.Seen) {
		k.Record.Seen = seen
	}
	return k.Record, true, nil
}

// Touch notes a use: here at once, and on the shelf once in a quarter of the
// idle time, so that a request costs no write. After a restart a sign-in may
// thus end that much earlier.
func (s *Store) Touch(ctx context.Context, key string, seen time.Time) error {
	if !s.index.touch(key, seen, s.cfg.Idle/4) {
		return nil
	}
	k, rev, ok, err := s.get(ctx, key)
	if err != nil || !ok {
		return err
	}
	if seen.Sub(k.Record.Seen) < s.cfg.Idle/4 {
		return nil // another gateway has noted it
	}
	k.Record.Seen = seen
	err = s.put(ctx, key, rev, k)
	if errors.Is(err, journal.Conflict) || errors.Is(err, journal.NotFound) {
		return nil // it was used or ended elsewhere meanwhile, and that stands
	}
	return err
}

// maxRounds bounds how often an end is tried against uses at the same time.
const maxRounds = 16

// Delete ends a sign-in for good. It has ended once this returns without an
// error, and comes back in no case.
func (s *Store) Delete(ctx context.Context, key string) error {
	var err error
	for range maxRounds {
		var k kept
		var rev journal.Rev
		var ok bool
		if k, rev, ok, err = s.get(ctx, key); err != nil {
			return err
		}
		if !ok {
			s.index.end(key, s.cfg.Now())
			return nil
		}
		end := kept{Record: signin.Record{Expires: k.Record.Expires}, Ended: true}
		if err = s.put(ctx, key, rev, end); err == nil {
			s.index.end(key, s.cfg.Now())
			return nil
		}
		if !errors.Is(err, journal.Conflict) && !errors.Is(err, journal.NotFound) {
			return err
		}
	}
	return err
}

// End ends the sign-ins of one person for good, or of everybody where who is
// zero, and gives how many. With an error some may have ended.
func (s *Store) End(ctx context.Context, who ask.Principal) (int, error) {
	var keys []string
	for item, err := range s.cfg.Shelf.Scan(ctx, "") {
		if err != nil {
			return 0, err
		}
		k, err := s.unseal(item)
		if err == nil && !k.Ended && (who.IsZero() || k.Record.Principal == who) {
			keys = append(keys, item.Key)
		}
	}
	for n, key := range keys {
		if err := s.Delete(ctx, key); err != nil {
			return n, err
		}
	}
	return len(keys), nil
}
