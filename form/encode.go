package form

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// object writes a JSON object whose members stay in the order in which they
// are added, which encoding/json promises for structs only.
type object struct {
	buf  []byte
	some bool
}

func (o *object) open() { o.buf, o.some = append(o.buf, '{'), false }

func (o *object) close() []byte {
	o.buf = append(o.buf, '}')
	o.some = true
	return o.buf
}

func (o *object) key(name string) {
	if o.some {
		o.buf = append(o.buf, ',')
	}
	o.some = true
	o.buf = append(appendString(o.buf, name), ':')
}

func (o *object) raw(name string, v []byte) {
	o.key(name)
	o.buf = append(o.buf, v...)
}

func (o *object) text(name, v string) {
	o.key(name)
	o.buf = appendString(o.buf, v)
}

func (o *object) texts(name string, v []string) {
	o.key(name)
	o.buf = appendStrings(o.buf, v)
}

func (o *object) int(name string, v int64) {
	o.key(name)
	o.buf = strconv.AppendInt(o.buf, v, 10)
}

func (o *object) flag(name string, v bool) {
	o.key(name)
	o.buf = strconv.AppendBool(o.buf, v)
}

func (o *object) value(name string, v any) {
	o.key(name)
	o.buf = appendValue(o.buf, v)
}

// The members below are left out when they are zero.

func (o *object) optText(name, v string) {
	if v != "" {
		o.text(name, v)
	}
}

func (o *object) optTexts(name string, v []string) {
	if len(v) > 0 {
		o.texts(name, v)
	}
}

func (o *object) optInt(name string, v int64) {
	if v != 0 {
		o.int(name, v)
	}
}

func (o *object) optFlag(name string, v bool) {
	if v {
		o.flag(name, v)
	}
}

func (o *object) optNumber(name string, v json.Number) {
	if v != "" {
		o.value(name, v)
	}
}

// nest writes a member that is an object.
func (o *object) nest(name string, write func(*object)) {
	o.key(name)
	o.sub(write)
}

// sub writes an object where a value is expected.
func (o *object) sub(write func(*object)) {
	o.open()
	write(o)
	o.close()
}

// list writes a member that is an array of n objects.
func (o *object) list(name string, n int, write func(i int, o *object)) {
	o.key(name)
	o.buf = append(o.buf, '[')
	for i := range n {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.sub(func(o *object) { write(i, o) })
	}
	o.buf = append(o.buf, ']')
}

// optNest writes a member that is an object, and nothing when that is empty.
func (o *object) optNest(name string, write func(*object)) {
	var inner object
	inner.sub(write)
	if len(inner.buf) > len("{}") {
		o.raw(name, inner.buf)
	}
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendString(b, v)
	case []string:
		return appendStrings(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	}
	return append(b, "null"...)
}

func appendValues(b []byte, values []any) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, v)
	}
	return append(b, ']')
}

func appendStrings(b []byte, v []string) []byte {
	b = append(b, '[')
	for i, s := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, c := range s { // what is not UTF-8 comes as utf8.RuneError
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
