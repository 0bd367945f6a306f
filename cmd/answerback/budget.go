package main

import (
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/config"
)

// budget sets up how much memory messages may take, and what is refused where
// there is none.
func (g *gateway) budget(cfg *config.Config) {
	l := &cfg.Limits
	memory := budget.Watch(budget.MemoryConfig{Limit: budget.Limit(int64(l.Memory)), Log: g.log})
	g.requests = budget.New(budget.Config{
		Name: "requests", Total: int64(l.BodiesTotal), Each: int64(l.BodiesPerPrincipal),
		Memory: memory, Refused: g.metrics.Refused, Log: g.log,
	})
	g.responses = budget.New(budget.Config{
		Name: "responses", Total: int64(l.ResponsesTotal), Each: int64(l.ResponsesPerBackend),
		Refused: g.metrics.Refused, Log: g.log,
	})
	g.metrics.HeldFrom(map[string]func() int64{"requests": g.requests.Used, "responses": g.responses.Used}, memory.Short)
}
