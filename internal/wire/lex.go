package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// marks says what a string token contains besides plain ASCII.
type marks uint8

const (
	escaped  marks = 1 << iota // a backslash
	nonASCII                   // bytes of 0x80 and above, valid UTF-8
	broken                     // not a string token
)

// Eight copies of a byte, for looking at eight bytes at once.
const (
	ones   = 0x0101010101010101
	highs  = 0x80 * ones
	spaces = ' ' * ones
	quotes = '"' * ones
	slants = '\\' * ones
)

// text gives the end of the string token whose opening quote is at b[i]. Where
// the marks say that it is broken, the end is the place of the fault.
func text(b []byte, i int) (int, marks) {
	var m marks
	i++
	for {
		if i+8 <= len(b) {
			// Of the bytes with their high bit set in stop, the lowest is one that
			// ends the plain run; those above it may be carried over from it.
			x := binary.LittleEndian.Uint64(b[i:])
			stop := (x | (x - spaces) | ((x ^ quotes) - ones) | ((x ^ slants) - ones)) & highs
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) >> 3
		} else if i >= len(b) {
			return i, m | broken
		} else if plain(b[i]) {
			i++
			continue
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, m
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return i, m | broken
			}
			i += n
			m |= escaped
		case c >= utf8.RuneSelf:
			for i < len(b) && b[i] >= utf8.RuneSelf {
				_, n := utf8.DecodeRune(b[i:])
				if n == 1 {
					return i, m | broken
				}
				i += n
			}
			m |= nonASCII
		default:
			return i, m | broken
		}
	}
}

// plain reports whether c stands for itself in a string and is ASCII.
func plain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf }

// escape gives the length of the escape that b starts with, 0 for a bad one.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hex4(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// hex4 gives the value of four hexadecimal digits, negative when they are not.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// number gives the end of the number that starts at b[i], or i for none.
func number(b []byte, i int) int {
	// Most numbers are small and whole.
	if n := digits(b, i); n > i && (b[i] != '0' || n == i+1) {
		if c := peek(b, n); c != '.' && c|0x20 != 'e' {
			return n
		}
	}
	start := i
	if peek(b, i) == '-' {
		i++
	}
	if peek(b, i) == '0' {
		i++
	} else if n := digits(b, i); n > i {
		i = n
	} else {
		return start
	}
	if peek(b, i) == '.' {
		n := digits(b, i+1)
		if n == i+1 {
			return start
		}
		i = n
	}
	if c := peek(b, i); c == 'e' || c == 'E' {
		i++
		if c := peek(b, i); c == '+' || c == '-' {
			i++
		}
		n := digits(b, i)
		if n == i {
			return start
		}
		i = n
	}
	return i
}

// digits gives the end of the run of digits at b[i].
func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// space gives the end of the white space at b[i].
func space(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') }

// peek gives b[i], or 0, which is no JSON, beyond its end.
func peek(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}
