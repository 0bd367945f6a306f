// Package cover_test checks that the core is tested whole.
package cover_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What decides about asks is small enough to be tested whole: requirement A14.
func TestCoreIsCovered(t *testing.T) {
	for _, name := range []string{"exchange", "desk"} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "go", "test", "-cover", "github.com/answerback/answerback/internal/"+name).CombinedOutput()
			switch {
			case err != nil:
				t.Fatalf("go test: %v\n%s", err, out)
			case !strings.Contains(string(out), "coverage: 100.0% of statements"):
				t.Errorf("some statement is reached by no test of its own package; go test -coverprofile shows it:\n%s", out)
			}
		})
	}
}
