package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Filter says which tools of a backend are offered, by their own names: those
// that match a pattern of the allow-list and none of the deny-list. An empty
// allow-list allows all, so the zero Filter does. Safe for concurrent use.
type Filter struct {
	allow, deny []string
	and         func(name string) bool // nil where nothing else has a say
}

// NewFilter makes a Filter of patterns in which "*" stands for any characters
// and "?" for one. Unlike in paths "*" also stands for "/": a deny-list that
// stops at a slash would let names through. A pattern that is empty, or that
// has characters with a meaning in other pattern languages, is refused with an
// error that names it.
func NewFilter(allow, deny []string) (Filter, error) {
	for _, pattern := range slices.Concat(allow, deny) {
		if pattern == "" {
			return Filter{}, errors.New("empty tool pattern: write a name, or a pattern with * and ?")
		}
		if strings.ContainsAny(pattern, `[]{}\!`) || !utf8.ValidString(pattern) {
			return Filter{}, fmt.Errorf("tool pattern %q: only * (any characters) and ? (one character) have a meaning, and none of []{}\\! may be used", pattern)
		}
	}
	return Filter{allow: slices.Clone(allow), deny: slices.Clone(deny)}, nil
}

// Allows reports whether the tool with this name, as its backend calls it, is offered.
func (f Filter) Allows(name string) bool {
	matches := func(pattern string) bool { return glob(pattern, name) }
	if slices.ContainsFunc(f.deny, matches) {
		return false
	}
	if len(f.allow) > 0 && !slices.ContainsFunc(f.allow, matches) {
		return false
	}
	return f.and == nil || f.and(name)
}

// And gives a filter that offers what f does and allows does too.
func (f Filter) And(allows func(name string) bool) Filter {
	if before := f.and; before != nil {
		f.and = func(name string) bool { return before(name) && allows(name) }
	} else {
		f.and = allows
	}
	return f
}

// errFiltered is the cause, for the log, of an "unknown" that is a "not offered".
var errFiltered = errors.New("the backend's filter leaves it out")

// glob matches in at most len(pattern)*len(name) steps: only the last "*" ever
// needs to be tried again, with one character more.
func glob(pattern, name string) bool {
	p, n := 0, 0
	star, resume := -1, 0
	for n < len(name) {
		r, size := utf8.DecodeRuneInString(name[n:])
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
			continue
		case p < len(pattern) && pattern[p] == '?':
			p++
			n += size
			continue
		case p < len(pattern):
			if want, wide := utf8.DecodeRuneInString(pattern[p:]); want == r && wide == size {
				p += wide
				n += size
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(name[resume:])
		resume += size
		p, n = star+1, resume
	}
	return strings.Trim(pattern[p:], "*") == ""
}
