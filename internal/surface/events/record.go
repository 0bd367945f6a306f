package events

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"iter"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// Shelf keeps what is known of calls across a restart, unreadable where it is
// kept. An id is words of letters, digits, '-' and '_', joined by dots. Errors
// are *ask.Error. Safe for concurrent use.
type Shelf interface {
	// Keep stores a value for a while, in place of what was there.
	Keep(ctx context.Context, id string, value []byte, ttl time.Duration) error
	// Kept gives a value, nil where there is none.
	Kept(ctx context.Context, id string) ([]byte, error)
	// Below gives the values whose ids begin with the words of prefix.
	Below(ctx context.Context, prefix string) iter.Seq2[[]byte, error]
}

// record is what is kept of a call: that it was started, by whom and with
// which key, and how it ended. A call with an Idempotency-Key has one before it
// starts, any other from its first question on. The request and the questions
// are not in it: they are kept with the questions.
type record struct {
	ID          string
	Owner       ask.Principal
	Access      string `json:",omitempty"`
	Key         string `json:",omitempty"`
	Digest      []byte
	At          string `json:",omitempty"`
	Tool        string
	Elicitation bool `json:",omitempty"`
	Sampling    bool `json:",omitempty"`

	Ended time.Time       `json:",omitzero"`
	Type  string          `json:",omitempty"` // of the last event
	Last  json.RawMessage `json:",omitempty"` // the last event, nil for one that is too large to be kept
}

const (
	// keepTime bounds how long a record may take to be written or read.
	keepTime = 5 * time.Second
	// maxLast bounds the last event of a record, in bytes.
	maxLast = 512 << 10
)

func (c *call) record() record {
	return record{
		ID: c.id, Owner: c.who.Principal, Access: c.access, Key: c.key, Digest: c.digest[:],
		At: c.start.at, Tool: c.start.tool, Elicitation: c.start.elicitation, Sampling: c.start.sampling,
	}
}

// shelfID is where a record is kept: under its key, or else under its call.
func (s *Surface) shelfID(owner ask.Principal, key, id string) string {
	sum := sha256.Sum256(wire.AppendString(wire.AppendString(nil, owner.Issuer), owner.Subject))
	name := "c-" + id
	if key != "" {
		hashed := sha256.Sum256([]byte(key))
		name = "k-" + base64.RawURLEncoding.EncodeToString(hashed[:])
	}
	return s.home + "." + base64.RawURLEncoding.EncodeToString(sum[:]) + "." + name
}

func (s *Surface) write(r record, ttl time.Duration) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return ask.Wrap(ask.Internal, "The call cannot be written down.", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	return s.cfg.Shelf.Keep(ctx, s.shelfID(r.Owner, r.Key, r.ID), raw, ttl)
}

// recall reads the record of an earlier call with this key, nil where there is
// none.
func (s *Surface) recall(owner ask.Principal, key string) (*record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	raw, err := s.cfg.Shelf.Kept(ctx, s.shelfID(owner, key, ""))
	if err != nil || raw == nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, ask.Wrap(ask.StoreCorrupt, "What is kept under this Idempotency-Key cannot be read.", err)
	}
	return r, nil
}

// keep writes down that the call was started, once.
func (c *call) keep() error {
	c.recording.Lock()
	defer c.recording.Unlock()
	if c.recorded.Load() || c.surface.cfg.Shelf == nil {
		return nil
	}
	if err := c.surface.write(c.record(), c.surface.cfg.Cap+c.surface.cfg.Keep); err != nil {
		return err
	}
	c.recorded.Store(true)
	return nil
}

// keepEnd writes down how the call ended, where it is written down that it
// started. That comes before its client is told.
func (c *call) keepEnd(kind string, event any) {
	if !c.recorded.Load() {
		return
	}
	r := c.record()
	r.Ended, r.Type = c.surface.cfg.Now().UTC(), kind
	raw, err := json.Marshal(event)
	if err == nil && len(raw) <= maxLast {
		r.Last = raw
	}
	if err := c.surface.write(r, c.surface.cfg.Keep); err != nil {
		c.surface.cfg.Log.Warn("end of a call not stored", "surface", surfaceName, "principal", c.who.String(), "code", ask.CodeOf(err), "err", err)
	}
}
