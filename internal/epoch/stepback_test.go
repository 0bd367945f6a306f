package epoch

import (
	"encoding/json"
	"testing"

	"github.com/answerback/answerback/internal/journal"
)

// After a restore the epoch is beyond those of all lives since the backup, and
// what else the record holds stays.
func TestAStepBackIsBeyondTheLivesThatWereLost(t *testing.T) {
	shelf := newStore(t).Shelf(Shelf)
	if n, err := Current(t.Context(), shelf, "one"); err != nil || n != 0 {
		t.Errorf("before the first start: %d, %v", n, err)
	}
	if _, err := shelf.Put(t.Context(), "one", journal.Rev{}, []byte(`{"epoch":7,"owner":{"a":1}}`), 0); err != nil {
		t.Fatal(err)
	}
	item, err := shelf.Get(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	var after uint64
	for range 100 { // starts after the backup, which the restore knows nothing of
		if after, err = Raise(t.Context(), shelf, "one"); err != nil {
			t.Fatal(err)
		}
	}
	value, err := StepBack(item.Value)
	if err != nil {
		t.Fatal(err)
	}
	fresh := newStore(t).Shelf(Shelf)
	if _, err := fresh.Put(t.Context(), "one", journal.Rev{}, value, 0); err != nil {
		t.Fatal(err)
	}
	if n, err := Current(t.Context(), fresh, "one"); err != nil || n <= after {
		t.Errorf("the epoch is %d, and %d was used: %v", n, after, err)
	}
	if n, err := Raise(t.Context(), fresh, "one"); err != nil || n <= after {
		t.Errorf("the next start: %d, %v", n, err)
	}
	var record map[string]json.RawMessage
	if err := json.Unmarshal(value, &record); err != nil || string(record["owner"]) != `{"a":1}` {
		t.Errorf("%s %v", value, err)
	}
	if _, err := StepBack([]byte("garbage")); err == nil {
		t.Error("garbage has an epoch")
	}
}
