package natsjournal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	magic  = 0xab
	format = 1
)

// kind says what a frame holds.
type kind byte

const (
	kindAsk     kind = 'a'
	kindItem    kind = 'i'
	kindDeleted kind = 'd' // an item that was deleted
	kindMark    kind = 'm' // nothing: a place in the stream
	kindAudit   kind = 'e'
)

const (
	flagPinned    = 1 << iota // counted until it is replaced
	flagOldPinned             // what it replaced was pinned
	flagStamped
)

// frame is one message as we store it. The checksum at its end covers the
// subject too, so that it is of no use under another one.
type frame struct {
	kind      kind
	pinned    bool
	oldPinned bool
	oldSeq    uint64 // what it replaced; 0 for nothing
	version   uint32
	nonce     uint64 // of the attempt to write it: tells ours from another's
	stamp     []ledger
	payload   []byte
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errShort    = errors.New("it is cut off")
	errForeign  = errors.New("it was not written by Answerback")
	errChecksum = errors.New("its checksum is wrong")
)

// encode gives the frame's bytes for a subject.
func (f *frame) encode(subject string) []byte {
	var flags byte
	if f.pinned {
		flags |= flagPinned
	}
	if f.oldPinned {
		flags |= flagOldPinned
	}
	if f.stamp != nil {
		flags |= flagStamped
	}
	b := make([]byte, 0, 40+len(f.stamp)*3*binary.MaxVarintLen64+len(f.payload))
	b = append(b, magic, format, byte(f.kind), flags)
	b = binary.BigEndian.AppendUint64(b, f.nonce)
	b = binary.AppendUvarint(b, f.oldSeq)
	b = binary.AppendUvarint(b, uint64(f.version))
	if f.stamp != nil {
		b = binary.AppendUvarint(b, uint64(len(f.stamp)))
		for _, l := range f.stamp {
			b = binary.AppendUvarint(b, l.last)
			b = binary.AppendUvarint(b, l.pins)
			b = binary.BigEndian.AppendUint64(b, l.sum)
		}
	}
	b = append(b, f.payload...)
	return binary.BigEndian.AppendUint32(b, checksum(subject, b))
}

func checksum(subject string, b []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(subject), castagnoli), castagnoli, b)
}

// decode reads a frame that was stored under a subject. The payload is a part
// of b.
func decode(subject string, b []byte) (frame, error) {
	if len(b) < 2 || b[0] != magic {
		return frame{}, errForeign
	}
	if b[1] != format {
		return frame{}, fmt.Errorf("it is of format %d, and this program reads format %d", b[1], format)
	}
	if len(b) < 16 {
		return frame{}, errShort
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if checksum(subject, body) != sum {
		return frame{}, errChecksum
	}
	flags := body[3]
	f := frame{
		kind:      kind(body[2]),
		pinned:    flags&flagPinned != 0,
		oldPinned: flags&flagOldPinned != 0,
	}
	r := reader{b: body[4:]}
	f.nonce = r.fixed()
	f.oldSeq = r.uvarint()
	f.version = uint32(r.uvarint())
	if flags&flagStamped != 0 {
		n := r.uvarint()
		if n > maxShards+1 {
			return frame{}, errShort
		}
		f.stamp = make([]ledger, n)
		for i := range f.stamp {
			f.stamp[i] = ledger{last: r.uvarint(), pins: r.uvarint(), sum: r.fixed()}
		}
	}
	f.payload = r.b
	if r.bad {
		return frame{}, errShort
	}
	return f, nil
}

// reader takes numbers and strings off the front of its bytes. Where there
// are too few it is bad from then on, and gives zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fixed() uint64 {
	p := r.bytes(8)
	if r.bad {
		return 0
	}
	return binary.BigEndian.Uint64(p)
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}
