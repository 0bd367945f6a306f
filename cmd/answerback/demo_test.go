package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/demo"
)

// The demo's call is held until its question is over, whatever the gateway
// takes the patience of unknown clients to be: otherwise what is printed at its
// end is meant for a model, and is no result.
func TestDemoHoldsItsCallUntilTheQuestionIsOver(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, demoFile("127.0.0.1:0", dir, "answerback"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(file, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	held := clientsOf(cfg).Of([]byte(`{"name":"` + demo.Client + `","version":"1"}`))
	if held.Hold <= cfg.Asks.Timeout {
		t.Errorf("the call is held for %s, and the question waits for %s", held.Hold, cfg.Asks.Timeout)
	}
}
