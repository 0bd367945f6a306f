package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/plant"
)

func newServeCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: "Run the gateway until it is told to stop (SIGINT, SIGTERM): calls in flight are given limits.drain to end,\n" +
			"and questions that are kept wait for the next start. A second signal ends everything at once.\n" +
			"A change of the configuration file, or SIGHUP, reloads it; a file with a mistake changes nothing.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, file, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			log := newLogger(cfg.Log, os.Stderr)
			warnOfPrograms(cfg, log)
			return serve(cmd.Context(), cfg, file, log, func(d *doors, g *gateway) { d.announce(os.Stderr, g.desk != nil, log) })
		},
	}
}

// warnOfPrograms tells of commands that cannot be started. The gateway serves
// all the same: a program can be installed while it runs.
func warnOfPrograms(cfg *config.Config, log *slog.Logger) {
	if missing, ok := errors.AsType[*config.Error](cfg.Programs(exec.LookPath)); ok {
		for _, p := range missing.Problems {
			log.Warn("a backend cannot be started", "problem", p.String())
		}
	}
}

// newLogger makes the log that the configuration asks for.
func newLogger(cfg config.Log, to io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(to, opts))
	}
	return slog.New(slog.NewTextHandler(to, opts))
}

// serve runs the gateway until ctx ends. As soon as it takes requests, started
// is called.
func serve(ctx context.Context, cfg *config.Config, file string, log *slog.Logger, started func(*doors, *gateway)) error {
	ln, err := listen(cfg, log)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, log)
	if err != nil {
		ln.Close()
		return err
	}
	d, err := newDoors(ctx, cfg, cfg.PublicBase(ln.Addr()), store, log)
	if err != nil {
		ln.Close()
		store.Close(context.WithoutCancel(ctx))
		return err
	}
	defer d.close()
	g, err := newGateway(ctx, cfg, d, store, log)
	if err != nil {
		ln.Close()
		store.Close(context.WithoutCancel(ctx))
		return err
	}
	interruptsOf(ctx).beforeExit(g.brood.kill)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		g.close(ctx)
	}()

	if err := g.restore(ctx); err != nil {
		ln.Close()
		return err
	}
	plant.Kill("serve.restored")
	if stop := plant.Measure(); stop != nil {
		defer stop()
	}
	defer watchReloads(ctx, g, file, log)()
	defer serveStatus(cfg.DataDir, g, d, log)()

	stopMetrics, err := serveMetrics(cfg.Metrics.Listen, g, log)
	if err != nil {
		ln.Close()
		return err
	}
	defer stopMetrics()
	handler, err := d.handler(g)
	if err != nil {
		ln.Close()
		return err
	}
	server := d.guard.Server(handler)
	failed := make(chan error, 1)
	go func() {
		failed <- server.Serve(d.guard.Listener(ln, cfg.Limits.Connections, cfg.Limits.ConnectionsPerPeer))
	}()
	log.Info("serving", "url", "http://"+ln.Addr().String()+"/mcp", "backends", cfg.Enabled(), "version", version)
	g.health.Started()
	started(d, g)

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return drain(server, failed, g, cfg.Limits.Drain, log)
}

// closeTime bounds what is done after the time to drain is over.
const closeTime = 10 * time.Second
