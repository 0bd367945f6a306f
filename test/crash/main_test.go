//go:build crash

// Package crash shows what survives: it kills the gateway, cuts its power,
// fills its disk and plants bugs in it, and holds what was promised against
// what is left.
//
// It is run by make crash. It is not for what a gateway does while nothing
// breaks: that is in test/e2e.
package crash

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const module = "github.com/answerback/answerback/"

// binaries are the builds under test: as it is shipped, and with the build tag
// plant.
var binaries struct{ plain, planted string }

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	// A process that plays a test against a planted bug has its binaries.
	if given := os.Getenv(givenBinaries); given != "" {
		binaries.plain, binaries.planted = filepath.Join(given, "plain"), filepath.Join(given, "planted")
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "answerback-crash-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	for name, args := range map[string][]string{"plain": {"-trimpath"}, "planted": {"-tags", "plant"}} {
		if err := build(filepath.Join(dir, name), args...); err != nil {
			return 1, err
		}
	}
	binaries.plain, binaries.planted = filepath.Join(dir, "plain"), filepath.Join(dir, "planted")
	return m.Run(), nil
}

// givenBinaries is where a test process finds the binaries, if it is not to
// build them.
const givenBinaries = "ANSWERBACK_CRASH_BINARIES"

func build(to string, args ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-o", to}, args...), module+"cmd/answerback")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// What is planted for tests must not be there in what is shipped.
func TestTheShippedBinaryHasNothingPlanted(t *testing.T) {
	traces := []string{"ANSWERBACK_KILL_AT", "ANSWERBACK_BUG", "ack_before_persist", "desk.create.before", "internal/plant"}
	plain, err := os.ReadFile(binaries.plain)
	if err != nil {
		t.Fatal(err)
	}
	planted, err := os.ReadFile(binaries.planted)
	if err != nil {
		t.Fatal(err)
	}
	for _, trace := range traces {
		if bytes.Contains(plain, []byte(trace)) {
			t.Errorf("the shipped binary has %q in it", trace)
		}
		if !bytes.Contains(planted, []byte(trace)) {
			t.Errorf("the planted binary lacks %q: this test looks for the wrong thing", trace)
		}
	}
}
