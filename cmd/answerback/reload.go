package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/plant"
)

// watchReloads reloads the configuration when its file changes and on SIGHUP,
// until ctx ends or the function it returns is called, which waits.
func watchReloads(ctx context.Context, g *gateway, file string, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := config.Watch(ctx, file, func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
		if err != nil {
			log.Warn("the configuration file is not watched; SIGHUP still reloads it", "file", file, "err", err)
		}
	})
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			case <-hangup:
			}
			reload(g, file, log)
		}
	})
	return func() {
		signal.Stop(hangup)
		cancel()
		wg.Wait()
	}
}

func reload(g *gateway, file string, log *slog.Logger) {
	cfg, notes, err := config.Load(file, os.LookupEnv)
	for _, n := range notes {
		log.Info("configuration note", "note", n.String())
	}
	if err == nil {
		if plant.Scale > 1 {
			plant.ScaleAll(cfg)
		}
		err = g.reload(cfg)
	}
	if err != nil {
		log.Error("the configuration has mistakes; the old one stays in force", "file", file, "err", err)
		return
	}
	log.Info("configuration reloaded", "file", file, "backends", cfg.Enabled())
}
