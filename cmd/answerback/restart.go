package main

import (
	"context"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/epoch"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/plant"
	"github.com/answerback/answerback/internal/relay"
	"github.com/answerback/answerback/internal/surface/events"
	surface "github.com/answerback/answerback/internal/surface/mcp"
)

// begin counts this life of the gateway, before anything is taken up, and
// reads what earlier ones could not take up.
func (g *gateway) begin(ctx context.Context) (err error) {
	if g.epoch, err = epoch.Raise(ctx, g.store.Shelf(epoch.Shelf), g.home.String()); err != nil {
		return err
	}
	g.epoch = plant.Instead(plant.OldLife, 1, g.epoch)
	g.aside, err = aside.Open(ctx, aside.Config{
		Shelf: g.store.Shelf("aside"), Home: g.home.String(), Epoch: g.epoch, Now: time.Now, Log: g.log, Count: g.metrics.SetAside,
	})
	return err
}

// restore takes up what was kept before a restart.
func (g *gateway) restore(ctx context.Context) error {
	if err := g.events.Restore(ctx); err != nil {
		return err
	}
	if g.desk == nil {
		g.events.Restored()
		return g.agent.restore(ctx)
	}
	n, err := g.desk.Restore(ctx, g.home.String(), func(ctx context.Context, group []desk.Stored) []desk.Revived {
		if office.Created(&group[0].Ask) {
			return g.office.Revive(group)
		}
		return g.relay.Revive(ctx, returning{g.surface, g.events}, group)
	})
	if err != nil {
		return err
	}
	if n > 0 {
		g.log.Info("questions taken up after a restart", "asks", n)
	}
	g.events.Restored()
	if err := g.relay.Restore(ctx); err != nil {
		return err
	}
	return g.agent.restore(ctx)
}

// returning finds clients of before a restart at the surface that they used.
type returning struct {
	mcp    *surface.Surface
	events *events.Surface
}

func (r returning) Return(mark []byte, id string, who ask.Principal, behind func(contract.Peer) *relay.Session) (relay.Returned, error) {
	if events.Marked(mark) {
		return r.events.Return(mark, id, who, behind)
	}
	return r.mcp.Return(mark, id, who, behind)
}
