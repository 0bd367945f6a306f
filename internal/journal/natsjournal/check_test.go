package natsjournal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

func check(t *testing.T, cfg Config) string {
	t.Helper()
	found, err := Check(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range found {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

// Check names everything that is wrong, and finds nothing wrong with a whole
// store, which is opened afterwards as if it had not been looked at.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	cfg := config(t)
	j := open(t, cfg)
	one, two := create(t, j, ask("one")), create(t, j, ask("two"))
	if _, err := j.Shelf("grants").Put(t.Context(), "key", journal.Rev{}, []byte("value"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), cfg); !errors.Is(err, journal.Unavailable) {
		t.Errorf("a store that is in use: %v", err)
	}
	crash(t, j)
	for range 2 {
		if wrong := check(t, cfg); wrong != "" {
			t.Errorf("a whole store has %s", wrong)
		}
	}
	j = open(t, cfg)
	if got, err := j.Get(t.Context(), one.Key); err != nil || got.Rev != one.Rev {
		t.Errorf("%+v %v", got.Rev, err)
	}
	// Two foreign messages, then a record that is gone, then a stream.
	subjects := []string{j.layout.ask(one.Key), j.layout.shelfSubjects() + "grants.key"}
	for _, s := range subjects {
		if _, err := j.link.conn.Request(s, []byte("foreign"), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	crash(t, j)
	wrong := check(t, cfg)
	for _, s := range subjects {
		if !strings.Contains(wrong, s) {
			t.Errorf("%s is not named: %s", s, wrong)
		}
	}

	cfg = config(t)
	j = open(t, cfg)
	two = create(t, j, ask("two"))
	name := j.asks[j.layout.shard(two.Shard)].stream
	if err := stream(t, j, name).DeleteMsg(t.Context(), two.Rev.Seq); err != nil {
		t.Fatal(err)
	}
	path := j.engine.path("answerback-audit")
	shut(t, j)
	if wrong := check(t, cfg); !strings.Contains(wrong, name) || !strings.Contains(wrong, "must stay") {
		t.Errorf("a record is gone: %s", wrong)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if wrong := check(t, cfg); !strings.Contains(wrong, "answerback-audit: the stream is missing") {
		t.Errorf("a stream is gone: %s", wrong)
	}
	flip(t, filepath.Join(filepath.Dir(path), "answerback-ask-1", "meta.inf"), 10)
	if wrong := check(t, cfg); !strings.Contains(wrong, "answerback-ask-1 is damaged") {
		t.Errorf("a stream cannot be read: %s", wrong)
	}
	nowhere := config(t)
	nowhere.Dir += "/nowhere"
	if _, err := Check(t.Context(), nowhere); !errors.Is(err, journal.Unavailable) {
		t.Errorf("a store that is not there: %v", err)
	}
	_, external := external(t, nil)
	if _, err := Check(t.Context(), external); !errors.Is(err, journal.Invalid) {
		t.Errorf("an external store: %v", err)
	}
}
