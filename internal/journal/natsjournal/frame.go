package natsjournal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	magic = 0xab
	// format is what this program writes. It reads the formats from
	// oldestFormat on, so that a store outlives an update, and several gateways
	// can be updated one after another.
	format       = 2
	oldestFormat = 2
)

// readable says why a store or a frame of another format cannot be read, and
// what to do.
func readable(is int) error {
	switch {
	case is < oldestFormat:
		return fmt.Errorf("it is of format %d, and this version of Answerback reads formats %d to %d: run the version that wrote it, or move the store away and begin with an empty one", is, oldestFormat, format)
	case is > format:
		return fmt.Errorf("it is of format %d, written by a newer version of Answerback, and this version reads formats %d to %d: run the newer version again; a store is not converted back", is, oldestFormat, format)
	}
	return nil
}

// kind says what a frame holds.
type kind byte

const (
	kindAsk     kind = 'a'
	kindItem    kind = 'i'
	kindDeleted kind = 'd' // the end of an item
	kindMark    kind = 'm' // nothing: a place in the stream
	kindClock   kind = 'c' // the time
	kindAudit   kind = 'e'
)

const (
	flagPinned    = 1 << iota // the engine keeps it until it is replaced
	flagOldPinned             // what it replaced was pinned, and is counted in the stamp
	flagStamped
	flagWriter // home and epoch follow
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
	expires   int64  // from when on readers find nothing; 0 for an end
	until     int64  // until when the engine must keep it
	writer    writer
	stamp     []ledger
	payload   []byte
}

// writer says which gateway wrote a frame, in which epoch of its home. It is
// for fencing a gateway that was replaced. It is empty where homes have one
// gateway each.
type writer struct {
	home  string
	epoch uint64
}

const maxHome = 128

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
	if f.writer != (writer{}) {
		flags |= flagWriter
	}
	b := make([]byte, 0, 64+len(f.writer.home)+len(f.stamp)*4*binary.MaxVarintLen64+len(f.payload))
	b = append(b, magic, format, byte(f.kind), flags)
	b = binary.BigEndian.AppendUint64(b, f.nonce)
	b = binary.AppendUvarint(b, f.oldSeq)
	b = binary.AppendUvarint(b, uint64(f.version))
	b = binary.BigEndian.AppendUint64(b, uint64(f.expires))
	b = binary.BigEndian.AppendUint64(b, uint64(f.until))
	if f.writer != (writer{}) {
		b = binary.AppendUvarint(b, uint64(len(f.writer.home)))
		b = append(b, f.writer.home...)
		b = binary.AppendUvarint(b, f.writer.epoch)
	}
	if f.stamp != nil {
		b = binary.AppendUvarint(b, uint64(len(f.stamp)))
		for _, l := range f.stamp {
			b = binary.AppendUvarint(b, l.last)
			b = binary.AppendUvarint(b, l.pins)
			b = binary.BigEndian.AppendUint64(b, l.sum)
			b = binary.BigEndian.AppendUint64(b, uint64(l.asof))
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
	if err := readable(int(b[1])); err != nil {
		return frame{}, err
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
	f.expires, f.until = int64(r.fixed()), int64(r.fixed())
	if flags&flagWriter != 0 {
		n := r.uvarint()
		if n > maxHome {
			return frame{}, errShort
		}
		f.writer = writer{home: string(r.bytes(n)), epoch: r.uvarint()}
	}
	if flags&flagStamped != 0 {
		n := r.uvarint()
		if n > maxShards+1 {
			return frame{}, errShort
		}
		f.stamp = make([]ledger, n)
		for i := range f.stamp {
			f.stamp[i] = ledger{last: r.uvarint(), tally: tally{pins: r.uvarint(), sum: r.fixed()}, asof: int64(r.fixed())}
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
