package upload

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
)

// What was uploaded is there after the process has ended: the draft, and the
// link.
func TestDraftsAndLinksSurviveARestart(t *testing.T) {
	dir, ring := t.TempDir(), seal.Random()
	content := noise(3 * mib)
	open := func() (*Store, func()) {
		cfg := natsjournal.Defaults()
		cfg.Dir, cfg.Log = dir, slog.New(slog.DiscardHandler)
		j, err := natsjournal.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{
			Shelf: j.Shelf("files"), Ring: ring, Now: time.Now, Log: slog.New(slog.DiscardHandler), PublicURL: "https://gateway.example",
			Limits: Limits{PerAsk: 50 * mib, Total: 5 * mib, Draft: time.Hour, Keep: time.Hour, Uses: 3},
		})
		if err != nil {
			t.Fatal(err)
		}
		return s, func() {
			if err := j.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	at := Place{Ask: "ask1", Field: "one", By: ada}
	s, end := open()
	f, errs, err := s.Take(t.Context(), at, fileForm(t), "cv", bytes.NewReader(content))
	if err != nil || len(errs) > 0 {
		t.Fatal(errs, err)
	}
	end()

	s, end = open()
	kept, err := s.Kept(t.Context(), "ask1", ada)
	if err != nil || len(kept) != 1 || kept[0] != f {
		t.Fatalf("after the restart there are %+v, %v", kept, err)
	}
	links, err := s.Link(t.Context(), "ask1", "deploy", ada, kept)
	if err != nil {
		t.Fatal(err)
	}
	s.Settled(t.Context(), "ask1", kept...)
	end()

	s, end = open()
	defer end()
	path := strings.TrimPrefix(links.URL(&f), "https://gateway.example")
	if got := fetch(s, http.MethodGet, path); got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), content) {
		t.Errorf("the link gives %d, %d bytes", got.Code, got.Body.Len())
	}
}
