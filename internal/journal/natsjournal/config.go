package natsjournal

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/plant"
)

// Config says which store to open. Exactly one of Dir and URL is set.
type Config struct {
	// Dir makes the store embedded, in this directory, which belongs to it
	// alone. It is made where it does not exist.
	Dir string
	// MaxStore and MaxMemory limit what an embedded store uses of disk and
	// memory, in bytes.
	MaxStore  int64
	MaxMemory int64

	// URL makes the store an external one: one or more nats:// or tls://
	// addresses joined by commas.
	URL string
	// Replicas is how many servers of an external store keep a copy: 1, 3 or
	// 5. It counts when the store is made.
	Replicas int
	// Files for the connection, each "" for none: the authorities that sign
	// the servers' certificates, our own certificate and its key, and either
	// an nkey seed or a credentials file.
	CAFile, CertFile, KeyFile string
	NKeyFile, CredentialsFile string

	// Prefix begins the name of everything that is made in NATS.
	Prefix string
	// Shards is how many streams asks are spread over, 1 to 64. It is fixed
	// when the store is made, and another number is refused after that.
	Shards int
	// AuditAge and AuditBytes are how much of the audit is kept.
	AuditAge   time.Duration
	AuditBytes int64
	// Timeout limits every operation, for the time that its context leaves.
	Timeout time.Duration
	// Recovery is for how long after its deadline an ask that is still open
	// counts. It limits how long a gateway may be off and still settle what
	// ended meanwhile. The store keeps every ask for that long, settled or not.
	Recovery time.Duration
	Now      func() time.Time
	Log      *slog.Logger

	// damage is the engine's.
	damage func(stream string, problem error)
	// slack is for how long the engine keeps a record after the moment from
	// which it counts no more: more than clocks of the store can differ.
	slack time.Duration
	// beat is how often the time is noted in the store, far below slack.
	beat time.Duration
	// grain is what the ends of open asks are rounded up to.
	grain time.Duration
}

// Defaults gives a configuration that lacks only Dir or URL, and Log. Every
// configuration begins with it.
func Defaults() Config {
	return Config{
		MaxStore:   16 << 30,
		MaxMemory:  64 << 20,
		Replicas:   1,
		Prefix:     "answerback",
		Shards:     4,
		AuditAge:   90 * 24 * time.Hour,
		AuditBytes: 1 << 30,
		Timeout:    5 * time.Second,
		Recovery:   journal.Recovery / plant.Scale,
		Now:        time.Now,
		slack:      max(10*time.Minute/plant.Scale, time.Second),
		beat:       max(time.Minute/plant.Scale, 100*time.Millisecond),
		grain:      time.Hour / plant.Scale,
	}
}

const maxShards = 64

var prefixes = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

func (c *Config) check() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("natsjournal: "+format, args...))
		}
	}
	bad((c.Dir == "") == (c.URL == ""), "a store has either a directory or a URL")
	bad(c.Log == nil, "Config.Log is missing")
	bad(!prefixes.MatchString(c.Prefix), "prefix %q has something else than a-z, 0-9 and '-'", c.Prefix)
	bad(c.Shards < 1 || c.Shards > maxShards, "%d shards are not between 1 and %d", c.Shards, maxShards)
	bad(c.Timeout < 100*time.Millisecond, "a timeout of %v is too short", c.Timeout)
	bad(c.Recovery < journal.MinKeep, "a recovery of %v is too short", c.Recovery)
	bad(c.Now == nil, "Config.Now is missing")
	bad(c.slack < time.Second || c.beat <= 0 || c.grain <= 0, "the configuration was not made from Defaults")
	bad(c.AuditAge < time.Minute, "an audit of %v is too short", c.AuditAge)
	bad(c.AuditBytes < 1<<20, "an audit of %d bytes is too small", c.AuditBytes)
	if c.Dir != "" {
		bad(c.Replicas > 1, "%d replicas need an external NATS: set its URL", c.Replicas)
		bad(c.MaxMemory < 1<<20, "%d bytes of memory are too few", c.MaxMemory)
		bad(c.MaxStore < 2*c.AuditBytes, "a store of %d bytes is less than twice its audit", c.MaxStore)
		bad(c.CAFile+c.CertFile+c.KeyFile+c.NKeyFile+c.CredentialsFile != "", "an embedded store takes no certificates and credentials")
	} else {
		bad(c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5, "%d replicas are not 1, 3 or 5", c.Replicas)
		bad((c.CertFile == "") != (c.KeyFile == ""), "a certificate and its key go together")
		bad(c.NKeyFile != "" && c.CredentialsFile != "", "either an nkey seed or a credentials file, not both")
	}
	return errors.Join(errs...)
}

// embedded reports whether the store is in this process, and so nobody else
// writes to it.
func (c *Config) embedded() bool { return c.Dir != "" }
