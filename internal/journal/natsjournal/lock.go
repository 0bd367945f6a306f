package natsjournal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const lockFile = "lock"

// lockDir takes a directory for this process. The lock ends when the file is
// closed, also by the death of the process; the file stays, with the id of
// the process that had it last.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unavailable("locking the directory of the store", err)
	}
	if err := tryLock(f); err != nil {
		who, _ := io.ReadAll(io.LimitReader(f, 20))
		f.Close()
		return nil, unavailable(fmt.Sprintf("another process (%s) uses the store in %s: stop it, or give this one a directory of its own",
			strings.TrimSpace(string(who)), dir), err)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}
