package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const module = "github.com/answerback/answerback/"

// program is a binary of this module, built at most once in a test run.
type program struct {
	once sync.Once
	dir  string // "" where there is nothing to remove
	path string
	err  error
}

var gatewayBinary, plantedBinary, peerBinary, crowdBinary program

// Binary gives the path of the gateway's binary: the one that the
// environment names (ANSWERBACK_BIN), or one built for this test run. Cleanup
// removes the latter.
func Binary(t testing.TB) string {
	t.Helper()
	return gatewayBinary.get(t, os.Getenv("ANSWERBACK_BIN"), module+"cmd/answerback")
}

// planted gives the path of a gateway in which bugs can be planted (package
// plant), built for this test run.
func planted(t testing.TB) string {
	t.Helper()
	return plantedBinary.get(t, "", "-tags", "plant", module+"cmd/answerback")
}

// StdioPeer gives the path of the binary of rig/stdiopeer, built for this
// test run.
func StdioPeer(t testing.TB) string {
	t.Helper()
	return peerBinary.get(t, "", module+"test/rig/stdiopeer")
}

// Cleanup removes what was built. Call it at the end of TestMain.
func Cleanup() {
	for _, p := range []*program{&gatewayBinary, &plantedBinary, &peerBinary, &crowdBinary} {
		if p.dir != "" {
			os.RemoveAll(p.dir)
		}
	}
}

func (p *program) get(t testing.TB, given string, args ...string) string {
	t.Helper()
	p.once.Do(func() {
		if p.path = given; given != "" {
			return
		}
		if p.dir, p.err = os.MkdirTemp("", "answerback-test-"); p.err != nil {
			return
		}
		p.path = filepath.Join(p.dir, "program")
		// With the race detector where the test has it: most of it is
		// compiled already then.
		build := []string{"build", "-o", p.path}
		if racy {
			build = append(build, "-race")
		}
		cmd := exec.Command("go", append(build, args...)...)
		cmd.Stderr = os.Stderr
		p.err = cmd.Run()
	})
	if p.err != nil {
		t.Fatalf("the binary was not built: %v", p.err)
	}
	return p.path
}
