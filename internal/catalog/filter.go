package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/answerback/answerback/internal/glob"
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
		if err := glob.Check(pattern); err != nil {
			return Filter{}, fmt.Errorf("tool %w", err)
		}
	}
	return Filter{allow: slices.Clone(allow), deny: slices.Clone(deny)}, nil
}

// Allows reports whether the tool with this name, as its backend calls it, is offered.
func (f Filter) Allows(name string) bool {
	matches := func(pattern string) bool { return glob.Match(pattern, name) }
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
