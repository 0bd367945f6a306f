package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/answerback/answerback/internal/observe"
)

// statusSocket is where a running gateway tells its owner how it does: a
// socket in the data directory, which nobody else can open.
func statusSocket(dataDir string) string { return filepath.Join(dataDir, "status.sock") }

// serveStatus answers on the status socket until the function it returns is
// called, which waits. A gateway without one serves all the same.
func serveStatus(dataDir string, g *gateway, d *doors, log *slog.Logger) (stop func()) {
	path := statusSocket(dataDir)
	ln, err := listenStatus(path)
	if err != nil {
		log.Warn("no status for doctor", "socket", path, "err", err)
		return func() {}
	}
	mux := http.NewServeMux()
	mux.Handle("/status", g.ledger)
	mux.Handle("GET "+auditPath, observe.Export(g.store, log))
	serveAside(mux, g.aside)
	backups := serveBackup(mux, g)
	if g.accounts != nil {
		serveGrants(mux, g.accounts.Grants)
	}
	serveSignins(mux, d.kept)
	mux.HandleFunc("POST /signin", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, d.signin.LocalLink()) })
	if v1, err := newAPI(g, localViewer); err == nil {
		mux.Handle("/v1/", v1)
	} else {
		log.Warn("no questions for answerback asks", "socket", path, "err", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the status socket failed", "socket", path, "err", err)
		}
	}()
	return func() {
		_ = server.Close()
		<-done
		backups()
	}
}

// listenStatus takes the socket over from a gateway that is gone, and leaves
// it to one that is there.
func listenStatus(path string) (net.Listener, error) {
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close()
		return nil, errors.New("another gateway runs with this data_dir")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// errNotRunning means that no gateway runs with a data directory.
var errNotRunning = errors.New("no gateway runs with this data_dir")

// askStatus asks the gateway that runs with a data directory.
func askStatus(ctx context.Context, dataDir, method, path string) ([]byte, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", statusSocket(dataDir))
	if err != nil {
		return nil, errNotRunning
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.0\r\n\r\n", method, path); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, 8<<20))
}

// readStatus asks the gateway that runs with a data directory, if one does,
// how it does.
func readStatus(ctx context.Context, dataDir string) ([]observe.Asks, error) {
	body, err := askStatus(ctx, dataDir, http.MethodGet, "/status")
	if err != nil {
		if errors.Is(err, errNotRunning) {
			return nil, nil // there is nothing to tell
		}
		return nil, err
	}
	var status struct{ Asks []observe.Asks }
	err = json.Unmarshal(body, &status)
	return status.Asks, err
}
