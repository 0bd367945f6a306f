package e2e

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// TestDoctorTellsOfWithdrawals: a backend that takes its questions back
// before anybody could answer is counted, and doctor says so; a backend that
// cannot be reached makes it fail (E11).
func TestDoctorTellsOfWithdrawals(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		id := c.ID()
		c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + formParams + `}`)
		c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
		c.Result("{}")
	}})
	b.LegacyOnly = true
	g := rig.Start(t, "backends:\n  impatient: { url: "+b.URL+" }\n  dead: { url: \"http://127.0.0.1:1/\" }\n")
	c := rig.Dial(t, g.URL+"/impatient", rig.AllCaps)
	s := c.Tool("ask", "{}")
	s.Next()
	s.Final()

	cmd := exec.Command(rig.Binary(t), "doctor", "--config", g.File)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("doctor ended with %v, want status 1", err)
	}
	for _, want := range []string{
		"impatient  legacy 2025-11-25", "impatient took back 1 question of 1",
		"dead       cannot be reached", "1 backend cannot be reached",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
}
