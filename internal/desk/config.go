package desk

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/journal"
)

// Config is what a Desk is made of. Every field but Aside is required. The
// functions are called from many goroutines, and never under a lock.
type Config struct {
	Now func() time.Time
	Log *slog.Logger

	// Mint makes the id of a new ask. No two are ever alike.
	Mint func(ask.Addressee) string
	// Shard is the part of the store of an addressee's asks. It is in their ids.
	Shard func(ask.Addressee) uint16
	// Key says under what an ask with this id is stored, or that Mint never
	// made it.
	Key func(id string) (journal.Key, error)
	// Timeout is how long an ask of this kind may stay open, unless it says so
	// itself: then it is bounded by MaxTimeout.
	Timeout    func(ask.Kind) time.Duration
	MaxTimeout time.Duration
	// Terms are those of asks that say nothing. Their Timeout does not count.
	Terms ask.Terms

	// Journal keeps the asks that somebody was promised will be kept.
	Journal journal.Asks
	// Seal and Unseal keep what is stored about an ask from whoever reads the
	// store. Both bind it to the ask's id.
	Seal   func(id string, plain []byte) []byte
	Unseal func(id string, sealed []byte) ([]byte, error)
	// Keep is how long an ask is remembered after it has ended.
	Keep time.Duration
	// Aside lists what Restore cannot take up; nil means that it is not listed.
	Aside *aside.List

	// How many asks may be open at once: in all, for one client session, and
	// for one addressee. Asks without a session count for their addressee.
	MaxOpen             int
	MaxOpenPerSession   int
	MaxOpenPerPrincipal int

	// How many asks one backend may put to one addressee: a minute in the
	// long run, and at once.
	RatePerMinute int
	Burst         int

	// Digest stands for the bytes of an answer in the audit: it must not be
	// possible to try out what they were.
	Digest func([]byte) []byte
	// Audit takes one record per transition of an ask. Records of one ask can
	// arrive out of order where its events were simultaneous; their times tell.
	Audit func(Record)
}

// maxBurst keeps the limiter's arithmetic far from overflow.
const maxBurst = 1 << 20

func (c *Config) check() error {
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Now", c.Now == nil},
		{"Log", c.Log == nil},
		{"Mint", c.Mint == nil},
		{"Shard", c.Shard == nil},
		{"Key", c.Key == nil},
		{"Timeout", c.Timeout == nil},
		{"Journal", c.Journal == nil},
		{"Seal", c.Seal == nil},
		{"Unseal", c.Unseal == nil},
		{"Digest", c.Digest == nil},
		{"Audit", c.Audit == nil},
	} {
		if f.missing {
			errs = append(errs, fmt.Errorf("desk: Config.%s is missing", f.name))
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Terms.Attempts", c.Terms.Attempts},
		{"MaxOpen", c.MaxOpen},
		{"MaxOpenPerSession", c.MaxOpenPerSession},
		{"MaxOpenPerPrincipal", c.MaxOpenPerPrincipal},
		{"RatePerMinute", c.RatePerMinute},
		{"Burst", c.Burst},
	} {
		if f.value < 1 {
			errs = append(errs, fmt.Errorf("desk: Config.%s is %d, it must be at least 1", f.name, f.value))
		}
	}
	if c.Burst > maxBurst {
		errs = append(errs, fmt.Errorf("desk: Config.Burst is %d, it must be at most %d", c.Burst, maxBurst))
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"MaxTimeout", c.MaxTimeout},
		{"Terms.Extension", c.Terms.Extension},
	} {
		if f.value <= 0 {
			errs = append(errs, fmt.Errorf("desk: Config.%s is %s, it must be longer than nothing", f.name, f.value))
		}
	}
	if c.Keep < journal.MinKeep {
		errs = append(errs, fmt.Errorf("desk: Config.Keep is %s, it must be at least %s", c.Keep, journal.MinKeep))
	}
	return errors.Join(errs...)
}
