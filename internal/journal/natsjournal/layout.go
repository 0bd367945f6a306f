package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

// What each of our streams says about the store that it belongs to.
const (
	metaFormat = "answerback-format"
	metaStore  = "answerback-store"
	metaShards = "answerback-shards"
)

// layout names what is made in NATS.
type layout struct {
	prefix string
	shards int
}

func (l layout) askStream(shard int) string   { return fmt.Sprintf("%s-ask-%d", l.prefix, shard) }
func (l layout) askSubjects(shard int) string { return fmt.Sprintf("%s.ask.%d.", l.prefix, shard) }
func (l layout) shelfStream() string          { return l.prefix + "-shelf" }
func (l layout) shelfSubjects() string        { return l.prefix + ".shelf." }
func (l layout) auditStream() string          { return l.prefix + "-audit" }
func (l layout) auditSubject() string         { return l.prefix + ".audit" }

// shard gives the place of an addressee's hash.
func (l layout) shard(hash uint16) int { return int(hash) % l.shards }

func (l layout) ask(k journal.Key) string {
	return fmt.Sprintf("%s%04x.%s.%s", l.askSubjects(l.shard(k.Shard)), k.Shard, k.Home, k.ID)
}

// key reads the subject of an ask.
func (l layout) key(subject string) (journal.Key, error) {
	words := strings.Split(strings.TrimPrefix(subject, l.prefix+".ask."), ".")
	if len(words) != 4 {
		return journal.Key{}, errors.New("it is not the subject of an ask")
	}
	hash, err := strconv.ParseUint(words[1], 16, 16)
	return journal.Key{Shard: uint16(hash), Home: words[2], ID: words[3]}, err
}

// on gives the subject under which what was stored is republished.
func (l layout) on(subject string) string {
	return l.prefix + ".on" + strings.TrimPrefix(subject, l.prefix)
}

// streams gives the configuration of every stream, in the order in which they
// are made: the audit last.
func (l layout) streams(cfg *Config) []jetstream.StreamConfig {
	var all []jetstream.StreamConfig
	for i := range l.shards {
		all = append(all, l.tableStream(cfg, l.askStream(i), l.askSubjects(i)+">"))
	}
	all = append(all, l.tableStream(cfg, l.shelfStream(), l.shelfSubjects()+">"))
	return append(all, jetstream.StreamConfig{
		Name:       l.auditStream(),
		Subjects:   []string{l.auditSubject()},
		Storage:    jetstream.FileStorage,
		Discard:    jetstream.DiscardOld,
		MaxAge:     cfg.AuditAge,
		MaxBytes:   cfg.AuditBytes,
		Replicas:   cfg.Replicas,
		Duplicates: min(2*time.Minute, cfg.AuditAge),
	})
}

func (l layout) tableStream(cfg *Config, name, subjects string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              name,
		Subjects:          []string{subjects},
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardNew, // full means refused, never dropped
		MaxMsgsPerSubject: 1,
		Replicas:          cfg.Replicas,
		Duplicates:        time.Second, // not used: a repeated write loses to itself
		AllowMsgTTL:       true,
		RePublish:         &jetstream.RePublish{Source: subjects, Destination: l.on(subjects)},
	}
}

// prepare finds the streams of the store, or makes them where there is no
// store yet. It refuses a store that is not whole, not ours, or of another
// shape. It gives the last sequence
// of each by its name.
func (l layout) prepare(ctx context.Context, conn *nats.Conn, cfg *Config) (map[string]uint64, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, unavailable("talking to NATS", err)
	}
	want := l.streams(cfg)
	found := map[string]*jetstream.StreamInfo{}
	var store string
	used := false
	for _, s := range want {
		info, err := js.Stream(ctx, s.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, unavailable("looking for stream "+s.Name, err)
		}
		i := info.CachedInfo()
		if err := l.recognise(&s, &i.Config, &store); err != nil {
			return nil, corrupt("stream "+s.Name+" cannot be used", err)
		}
		used = used || i.State.LastSeq > 0
		found[s.Name] = i
	}
	if store == "" {
		store = strconv.FormatUint(nonce(), 36)
	}
	last := map[string]uint64{}
	for _, s := range want {
		i := found[s.Name]
		if i == nil {
			// Nothing is written before all streams are there, and then something
			// to each, so a store that was written to has lost this one.
			if used {
				return nil, corrupt("stream "+s.Name+" is missing or cannot be read: restore it from a backup", nil)
			}
			if i, err = l.create(ctx, js, s, &store); err != nil {
				return nil, err
			}
		}
		last[s.Name] = i.State.LastSeq
	}
	return last, nil
}

// create makes a stream, or takes one that another gateway made meanwhile.
func (l layout) create(ctx context.Context, js jetstream.JetStream, s jetstream.StreamConfig, store *string) (*jetstream.StreamInfo, error) {
	s.Metadata = map[string]string{
		metaFormat: strconv.Itoa(format),
		metaStore:  *store,
		metaShards: strconv.Itoa(l.shards),
	}
	made, err := js.CreateStream(ctx, s)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		if made, err = js.Stream(ctx, s.Name); err == nil {
			*store = made.CachedInfo().Config.Metadata[metaStore]
			err = l.recognise(&s, &made.CachedInfo().Config, store)
		}
	}
	if err != nil {
		return nil, unavailable("making stream "+s.Name, err)
	}
	return made.CachedInfo(), nil
}

// recognise checks that a stream is a part of this store, and that what our
// promises rest on is as we set it.
func (l layout) recognise(want, is *jetstream.StreamConfig, store *string) error {
	meta := is.Metadata
	if meta[metaStore] == "" {
		return errors.New("it was not made by Answerback: choose another prefix or account")
	}
	if *store == "" {
		*store = meta[metaStore]
	}
	written, err := strconv.Atoi(meta[metaFormat])
	if err == nil {
		err = readable(written)
	}
	switch {
	case err != nil:
		return err
	case meta[metaShards] != strconv.Itoa(l.shards):
		return fmt.Errorf("the store has %s shards and not %d: the number is fixed when a store is made", meta[metaShards], l.shards)
	case meta[metaStore] != *store:
		return fmt.Errorf("it belongs to store %s, and others here to store %s", meta[metaStore], *store)
	case is.Storage != want.Storage,
		is.Discard != want.Discard,
		is.MaxMsgsPerSubject != max(want.MaxMsgsPerSubject, 1)*sign(want.MaxMsgsPerSubject),
		is.AllowMsgTTL != want.AllowMsgTTL,
		is.Sealed, is.Mirror != nil, len(is.Sources) > 0,
		len(is.Subjects) != 1 || is.Subjects[0] != want.Subjects[0],
		(is.RePublish == nil) != (want.RePublish == nil),
		is.RePublish != nil && *is.RePublish != *want.RePublish:
		return errors.New("its configuration was changed: restore storage, discard, limits per subject, message TTL, subjects and republish")
	}
	return nil
}

// sign is what the engine makes of no limit: -1.
func sign(n int64) int64 {
	if n == 0 {
		return -1
	}
	return 1
}
