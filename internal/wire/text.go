package wire

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote gives the Go string of a JSON string token. It is not ok, and the
// string empty, when token is anything else. Half a surrogate pair becomes
// U+FFFD.
func Unquote(token []byte) (string, bool) {
	if peek(token, 0) != '"' {
		return "", false
	}
	end, m := text(token, 0)
	if m&broken != 0 || end != len(token) {
		return "", false
	}
	body := token[1 : end-1]
	if m&escaped == 0 {
		return string(body), true
	}
	out := make([]byte, 0, len(body))
	for len(body) > 0 {
		if body[0] != '\\' {
			out = append(out, body[0])
			body = body[1:]
			continue
		}
		r, n := unescape(body)
		out = utf8.AppendRune(out, r)
		body = body[n:]
	}
	return string(out), true
}

// unescape gives the character of the valid escape that b starts with, and the
// length of it: twelve for a surrogate pair. Half a pair gives U+FFFD.
func unescape(b []byte) (rune, int) {
	switch b[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(b[1]), 2
	}
	r := hex4(b[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(b[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// halfPair reports whether a valid string token escapes half a surrogate pair,
// which parsers refuse, replace or keep as they like.
func halfPair(token []byte) bool {
	for i := 1; i < len(token)-1; {
		if token[i] != '\\' {
			i++
			continue
		}
		r, n := unescape(token[i : len(token)-1])
		if r == utf8.RuneError && n == 6 && hex4(token[i+2:i+6]) != utf8.RuneError {
			return true
		}
		i += n
	}
	return false
}

// AppendString appends s as a JSON string token. It escapes only what JSON
// demands, so <, > and & stay as they are; bytes that are not UTF-8 become
// U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case plain(c):
			dst = append(dst, c)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
	}
	return append(dst, '"')
}

// IDKey gives a map key for an id or a progress token: tokens of the same type
// and value have the same key, however they are written, and others do not
// ("1" and 1 differ; 1 and 1.0 do not).
func IDKey(token []byte) string {
	if len(token) == 0 {
		return ""
	}
	if s, ok := Unquote(token); ok {
		return "s" + s
	}
	if aNumber.takes(token[0]) {
		return "n" + canonical(token)
	}
	return "x" + string(token)
}

// canonical writes a number as its significant digits and a power of ten.
func canonical(token []byte) string {
	if digits(token, 0) == len(token) && (token[0] != '0' || len(token) == 1) && token[len(token)-1] != '0' {
		return string(token)
	}
	negative, exp, point := false, 0, false
	var digs []byte
	for i, c := range token {
		switch {
		case c == '-':
			negative = true
		case c == '.':
			point = true
		case c == 'e' || c == 'E':
			n, err := strconv.ParseInt(string(token[i+1:]), 10, 32)
			if err != nil {
				// Out of all reason: such a number is equal to its own spelling only.
				return string(token)
			}
			exp += int(n)
			return significant(negative, digs, exp)
		default:
			digs = append(digs, c)
			if point {
				exp--
			}
		}
	}
	return significant(negative, digs, exp)
}

// significant writes digs times ten to the power exp without the zeros at
// either end of digs.
func significant(negative bool, digs []byte, exp int) string {
	for len(digs) > 0 && digs[0] == '0' {
		digs = digs[1:]
	}
	for len(digs) > 0 && digs[len(digs)-1] == '0' {
		digs = digs[:len(digs)-1]
		exp++
	}
	if len(digs) == 0 {
		return "0"
	}
	out := make([]byte, 0, len(digs)+8)
	if negative {
		out = append(out, '-')
	}
	out = append(out, digs...)
	if exp != 0 {
		out = append(out, 'e')
		out = strconv.AppendInt(out, int64(exp), 10)
	}
	return string(out)
}

// Compact appends the JSON text raw, which must be valid, without its white
// space between tokens, so that it holds no newline. Strings and numbers stay
// as they are written.
func Compact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end := skipText(raw, i)
			dst = append(dst, raw[i:end]...)
			i = end
		case isSpace(c):
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}
