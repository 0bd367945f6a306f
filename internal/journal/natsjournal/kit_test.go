package natsjournal

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/journaltest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(playDir); dir != "" { // the process that plays
		play(dir, os.Getenv(playSeed))
	}
	goleak.VerifyTestMain(m,
		// The server's clock for its caches, one for the whole process.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"),
	)
}

func config(t testing.TB) Config {
	cfg := Defaults()
	cfg.Dir = t.TempDir()
	cfg.MaxStore, cfg.AuditBytes = 1<<30, 64<<20
	cfg.Log = slog.New(slog.DiscardHandler)
	return cfg
}

// open opens a store that is closed when the test ends, unless the test
// closed it.
func open(t testing.TB, cfg Config) *Journal {
	t.Helper()
	j, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, j) })
	return j
}

// shut closes a journal that is not closed yet.
func shut(t testing.TB, j *Journal) {
	t.Helper()
	select {
	case <-j.life.Done():
		return
	default:
	}
	if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func reopen(t testing.TB, cfg Config, j *Journal) *Journal {
	t.Helper()
	shut(t, j)
	return open(t, cfg)
}

func TestEmbeddedKeepsTheContract(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T) journaltest.Opened {
		cfg := config(t)
		j := open(t, cfg)
		return journaltest.Opened{
			Journal: j,
			Reopen: func(t *testing.T) journal.Journal {
				j = reopen(t, cfg, j)
				return j
			},
		}
	})
}
