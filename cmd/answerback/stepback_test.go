package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

var namedShelf = regexp.MustCompile(`\.Shelf\("([a-z0-9-]+)"\)`)

// Every shelf that the program names has a fate at a restore: a new one has to
// be decided about.
func TestEveryShelfHasAFate(t *testing.T) {
	found := 0
	for _, root := range []string{"../../internal", "."} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "journaltest") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range namedShelf.FindAllStringSubmatch(string(text), -1) {
				found++
				if fates[m[1]] == nil {
					t.Errorf("%s: shelf %s is not in fates: say what becomes of it when a backup is restored", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 5 {
		t.Errorf("only %d shelves were found", found)
	}
}

func TestWhatARestoreLeavesOut(t *testing.T) {
	item := func(shelf, key string) *journal.Saved {
		return &journal.Saved{Kind: journal.SavedItem, Shelf: shelf, Key: key, Value: []byte("value")}
	}
	s := newStepBack(seal.Random())
	for name, each := range map[string]struct {
		record *journal.Saved
		stays  bool
	}{
		"a draft of a file":       {item("files", "draft.x"), true},
		"the link of a file":      {item("files", "link.x"), false},
		"an unknown shelf":        {item("sign-ins", "x"), false},
		"a connection under way":  {item("grant-flows", "x"), false},
		"a registration":          {item("grant-clients", "x"), true},
		"an unreadable account":   {item("grants", "x"), false},
		"an end":                  {&journal.Saved{Kind: journal.SavedEnd, Shelf: "grants", Key: "x"}, true},
		"an end of unknown shelf": {&journal.Saved{Kind: journal.SavedEnd, Shelf: "sign-ins", Key: "x"}, false},
		"the audit":               {&journal.Saved{Kind: journal.SavedAudit}, true},
	} {
		if got := s.record(each.record); got != each.stays {
			t.Errorf("%s: %v", name, got)
		}
	}
	notes := strings.Join(s.notes(), "\n")
	for _, want := range []string{"1 record of sign-ins", "1 record of files", "cannot be opened with the key ring or read by this version: 1 record of grants"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in the notes: %s", want, notes)
		}
	}
}
