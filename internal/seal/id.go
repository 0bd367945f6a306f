package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
)

// An id is format, key id, home, shard, random part and MAC, in base64url.
const (
	homeSize   = 8
	randomSize = 16
	macSize    = 16

	homeAt   = 1 + keyIDSize
	shardAt  = homeAt + homeSize
	randomAt = shardAt + 2
	macAt    = randomAt + randomSize
	idSize   = macAt + macSize
)

// encoding is strict, so that no two strings stand for the same bytes.
var encoding = base64.RawURLEncoding.Strict()

// IDLen is the number of characters of every id.
var IDLen = encoding.EncodedLen(idSize)

// ID is what an id says about the thing it names.
type ID struct {
	Home  Home   // the gateway that it belongs to
	Shard uint16 // the part of the store that it is kept in
}

// Shard gives the shard of what is kept under these words, the same in every
// gateway. Each word counts for itself: ("ab", "c") is not ("a", "bc").
func Shard(words ...string) uint16 {
	h := sha256.New()
	var size [8]byte
	for _, w := range words {
		binary.BigEndian.PutUint64(size[:], uint64(len(w)))
		h.Write(size[:])
		io.WriteString(h, w)
	}
	return binary.BigEndian.Uint16(h.Sum(nil))
}

// Mint makes a new id. It has IDLen characters, all of them letters, digits,
// '-' and '_', and 128 random bits: it cannot be guessed, and cannot be forged
// without the ring.
func (r *Ring) Mint(p Purpose, h Home, shard uint16) string {
	k := r.primary()
	var b [macAt + 32]byte // room for the whole MAC before it is cut
	b[0] = format
	copy(b[1:], k.id[:])
	copy(b[homeAt:], h[:])
	binary.BigEndian.PutUint16(b[shardAt:], shard)
	rand.Read(b[randomAt:macAt])
	mac(b[:macAt], &k.purpose(p).id, b[:macAt])
	return encoding.EncodeToString(b[:idSize])
}

// Verify checks that id was made for this purpose by a ring that shares a key
// with this one, and says what is in it. The error is an *ask.Error: Unknown
// for the id of an ask, BadState for every other purpose.
func (r *Ring) Verify(p Purpose, id string) (ID, error) {
	if len(id) != IDLen {
		return ID{}, refuse(p, errShape)
	}
	var b [idSize]byte
	var text [(idSize*8 + 5) / 6]byte
	copy(text[:], id)
	// A line break in id is skipped by the decoder, and leaves n too small.
	if n, err := encoding.Decode(b[:], text[:]); err != nil || n != idSize {
		return ID{}, refuse(p, errShape)
	}
	if b[0] != format {
		return ID{}, refuse(p, errFormat)
	}
	k := r.find(b[1:homeAt])
	if k == nil {
		return ID{}, refuse(p, errKey)
	}
	var want [32]byte
	mac(want[:0], &k.purpose(p).id, b[:macAt])
	if !hmac.Equal(want[:macSize], b[macAt:]) {
		return ID{}, refuse(p, errForged)
	}
	return ID{
		Home:  Home(b[homeAt:shardAt]),
		Shard: binary.BigEndian.Uint16(b[shardAt:]),
	}, nil
}
