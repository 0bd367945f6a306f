package grant

import (
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// stepBack suspends everything in the store, as a restore does, and starts
// anew.
func (w *world) stepBack() {
	w.t.Helper()
	shelf := w.store.Shelf(ShelfGrants)
	var items []journal.Item
	for item, err := range shelf.Scan(w.t.Context(), "") {
		if err != nil {
			w.t.Fatal(err)
		}
		items = append(items, item)
	}
	for _, item := range items {
		value, err := Suspend(w.ring, item.Key, item.Value)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := shelf.Put(w.t.Context(), item.Key, item.Rev, value, 0); err != nil {
			w.t.Fatal(err)
		}
	}
	w.start()
}

// A suspended grant is neither used nor refreshed. It is used again when it was
// confirmed, for its person alone, or when its person has connected again; and
// it can be revoked at its server.
func TestASuspendedGrantIsNotUsed(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.connect(bobHere)
	w.stepBack()
	w.needs(ann, Suspended)
	w.needs(bob, Suspended)
	w.clock.pass(2 * time.Hour)
	w.needs(ann, Suspended)
	if _, err := w.For(t.Context(), ann, "tracker"); !strings.Contains(err.Error(), "restored from a backup") {
		t.Errorf("the words: %v", err)
	}
	if n, err := w.Confirm(t.Context(), ann, "keyed"); err != nil || n != 0 {
		t.Errorf("of another backend: %d, %v", n, err)
	}
	if n, err := w.Confirm(t.Context(), bob, "tracker"); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	w.needs(ann, Suspended)
	w.has(bob, "canary-access-3") // refreshed, because its time was up
	w.stepBack()
	if told, err := w.Revoke(t.Context(), ann, "tracker"); err != nil || !told {
		t.Errorf("revoking: %v, %v", told, err)
	}
	w.needs(ann, Never)
	if n, err := w.Confirm(t.Context(), ask.Principal{}, ""); err != nil || n != 1 {
		t.Errorf("everything: %d, %v", n, err)
	}
	w.has(bob, "canary-access-3")
	w.stepBack()
	w.connect(bobHere)
	w.has(bob, "canary-access-4")
	if n, err := w.Confirm(t.Context(), ask.Principal{}, ""); err != nil || n != 0 {
		t.Errorf("nothing is left to confirm: %d, %v", n, err)
	}
	if _, err := Suspend(seal.Random(), "key", []byte("foreign")); err == nil {
		t.Error("what cannot be opened was suspended")
	}
}
