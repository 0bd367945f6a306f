package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/backup"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
)

// restoration is one restore.
type restoration struct {
	cfg     *config.Config
	ring    *seal.Ring
	file    string
	replace bool
	moved   bool
	header  backup.Header
	aside   []string // what was moved
}

func newRestoreCmd() *cobra.Command {
	x := &restoration{}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup while no gateway runs",
		Long: "Restore a backup into an empty store. Stop the gateway first, and put its key ring, the file keys, into\n" +
			"data_dir. The whole file is checked before anything is written.\n" +
			"A restore is a step back: connected accounts are suspended until they are confirmed (answerback grants\n" +
			"confirm) or connected again; answers and results that may have been delivered after the backup are not\n" +
			"delivered again; questions that were open are open again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if x.cfg, _, err = loadConfig(cmd); err != nil {
				return err
			}
			x.file = args[0]
			back, n, err := x.run(cmd.Context())
			if err != nil {
				return fmt.Errorf("nothing was restored: %w", err)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "restored the backup of %s: %s (%s)\n", x.header.At.Format(time.RFC3339), count(n.Records(), "record"), contents(n))
			for _, path := range x.aside {
				fmt.Fprintln(out, "moved aside:", path)
			}
			for _, note := range back.notes() {
				fmt.Fprintln(out, note)
			}
			if back.accounts > 0 {
				fmt.Fprintf(out, "%s suspended: start the gateway, then say answerback grants list and answerback grants confirm\n", are(back.accounts, "account"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&x.replace, "replace", false, "move a store that is there aside; nothing of it is deleted")
	cmd.Flags().BoolVar(&x.moved, "moved", false, "nothing has happened since the backup, which was taken while no gateway ran: suspend and hold back nothing")
	return cmd
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return count(n, what) + " are"
}

// run restores the backup.
func (x *restoration) run(ctx context.Context) (*stepBack, backup.Count, error) {
	var n backup.Count
	switch {
	case x.cfg.Journal.InMemory:
		return nil, n, errors.New("this gateway keeps nothing (journal.in_memory)")
	case running(ctx, x.cfg.DataDir):
		return nil, n, errors.New("a gateway runs with this data_dir: stop it first")
	}
	var err error
	if x.ring, err = seal.OpenExisting(x.cfg.DataDir); err != nil {
		return nil, n, err
	}
	f, err := os.Open(x.file)
	if err != nil {
		return nil, n, err
	}
	defer f.Close()
	if x.header, n, err = backup.Verify(f, x.ring); err != nil {
		return nil, n, fmt.Errorf("%s: %w", x.file, err)
	}
	if x.moved && !x.header.Stopped {
		return nil, n, errors.New("--moved is for a backup that was taken while no gateway ran: this one was taken from a running gateway, which went on after it")
	}
	back := newStepBack(x.ring)
	back.moved = x.moved
	if x.cfg.Journal.URL != "" {
		err = x.external(ctx, f, back)
	} else {
		err = x.embedded(ctx, f, back)
	}
	return back, n, err
}

// records reads the backup once more, changed for the step back.
func (x *restoration) records(f io.ReadSeeker, back *stepBack) (iter.Seq2[journal.Saved, error], error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := backup.NewReader(f, x.ring)
	if err != nil {
		return nil, err
	}
	return back.records(r.Records()), nil
}

// external loads the backup into a store at a NATS server, which must be empty.
func (x *restoration) external(ctx context.Context, f io.ReadSeeker, back *stepBack) (err error) {
	if err := x.adopt(false); err != nil {
		return err
	}
	all, err := x.records(f, back)
	if err != nil {
		return err
	}
	store, err := natsjournal.Open(ctx, storeConfig(x.cfg, quiet(x.cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	empty, err := store.Empty(ctx)
	if err == nil && !empty {
		err = errors.New("the store at journal.url is not empty, and streams of a NATS server cannot be moved aside: remove the streams whose names begin with answerback- with the tools of NATS, or use another account")
	}
	if err != nil {
		return err
	}
	if err := store.Load(ctx, x.header.Now, all); err != nil {
		return fmt.Errorf("%w (the store at journal.url has a part of the backup now: remove the streams whose names begin with answerback- before the next attempt)", err)
	}
	return nil
}

// embedded builds a store from the backup in the directory of the store, and
// then puts it into the place of the one that is there.
func (x *restoration) embedded(ctx context.Context, f io.ReadSeeker, back *stepBack) error {
	all, err := x.records(f, back)
	if err != nil {
		return err
	}
	dir := storeDir(x.cfg)
	release, err := x.vacate(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	built, err := buildStore(ctx, x.cfg, x.header.Now, all)
	if err != nil {
		return err
	}
	if err := x.adopt(x.replace); err != nil {
		return errors.Join(err, os.RemoveAll(built))
	}
	old := timed(dir, "replaced")
	if natsjournal.Exists(dir) {
		x.aside = append(x.aside, old)
	}
	return natsjournal.Replace(dir, built, old)
}

// vacate takes the directory of the store, which must be empty or may be
// replaced, for this process.
func (x *restoration) vacate(ctx context.Context, dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if !x.replace && natsjournal.Exists(dir) {
		c := storeConfig(x.cfg, quiet(x.cfg))
		store, err := natsjournal.Open(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("the store that is there cannot be opened (with --replace it is moved aside): %w", err)
		}
		empty, err := store.Empty(ctx)
		if err = errors.Join(err, store.Close(context.WithoutCancel(ctx))); err != nil {
			return nil, err
		}
		if !empty {
			return nil, fmt.Errorf("there is a store in %s: with --replace it is moved aside", dir)
		}
	}
	return lockStore(dir)
}

// lockStore takes the directory of the store for this process, and removes what
// a restore or repair that was killed has left there.
func lockStore(dir string) (release func(), err error) {
	unlock, err := natsjournal.Lock(dir)
	if err != nil {
		return nil, err
	}
	for _, word := range []string{wordBuilding, wordCopy} {
		left, err := filepath.Glob(filepath.Join(dir, word+"-*"))
		for _, path := range left {
			err = errors.Join(err, os.RemoveAll(path))
		}
		if err != nil {
			return nil, errors.Join(err, unlock())
		}
	}
	return func() { _ = unlock() }, nil
}

// The directories below that of the store in which something is made that is
// of no use when it is not finished.
const (
	wordBuilding = "building"
	wordCopy     = "copy"
)

// adopt gives this gateway the home of the backup, so that the questions in it
// are its own.
func (x *restoration) adopt(replace bool) error {
	is, err := seal.AdoptHome(x.cfg.DataDir, x.header.Home)
	if err != nil || is.String() == x.header.Home {
		return err
	}
	path := seal.HomeFile(x.cfg.DataDir)
	if !replace {
		return fmt.Errorf("the backup is of the gateway with home %s, and %s says %s: questions of another gateway could not be answered here; use its data_dir, or move the file away if this gateway is to take its place", x.header.Home, path, is)
	}
	old := timed(x.cfg.DataDir, "home.replaced")
	if err := os.Rename(path, old); err != nil {
		return err
	}
	x.aside = append(x.aside, old)
	_, err = seal.AdoptHome(x.cfg.DataDir, x.header.Home)
	return err
}

// timed names a file or a directory that is not there yet, with the time.
func timed(dir, word string) string {
	first := filepath.Join(dir, word+"-"+time.Now().UTC().Format("20060102T150405"))
	name := first
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", first, n)
	}
}

// buildStore makes a store below the directory of the embedded one, and gives
// where. After an error nothing is left of it.
func buildStore(ctx context.Context, cfg *config.Config, now int64, all iter.Seq2[journal.Saved, error]) (dir string, err error) {
	c := storeConfig(cfg, quiet(cfg))
	c.Dir = timed(storeDir(cfg), wordBuilding)
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(c.Dir))
		}
	}()
	store, err := natsjournal.Open(ctx, c)
	if err != nil {
		return "", err
	}
	err = store.Load(ctx, now, all)
	return c.Dir, errors.Join(err, store.Close(context.WithoutCancel(ctx)))
}
