package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/answerback/answerback/internal/observe"
	"github.com/answerback/answerback/internal/relay"
)

// serveMetrics serves figures and health on an address of their own, until
// the function it returns is called, which waits. An empty address means
// nowhere.
func serveMetrics(address string, g *gateway, log *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve metrics on %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", g.metrics.Handler())
	mux.HandleFunc("GET /healthz", g.health.Live)
	mux.HandleFunc("GET /readyz", g.health.Ready)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are no longer served", "listen", address, "err", err)
		}
	}()
	log.Info("metrics", "url", "http://"+ln.Addr().String()+"/metrics")
	return func() {
		_ = server.Close()
		<-done
	}, nil
}

// counting counts what the relay sees.
type counting struct{ *observe.Metrics }

func (c counting) Call(s relay.CallStats) {
	c.Metrics.Call(observe.CallStats{Backend: s.Backend, Client: s.Client, Code: s.Code, Failed: s.Failed, Work: s.Work, People: s.People})
}
