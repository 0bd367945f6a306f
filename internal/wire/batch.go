package wire

import (
	"strconv"

	"github.com/answerback/answerback/ask"
)

// IsBatch reports whether raw starts as a JSON array.
func IsBatch(raw []byte) bool { return peek(raw, space(raw, 0)) == '[' }

// Batch splits a JSON array of at most n elements. The elements share raw's
// memory; they are valid JSON, and each is yet to be scanned. An error is an
// *ask.Error: BadMessage for what is no array or an empty one, TooLarge for
// more than n elements or what exceeds lim.
func Batch(raw []byte, lim Limits, n int) ([][]byte, error) {
	var s scanner
	if err := s.start(raw, lim); err != nil {
		return nil, err
	}
	if !IsBatch(raw) {
		return nil, ask.Errorf(ask.BadMessage, "The batch is not a JSON array.")
	}
	start := space(raw, 0)
	end := s.array(start, 1)
	if end >= 0 {
		s.end(end)
	}
	if s.err != nil {
		return nil, s.err
	}
	var list [][]byte
	for e := range Elements(raw, span(start, end)) {
		if len(list) == n {
			return nil, ask.Errorf(ask.TooLarge, "The batch has more than "+strconv.Itoa(n)+" messages.")
		}
		list = append(list, e.Of(raw))
	}
	if len(list) == 0 {
		return nil, ask.Errorf(ask.BadMessage, "The batch has no messages in it.")
	}
	return list, nil
}

// Salvage finds the id in the first bytes of a message that was cut off, too
// large to read, so that its sender can be told. It gives the token, a string
// or a number, or nil when none stands there whole.
func Salvage(head []byte) []byte {
	all := Whole(head)
	for m := range Members(head, all) {
		if !isKey(m.Key.Of(head), "id") {
			continue
		}
		token := m.Value.Of(head)
		if m.Value.End >= all.End || !isToken(token) {
			return nil
		}
		return token
	}
	return nil
}

// isToken reports whether token is one whole string or number.
func isToken(token []byte) bool {
	if _, ok := Unquote(token); ok {
		return true
	}
	return len(token) > 0 && number(token, 0) == len(token)
}
