package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nats-io/nats-server/v2/server"
)

// Lock takes the directory of an embedded store for this process, so that no
// gateway can use it, until release is called. The error says which process
// has it.
func Lock(dir string) (release func() error, err error) {
	f, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// Exists reports whether there is an embedded store in a directory.
func Exists(dir string) bool {
	_, err := os.Lstat(files(dir))
	return err == nil
}

// files is what makes a directory an embedded store.
func files(dir string) string { return filepath.Join(dir, server.JetStreamStoreDir) }

// Replace puts the store in the directory built in the place of the one in dir,
// if there is one, which is moved to the directory old. Both are to be below
// dir, which may be the place where a disk is mounted. No process but this one
// may use them: see Lock.
func Replace(dir, built, old string) error {
	if Exists(dir) {
		if err := os.Mkdir(old, 0o700); err != nil {
			return err
		}
		if err := os.Rename(files(dir), files(old)); err != nil {
			return err
		}
		if err := syncDir(old); err != nil {
			return err
		}
	}
	if err := os.Rename(files(built), files(dir)); err != nil {
		return fmt.Errorf("%w: the store is in %s; move it to %s by hand before a gateway starts", err, files(built), files(dir))
	}
	return errors.Join(syncDir(dir), os.RemoveAll(built))
}

// Copy copies the store in one directory to another, which it makes.
func Copy(ctx context.Context, from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	return filepath.WalkDir(files(from), func(path string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Mkdir(filepath.Join(to, rel), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	return errors.Join(err, out.Close())
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
