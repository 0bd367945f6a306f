package main

import (
	"context"
	"log/slog"

	"github.com/answerback/answerback/internal/backend/a2a"
	"github.com/answerback/answerback/internal/backend/mcp"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/seal"
)

// backend is a server of any kind, which whoever made it closes.
type backend interface {
	contract.Backend
	Close(ctx context.Context)
}

// newBackend makes the backend that the configuration describes, with what
// people have connected to it, if they do.
func newBackend(name string, c config.Backend, cfg *config.Config, people door.Credentials, room *budget.Budget, ring *seal.Ring, epoch uint64, log *slog.Logger) (backend, error) {
	if c.Transport == "a2a" {
		return newAgentBackend(name, c, cfg, people, room, ring, log)
	}
	b := mcp.Config{
		Name: name, Transport: mcp.Transport(c.Transport),
		Command: c.Command, Args: c.Args, Dir: c.Dir, Env: c.Env,
		Limits: mcp.Limits{MessageBytes: int(cfg.Limits.MessageBytes), Questions: cfg.Asks.MaxOpenPerSession},
		Budget: room, Ring: ring, Epoch: epoch, Log: log,
	}
	if c.URL != "" {
		b.URL, b.Headers, b.Credentials, b.Client = c.URL, c.Headers, people, egress.ForBackends(egress.Config{})
	}
	return mcp.New(b)
}

// newAgentBackend makes the backend that an A2A agent is.
func newAgentBackend(name string, c config.Backend, cfg *config.Config, people door.Credentials, room *budget.Budget, ring *seal.Ring, log *slog.Logger) (*a2a.Backend, error) {
	return a2a.New(a2a.Config{
		Name: name, URL: c.URL, Origins: c.CardOrigins, Headers: c.Headers, Credentials: people, Client: egress.ForBackends(egress.Config{}),
		Limits: a2a.Limits{MessageBytes: int(cfg.Limits.MessageBytes), Round: cfg.Limits.Round},
		Budget: room, Ring: ring, Log: log,
	})
}
