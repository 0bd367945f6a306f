package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/answerback/answerback/internal/config"
)

// storeProblem says which key to change where the store in the data directory
// cannot be opened.
func storeProblem(cfg *config.Config, err error) error {
	path, onDisk := errors.AsType[*fs.PathError](err)
	switch {
	case err == nil || cfg.Journal.URL != "":
		return err
	case errors.Is(err, syscall.EAGAIN):
		// The cause says that the lock is taken, which the message does.
		return errors.New(strings.TrimSuffix(err.Error(), ": "+syscall.EAGAIN.Error()) + " (data_dir)")
	case onDisk:
		return fmt.Errorf("data_dir: %s cannot be used: %s: %w; make it writable, or choose another directory with data_dir", cfg.DataDir, path.Path, path.Err)
	}
	return err
}
