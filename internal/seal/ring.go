package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"sync"

	"github.com/answerback/answerback/ask"
)

// Purpose says what an id or a token is for. The set is closed: a ring has
// keys for these purposes, and panics when it is used for another.
type Purpose string

// The purposes of a gateway.
const (
	Ask     Purpose = "ask"           // the id of an ask
	Session Purpose = "session"       // the id of a client session
	Event   Purpose = "event"         // the id of a server-sent event
	State   Purpose = "request-state" // the requestState of a modern call
	Task    Purpose = "task"          // the id of a task
	Resume  Purpose = "resume"        // the handle from which a backend resumes a call
	Secret  Purpose = "secret"        // a stored credential or sensitive value
	Cursor  Purpose = "cursor"        // the cursor of a paged list
	Audit   Purpose = "audit"         // the digest of an answer in the audit
	File    Purpose = "file"          // a file that somebody gave, its id, and its link
	Call    Purpose = "call"          // the digest by which a repeated call is known
	Agent   Purpose = "agent-task"    // the id of a task of an A2A client
	Form    Purpose = "form"          // the token of a form on a page
	Signin  Purpose = "sign-in"       // the record of a sign-in at a browser
	Backup  Purpose = "backup"        // a backup of the store
)

var purposes = [...]Purpose{Ask, Session, Event, State, Task, Resume, Secret, Cursor, Audit, File, Call, Agent, Form, Signin, Backup}

// KeySize is the number of bytes of each key of a ring.
const KeySize = 32

const (
	format    = 1  // the first byte of every id and token
	keyIDSize = 4  // enough to tell a ring's keys apart; New refuses a collision
	maxKeys   = 16 // bounds what one unknown ring file can cost
)

const redacted = "seal.Ring(redacted)"

// Ring is a set of keys. It does not change once made, is safe for concurrent
// use, and never prints its keys. The zero Ring is not usable: see Open, New
// and Random.
type Ring struct {
	// The pointer keeps the keys out of sight where fmt prints a struct that
	// holds a Ring in an unexported field, for it calls no method there.
	*ring
}

type ring struct {
	keys []*key // the first one makes
}

// key is one key of the ring, and what is derived from it for each purpose.
type key struct {
	id      [keyIDSize]byte
	derived map[Purpose]*derived
}

// derived is what one key is for one purpose. HMAC states are pooled, for
// setting one up costs as much as using it.
type derived struct {
	id   sync.Pool // of hash.Hash, keyed for ids
	seal sync.Pool // of hash.Hash, keyed for the keys of sealed tokens
}

// New makes a ring of the given keys, KeySize bytes each: the first one
// makes, the others only check and open. The keys are copied.
func New(keys ...[]byte) (*Ring, error) {
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("a key ring has 1 to %d keys, not %d", maxKeys, len(keys))
	}
	r := &ring{}
	for i, raw := range keys {
		if len(raw) != KeySize {
			return nil, fmt.Errorf("key %d of the key ring has %d bytes, it must have %d", i+1, len(raw), KeySize)
		}
		k := newKey(raw)
		for j, other := range r.keys {
			if other.id == k.id {
				return nil, fmt.Errorf("keys %d and %d of the key ring are the same: remove one of them", j+1, i+1)
			}
		}
		r.keys = append(r.keys, k)
	}
	return &Ring{r}, nil
}

// Random makes a ring of one random key, for tests and for gateways that keep
// nothing.
func Random() *Ring {
	r, err := New(randomBytes(KeySize))
	if err != nil {
		panic(err) // one key of the right size is always a ring
	}
	return r
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the program instead
	return b
}

func newKey(secret []byte) *key {
	k := &key{
		id:      [keyIDSize]byte(derive(secret, "key id", keyIDSize)),
		derived: map[Purpose]*derived{},
	}
	for _, p := range purposes {
		d := &derived{}
		d.id.New = macs(derive(secret, "id/"+string(p), KeySize))
		d.seal.New = macs(derive(secret, "seal/"+string(p), KeySize))
		k.derived[p] = d
	}
	return k
}

// derive gives n bytes that only this secret gives for info.
func derive(secret []byte, info string, n int) []byte {
	out, err := hkdf.Key(sha256.New, secret, nil, "answerback/v1/"+info, n)
	if err != nil {
		panic(err) // only for n beyond 255 hashes
	}
	return out
}

func (k *key) purpose(p Purpose) *derived {
	d := k.derived[p]
	if d == nil {
		panic("seal: no such purpose: " + string(p))
	}
	return d
}

func macs(secret []byte) func() any {
	return func() any { return hmac.New(sha256.New, secret) }
}

// mac appends the MAC of msg, made with a state of the pool, to dst.
func mac(dst []byte, pool *sync.Pool, msg []byte) []byte {
	h := pool.Get().(hash.Hash)
	h.Reset()
	h.Write(msg)
	dst = h.Sum(dst)
	pool.Put(h)
	return dst
}

// Digest stands for data where data itself must not: the same data has the
// same digest, and without the ring nobody can try out what it might be.
func (r *Ring) Digest(p Purpose, data []byte) []byte {
	return mac(nil, &r.primary().purpose(p).id, data)
}

// Digested reports whether a digest is that of data, made with any key of the
// ring. It takes the same time for every digest that is not.
func (r *Ring) Digested(p Purpose, data, digest []byte) bool {
	found := 0
	for _, k := range r.keys {
		found |= subtle.ConstantTimeCompare(mac(nil, &k.purpose(p).id, data), digest)
	}
	return found == 1
}

func (r *ring) primary() *key { return r.keys[0] }

// find gives the key with this id, nil where the ring has none. Key ids are
// public, so the comparison need not take constant time.
func (r *ring) find(id []byte) *key {
	for _, k := range r.keys {
		if bytes.Equal(k.id[:], id) {
			return k
		}
	}
	return nil
}

// The causes of a refusal. They are for the log: whoever presents an id or a
// token is told the same thing for each of them.
var (
	errShape   = errors.New("seal: not in the form of an id or token")
	errFormat  = errors.New("seal: made in an unknown format")
	errKey     = errors.New("seal: made with a key that is not in this ring")
	errForged  = errors.New("seal: forged, changed, or made for another purpose")
	errContext = errors.New("seal: forged, changed, or made for another purpose or context")
)

func refuse(p Purpose, cause error) error {
	if p == Ask {
		return ask.Wrap(ask.Unknown, "There is no such question.", cause)
	}
	return ask.Wrap(ask.BadState, "The "+string(p)+" value was not made by this gateway, or was changed on its way.", cause)
}

// Format prints no key, whatever the verb.
func (Ring) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// LogValue logs no key.
func (Ring) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText gives no key to JSON, YAML and the like.
func (Ring) MarshalText() ([]byte, error) { return []byte(redacted), nil }
