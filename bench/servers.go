package main

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"syscall"
)

// serveProxy is the subject that the gateway is compared with: all that the
// standard library offers to somebody who needs a gateway.
func serveProxy(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("rproxy", flag.ExitOnError)
	to := fs.String("to", "", "where to send everything")
	if err := fs.Parse(args); err != nil {
		return err
	}
	target, err := url.Parse(*to)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 4096
	return serve(ctx, &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	})
}

// serveBackend serves the cheap MCP servers that are called: they do as little
// as they can, so that what is between them and the load is what costs.
func serveBackend(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.Handle("/legacy", &legacyServer{waiting: map[string]chan struct{}{}})
	mux.HandleFunc("/modern", serveModern)
	return serve(ctx, mux)
}

// serve serves on a free port, says where, and ends at SIGTERM.
func serve(ctx context.Context, h http.Handler) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	slog.New(slog.NewTextHandler(os.Stderr, nil)).Info("serving", "url", "http://"+l.Addr().String())
	srv := &http.Server{Handler: h}
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
