package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/backup"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/epoch"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
)

const (
	// backupPath is where the status socket serves backups.
	backupPath = "/backup"
	// backupIdle bounds how long a backup may make no progress.
	backupIdle = 2 * time.Minute
	// maxBackups is how many backups are taken at once.
	maxBackups = 4
)

func newBackupCmd() *cobra.Command {
	var audit, only bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of everything that the gateway keeps",
		Long: "Write a backup of everything that the gateway keeps to FILE: questions, answers, accounts, and what calls and\n" +
			"clients need after a restart. The gateway that runs with the same data_dir goes on meanwhile; where none runs,\n" +
			"the store is read directly. Everything that was stored before the command began is in the backup.\n" +
			"The file is encrypted with the key ring, the file keys in data_dir, which is not in it: keep a copy of that\n" +
			"file elsewhere. An existing FILE is replaced when the backup is complete.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if cfg.Journal.InMemory {
				return errors.New("there is nothing to back up: the gateway keeps nothing (journal.in_memory)")
			}
			ring, err := seal.OpenExisting(cfg.DataDir)
			if err != nil {
				return err
			}
			h, n, size, err := writeBackup(args[0], ring, func(to io.Writer) error { return takeBackup(cmd.Context(), cfg, ring, audit, only, to) })
			if err != nil {
				return fmt.Errorf("no backup was made: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s (%s), %d bytes; home %s, epoch %d\n", args[0], count(n.Records(), "record"), contents(n), size, h.Home, h.Epoch)
			return nil
		},
	}
	cmd.Flags().BoolVar(&audit, "audit", false, "back the audit up as well")
	cmd.Flags().BoolVar(&only, "running", false, "fail where no gateway runs, instead of reading the store, which keeps a gateway from starting meanwhile")
	return cmd
}

// contents says what a backup holds.
func contents(n backup.Count) string {
	return fmt.Sprintf("questions: %d, items: %d, ends: %d, audit: %d", n.Asks, n.Items, n.Ends, n.Audit)
}

// writeBackup puts a whole backup in place of a file, or changes nothing. The
// backup is read back before.
func writeBackup(path string, ring *seal.Ring, take func(io.Writer) error) (h backup.Header, n backup.Count, size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".backup-*") // with mode 0600
	if err != nil {
		return h, n, 0, err
	}
	defer os.Remove(f.Name())
	err = take(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		h, n, err = backup.Verify(f, ring)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return h, n, 0, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return h, n, 0, err
	}
	return h, n, size, syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// takeBackup takes a backup from the gateway that runs, or else from the store.
func takeBackup(ctx context.Context, cfg *config.Config, ring *seal.Ring, audit, only bool, to io.Writer) error {
	query := ""
	if audit {
		query = "?audit=1"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://answerback"+backupPath+query, nil)
	if err != nil {
		return err
	}
	resp, err := sendLocal(cfg.DataDir)(r)
	if errors.Is(err, errNotRunning) && !only {
		return backupDirectly(ctx, cfg, ring, audit, to)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("the gateway said %s: %s", resp.Status, strings.TrimSpace(string(said)))
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return cutOff(ctx, err)
	}
	return nil
}

// backupDirectly takes a backup of a store that no gateway uses.
func backupDirectly(ctx context.Context, cfg *config.Config, ring *seal.Ring, audit bool, to io.Writer) (err error) {
	if cfg.Journal.URL == "" && !natsjournal.Exists(storeDir(cfg)) {
		return fmt.Errorf("there is no store in %s", storeDir(cfg))
	}
	home, err := seal.OpenHome(cfg.DataDir)
	if err != nil {
		return err
	}
	store, err := natsjournal.Open(ctx, storeConfig(cfg, quiet(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	lives, err := epoch.Current(ctx, store.Shelf(epoch.Shelf), home.String())
	if err != nil {
		return err
	}
	_, err = backup.Write(ctx, to, ring, backup.Header{Home: home.String(), Epoch: lives, Audit: audit, Stopped: true, Version: version}, store)
	return err
}

// quiet is the log of a command that is not the gateway: warnings only.
func quiet(cfg *config.Config) *slog.Logger {
	c := cfg.Log
	if c.Level == "info" {
		c.Level = "warn"
	}
	return newLogger(c, os.Stderr)
}

// serveBackup serves backups to the gateway's owner. It gives what lets no more
// begin and waits for those under way, once their connections are closed.
func serveBackup(mux *http.ServeMux, g *gateway) (wait func()) {
	slots := make(chan struct{}, maxBackups)
	mux.HandleFunc("GET "+backupPath, func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many backups are under way: try again when one has ended", http.StatusServiceUnavailable)
			return
		}
		from, ok := journal.SaverOf(g.store)
		if !ok {
			http.Error(w, "this gateway keeps nothing (journal.in_memory)", http.StatusConflict)
			return
		}
		h := backup.Header{Home: g.home.String(), Epoch: g.epoch, Audit: r.URL.Query().Get("audit") != "", Version: version}
		n, err := backup.Write(r.Context(), steady{w, http.NewResponseController(w)}, g.ring, h, from)
		if err != nil {
			g.log.Error("backup not taken", "err", err)
			panic(http.ErrAbortHandler) // so that it does not pass for a whole one
		}
		g.log.Info("backup taken", "records", n.Records())
	})
	return func() {
		for range maxBackups {
			slots <- struct{}{}
		}
	}
}

// steady is a response whose client must go on reading.
type steady struct {
	w       io.Writer
	control *http.ResponseController
}

func (s steady) Write(b []byte) (int, error) {
	if err := s.control.SetWriteDeadline(time.Now().Add(backupIdle)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return s.w.Write(b)
}

// running reports whether a gateway runs with a data directory, as far as its
// socket tells.
func running(ctx context.Context, dataDir string) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", statusSocket(dataDir))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
