package main

import (
	"log/slog"

	"github.com/answerback/answerback/internal/backend/mcp"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/seal"
)

// newBackend makes the backend that the configuration describes, with what
// people have connected to it, if they do.
func newBackend(name string, c config.Backend, cfg *config.Config, people door.Credentials, ring *seal.Ring, log *slog.Logger) (*mcp.Backend, error) {
	b := mcp.Config{
		Name: name, Transport: mcp.Transport(c.Transport),
		Command: c.Command, Args: c.Args, Dir: c.Dir, Env: c.Env,
		Limits: mcp.Limits{MessageBytes: int(cfg.Limits.MessageBytes), Questions: cfg.Asks.MaxOpenPerSession},
		Ring:   ring, Log: log,
	}
	if c.URL != "" {
		b.URL, b.Headers, b.Credentials, b.Client = c.URL, c.Headers, people, egress.ForBackends(egress.Config{})
	}
	return mcp.New(b)
}
