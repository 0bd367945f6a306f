package desk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// codec writes values to the end of its bytes, or takes them off their front
// where it is reading. One list of fields serves both ways, so that they
// cannot differ. What is read and makes no sense makes it bad, and everything
// from then on zero.
type codec struct {
	buf     []byte
	reading bool
	bad     bool
	known   *words
}

var errBody = errors.New("it is cut off, or was not written by Answerback")

func (c *codec) fail() {
	c.bad, c.buf = true, nil
}

// number is a whole number of either sign.
func number[T ~int | ~int32 | ~int64](c *codec, v *T) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, int64(*v))
		return
	}
	n, size := binary.Varint(c.buf)
	if size <= 0 || int64(T(n)) != n {
		c.fail()
		return
	}
	*v, c.buf = T(n), c.buf[size:]
}

// enum is one of a few values.
func enum[T ~uint8](c *codec, v *T) {
	if !c.reading {
		c.buf = append(c.buf, byte(*v))
		return
	}
	if len(c.buf) == 0 {
		c.fail()
		return
	}
	*v, c.buf = T(c.buf[0]), c.buf[1:]
}

// flag is yes or no.
func flag(c *codec, v *bool) {
	var b uint8
	if *v {
		b = 1
	}
	enum(c, &b)
	if b > 1 {
		c.fail()
	}
	*v = b == 1
}

// optional is a value that may be missing.
func optional[T any](c *codec, v **T, code func(*codec, *T)) {
	there := *v != nil
	flag(c, &there)
	if !there {
		return
	}
	if c.reading {
		*v = new(T)
	}
	code(c, *v)
}

// noTime stands for the zero time, which has no nanoseconds.
const noTime = math.MinInt64

func (c *codec) time(v *time.Time) {
	at := int64(noTime)
	if !v.IsZero() {
		at = v.UnixNano()
	}
	number(c, &at)
	if c.reading && at != noTime && !c.bad {
		*v = time.Unix(0, at).UTC()
	}
}

// take takes bytes off the front, after their length.
func (c *codec) take() []byte {
	n, size := binary.Uvarint(c.buf)
	if size <= 0 || n > uint64(len(c.buf)-size) {
		c.fail()
		return nil
	}
	b := c.buf[size:]
	c.buf = b[n:]
	return b[:n]
}

func put[T []byte | string](c *codec, v T) {
	c.buf = append(binary.AppendUvarint(c.buf, uint64(len(v))), v...)
}

// data is bytes. None are nil.
func (c *codec) data(v *[]byte) {
	if !c.reading {
		put(c, *v)
	} else if b := c.take(); len(b) > 0 {
		*v = bytes.Clone(b) // and not the whole body, for as long as the ask is open
	}
}

// text is a string that hardly any two asks have in common.
func (c *codec) text(v *string) {
	if !c.reading {
		put(c, *v)
	} else {
		*v = string(c.take())
	}
}

// word is a string that many asks have in common.
func (c *codec) word(v *string) {
	if !c.reading {
		put(c, *v)
	} else {
		*v = c.known.get(c.take())
	}
}

// words are strings that are kept once for all who use them. The zero words
// are none, and nil keeps nothing.
type words struct{ all map[string]string }

// maxWords bounds how many are kept: those of a hostile store are no words.
const maxWords = 4096

func (w *words) get(b []byte) string {
	if w == nil || len(b) == 0 {
		return string(b)
	}
	if s, ok := w.all[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(w.all) < maxWords {
		if w.all == nil {
			w.all = map[string]string{}
		}
		w.all[s] = s
	}
	return s
}
