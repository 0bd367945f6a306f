package main

import (
	"log/slog"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/upload"
)

const (
	// fileForm is what a form may have beside its files.
	fileForm = 1 << 20
	// forgetfulFiles is how much of a store in memory files may have.
	forgetfulFiles = 64 << 20
)

// newFiles makes the place for the files that people give.
func newFiles(cfg *config.Config, public string, store journal.Journal, ring *seal.Ring, home seal.Home, log *slog.Logger) (*upload.Store, error) {
	f := &cfg.Asks.Files
	total := int64(f.MaxTotal)
	switch {
	case cfg.Journal.InMemory:
		total = min(total, forgetfulFiles)
	case cfg.Journal.URL == "":
		total = min(total, int64(cfg.Journal.MaxBytes)/2)
	}
	return upload.New(upload.Config{
		Shelf: store.Shelf("files"), Ring: ring, Home: home, Now: time.Now, Log: log, PublicURL: public,
		Limits: upload.Limits{PerAsk: int64(f.MaxPerAsk), Total: total, Draft: f.Draft, Keep: f.Keep, Uses: f.Fetches},
	})
}

// leavesFiles reports whether a question ended with nobody seeing to the files
// that were given for it. Pages and the API do, where they take an answer.
func leavesFiles(r desk.Record) bool {
	if r.Transition != exchange.TransitionSettled.String() || !r.Kind.ForPeople() {
		return false
	}
	return r.Ending != ask.Answered || r.Action != ask.Accept
}
