package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// lowDisk is the free space below which the doctor warns.
const lowDisk = 256 << 20

// examineStore looks at the data directory, and at who uses the store.
func examineStore(ctx context.Context, cfg *config.Config, p patience) []finding {
	found := []finding{examineDir(cfg.DataDir)}
	switch {
	case cfg.Journal.InMemory:
		found = append(found, finding{name: "journal", state: "in memory", details: "nothing is kept across a restart (journal.in_memory)"})
	case cfg.Journal.URL != "":
		for _, address := range strings.Split(cfg.Journal.URL, ",") {
			found = append(found, examineServer(ctx, strings.TrimSpace(address), p))
		}
	default:
		found = append(found, examineJournal(ctx, cfg))
	}
	return found
}

func examineDir(dir string) finding {
	f := finding{name: "data_dir", state: "ok", details: dir}
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return finding{name: "data_dir", state: "cannot be used", details: at + " is not a directory; choose another with data_dir", wrong: true}
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			return finding{name: "data_dir", state: "cannot be used", details: err.Error() + "; choose another with data_dir", wrong: true}
		}
		at = filepath.Dir(at)
	}
	if at != dir {
		f.details += ", which is made at the first start"
	}
	if err := writable(at); err != nil {
		f.state, f.wrong = "cannot be written", true
		f.details = at + ": " + err.Error() + "; make it writable, or choose another with data_dir"
		return f
	}
	if free, ok := freeSpace(at); ok {
		f.details += ", " + amount(free) + " free"
		if free < lowDisk {
			f.state, f.wrong = "nearly full", true
		}
	}
	return f
}

// writable tries whether a file can be made in a directory.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".answerback-doctor-")
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			return path.Err
		}
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func amount(bytes uint64) string {
	switch {
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

// examineJournal says who uses the store in the data directory.
func examineJournal(ctx context.Context, cfg *config.Config) finding {
	f := finding{name: "journal", state: "ok", details: "no gateway runs with it"}
	raw, err := os.ReadFile(filepath.Join(cfg.DataDir, "journal", "lock"))
	holder := terminal.Line(strings.TrimSpace(string(raw)), 20)
	switch _, status := askStatus(ctx, cfg.DataDir, http.MethodGet, "/status"); {
	case err != nil:
		f.details = "there is none yet"
	case status == nil:
		f.details = "in use by the gateway that runs as process " + holder
	case !errors.Is(status, errNotRunning):
		f.state, f.wrong = "does not answer", true
		f.details = "process " + holder + " uses it and does not answer: " + terminal.Line(status.Error(), 200)
	}
	return f
}

// examineServer looks whether a NATS server answers, as far as one can hear
// without signing in.
func examineServer(ctx context.Context, address string, p patience) finding {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		u = &url.URL{Host: address}
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "4222")
	}
	f := finding{name: "journal", state: "ok", details: "NATS server at " + host}
	ctx, cancel := context.WithTimeout(ctx, p.network)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return finding{name: "journal", state: "cannot be reached", details: because(err), wrong: true}
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	line, err := bufio.NewReaderSize(conn, 64<<10).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "INFO ") {
		return finding{name: "journal", state: "cannot be used", details: host + " answers, and is no NATS server", wrong: true}
	}
	return f
}
