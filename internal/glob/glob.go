// Package glob is the one pattern language of the configuration: "*" stands
// for any characters and "?" for one. Filters of tools and rules of access
// mean the same by it.
//
// It is not for paths: "*" also stands for "/", because a rule that stops at
// a slash would let names through.
package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Check refuses a pattern that is empty, is not UTF-8, or has characters with
// a meaning in other pattern languages. The error names the pattern.
func Check(pattern string) error {
	if pattern == "" {
		return errors.New("empty pattern: write a name, or a pattern with * and ?")
	}
	if strings.ContainsAny(pattern, `[]{}\!`) || !utf8.ValidString(pattern) {
		return fmt.Errorf("pattern %q: only * (any characters) and ? (one character) have a meaning, and none of []{}\\! may be used", pattern)
	}
	return nil
}

// Match reports whether the whole name matches. It takes at most
// len(pattern)*len(name) steps: only the last "*" ever needs to be tried
// again, with one character more.
func Match(pattern, name string) bool {
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
