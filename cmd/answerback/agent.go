package main

import (
	"context"
	"net/http"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/surface/a2a"
)

// agent is the gateway as an agent. A nil one is none, which is in order.
type agent struct {
	surface *a2a.Surface
	outward *egress.Strangers
}

func newAgent(cfg *config.Config, d *doors, g *gateway) (*agent, error) {
	a := &agent{outward: egress.ForStrangers(cfg.A2A.PushTrusted...)}
	var err error
	a.surface, err = a2a.New(a2a.Config{
		Gateway: g.relay, Shelf: shelved{results{g.store.Shelf("agent"), g.ring, aside.Task, g.aside}}, Outward: a.outward,
		Authenticate: d.authenticate, Secured: !d.open,
		Patience: func(k ask.Kind) time.Duration {
			if g.desk == nil {
				return cfg.Asks.Timeout
			}
			return g.desk.Timeout(k)
		},
		PublicURL: d.public, Version: version, Ring: g.ring, Home: g.home, Log: g.log,
		Budget:   g.requests,
		MaxBody:  int(cfg.Limits.BodyBytes),
		MaxTasks: cfg.Limits.Sessions, MaxTasksPerPrincipal: cfg.A2A.MaxTasks, MaxPast: cfg.A2A.MaxPast,
		Attempts: cfg.Asks.Attempts, Cap: cfg.Limits.CallCap, Keep: cfg.A2A.Keep,
	})
	return a, err
}

// shelved keeps tasks as results are kept, with errors in words for clients.
type shelved struct{ results }

func (s shelved) Keep(ctx context.Context, id string, value []byte, ttl time.Duration) error {
	return worded(s.results.Keep(ctx, id, value, ttl))
}

func (s shelved) Kept(ctx context.Context, id string) ([]byte, error) {
	value, err := s.results.Kept(ctx, id)
	return value, worded(err)
}

func worded(err error) error {
	if err == nil {
		return nil // and not an *ask.Error that is
	}
	return journal.Refusal(err)
}

// handle puts the agent behind its guard.
func (a *agent) handle(mux *http.ServeMux, d *doors) {
	if a == nil {
		return
	}
	guarded := d.agent.API(a.surface)
	mux.Handle("/a2a", guarded)
	mux.Handle("/a2a/", guarded)
	mux.Handle("/.well-known/agent-card.json", guarded)
}

func (a *agent) restore(ctx context.Context) error {
	if a == nil {
		return nil
	}
	return a.surface.Restore(ctx)
}

func (a *agent) drain(ctx context.Context) error {
	if a == nil {
		return nil
	}
	return a.surface.Drain(ctx)
}

func (a *agent) close(ctx context.Context) {
	if a == nil {
		return
	}
	a.surface.Close(ctx)
	a.outward.CloseIdleConnections()
}
