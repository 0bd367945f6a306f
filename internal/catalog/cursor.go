package catalog

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/answerback/answerback/ask"
)

// A cursor is the marks of two items: the last of the page it came with, and the
// first of the page it leads to. It holds on every gateway and needs no memory.
// Marks are looked up among what its bearer may see, so that a forged cursor
// tells nothing about the rest.

// mark stands for an item at a fixed length, however long its URI is.
type mark [16]byte

func markOf(l List, e entry) mark {
	sum := sha256.Sum256([]byte(string(rune(l)) + e.backend + separator + e.key))
	return mark(sum[:len(mark{})])
}

// cursor marks the cut between two items.
func cursor(l List, last, next entry) string {
	a, b := markOf(l, last), markOf(l, next)
	return base64.RawURLEncoding.EncodeToString(append(a[:], b[:]...))
}

// resume finds the place where a cursor goes on.
func resume(l List, entries []entry, cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	if len(cursor) != base64.RawURLEncoding.EncodedLen(2*len(mark{})) {
		return 0, errCursor()
	}
	marks, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, errCursor()
	}
	last, next := mark(marks[:len(mark{})]), mark(marks[len(mark{}):])
	fallback := -1
	for i, e := range entries {
		switch markOf(l, e) {
		case last:
			// What was added between the two belongs to the next page.
			return i + 1, nil
		case next:
			fallback = i
		}
	}
	if fallback < 0 {
		return 0, errCursor()
	}
	return fallback, nil
}

// errCursor is what a client gets that must start again.
func errCursor() *ask.Error {
	return ask.Errorf(ask.UnknownName,
		"Unknown cursor: it was not given for this list, or the list has changed too much since. List again without a cursor.")
}
