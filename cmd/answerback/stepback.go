package main

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/epoch"
	"github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/seal"
)

// stepBack changes the records of a store that goes back in time, so that
// nothing that may have happened since is done a second time:
// docs/decisions/020 has the rule for each of them.
type stepBack struct {
	ring  *seal.Ring
	moved bool // nothing has happened since: only lives are counted on

	asks, accounts int
	dropped        map[string]int // by shelf
	unreadable     map[string]int // by shelf
}

func newStepBack(ring *seal.Ring) *stepBack {
	return &stepBack{ring: ring, dropped: map[string]int{}, unreadable: map[string]int{}}
}

// fate is what a restore does with an item of a shelf: it gives the value to
// store, nil for none.
type fate func(s *stepBack, key string, value []byte) ([]byte, error)

func stays(_ *stepBack, _ string, value []byte) ([]byte, error) { return value, nil }

func goes(*stepBack, string, []byte) ([]byte, error) { return nil, nil }

// fates are those of every shelf. Items of a shelf that is not named here are
// not restored.
var fates = map[string]fate{
	epoch.Shelf: func(_ *stepBack, _ string, value []byte) ([]byte, error) { return epoch.StepBack(value) },
	grant.ShelfGrants: func(s *stepBack, key string, value []byte) ([]byte, error) {
		s.accounts++
		return grant.Suspend(s.ring, key, value)
	},
	grant.ShelfClients: stays,
	grant.ShelfFlows:   goes, // connections that a browser had under way
	signinShelf:        goes, // a person may have signed out after the backup
	"results":          heldResult,
	"events":           stays, // a call without an end is one of unknown outcome, unless its question is open
	"agent":            stays,
	"files": func(_ *stepBack, key string, value []byte) ([]byte, error) {
		if strings.HasPrefix(key, "link.") {
			return nil, nil // it may have been used up
		}
		return value, nil
	},
	"aside":  stays,
	"health": goes,
}

func heldResult(s *stepBack, key string, value []byte) ([]byte, error) {
	plain, err := s.ring.Unseal(seal.Secret, []byte(key), string(value))
	if err != nil {
		return nil, err
	}
	next, err := parking.StepBack(key, plain)
	if err != nil {
		return nil, err
	}
	return []byte(s.ring.Seal(seal.Secret, []byte(key), next)), nil
}

// records changes all records.
func (s *stepBack) records(all iter.Seq2[journal.Saved, error]) iter.Seq2[journal.Saved, error] {
	return func(yield func(journal.Saved, error) bool) {
		for r, err := range all {
			if err == nil && !s.record(&r) {
				continue
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// record changes one record. It is false for one that is not restored.
func (s *stepBack) record(r *journal.Saved) bool {
	switch r.Kind {
	case journal.SavedAsk:
		s.asks++
		if !s.moved {
			r.Ask.Body = desk.StepBack(r.Ask.Body)
		}
		return true
	case journal.SavedItem:
	case journal.SavedEnd:
		return fates[r.Shelf] != nil
	default:
		return true
	}
	do := fates[r.Shelf]
	if do == nil {
		do = goes
	}
	if s.moved && r.Shelf != epoch.Shelf {
		do = stays
	}
	value, err := do(s, r.Key, r.Value)
	switch {
	case err != nil:
		s.unreadable[r.Shelf]++
		return false
	case value == nil:
		s.dropped[r.Shelf]++
		return false
	}
	r.Value = value
	return true
}

// notes say what was not restored.
func (s *stepBack) notes() (all []string) {
	for _, shelf := range slices.Sorted(maps.Keys(s.dropped)) {
		all = append(all, fmt.Sprintf("not restored, because it may have been used or ended since: %s of %s", count(s.dropped[shelf], "record"), shelf))
	}
	for _, shelf := range slices.Sorted(maps.Keys(s.unreadable)) {
		all = append(all, fmt.Sprintf("not restored, because it cannot be opened with the key ring or read by this version: %s of %s", count(s.unreadable[shelf], "record"), shelf))
	}
	return all
}
