package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/plant"
)

func newServeCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: "Run the gateway until it is told to stop (SIGINT, SIGTERM): calls in flight are given limits.drain to end.\n" +
			"A change of the configuration file, or SIGHUP, reloads it; a file with a mistake changes nothing.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, file, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			log := newLogger(cfg.Log, os.Stderr)
			return serve(cmd.Context(), cfg, file, log, func(d *doors, g *gateway) { d.announce(os.Stderr, g.desk != nil, log) })
		},
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
	d, err := newDoors(cfg, cfg.PublicBase(ln.Addr()), log)
	if err != nil {
		ln.Close()
		return err
	}
	defer d.close()
	store, err := openStore(ctx, cfg, log)
	if err != nil {
		ln.Close()
		return err
	}
	g, err := newGateway(ctx, cfg, d, store, log)
	if err != nil {
		ln.Close()
		store.Close(context.WithoutCancel(ctx))
		return err
	}
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
	defer plant.Measure()()
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

// drain lets calls in flight end, still taking answers for them, and then
// ends the rest.
func drain(server *http.Server, failed <-chan error, g *gateway, limit time.Duration, log *slog.Logger) error {
	g.health.Draining()
	log.Info("stopping", "drain", limit)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := g.drain(ctx); err != nil {
		log.Warn("calls were still in flight when the time to drain was over")
	}
	if g.desk != nil {
		g.desk.Suspend()
	}
	last, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	g.closeSurfaces(last)
	// What was being answered gets its answer; idle connections are closed.
	err := server.Shutdown(last)
	if err != nil {
		err = server.Close()
	}
	if end := <-failed; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	log.Info("stopped")
	return err
}

// closeTime bounds what is done after the time to drain is over.
const closeTime = 10 * time.Second
