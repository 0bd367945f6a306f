//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/answerback/answerback/internal/testproc"
)

// tasksPassed is how many checks of the tasks extension pass.
const tasksPassed = 41

// TestTasks runs the suite's scenarios of the tasks extension at a gateway
// that makes tasks of the calls of a server without them. What fails must be
// in tasks.txt, and what is in it must fail.
func TestTasks(t *testing.T) {
	r := newRig(t)
	f, err := os.Open("tasks.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	excuses, err := ReadExcuses(f)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("backends:\n  tasks: { url: %q, task_when_asked: true }\n", r.tasksServer(t))
	// The suite runs the scenarios of an extension one by one, or with all
	// others of a revision: that is one start of it in place of ten.
	all, text, _ := r.suite(t, "server", "--url", r.gatewayWith(t, config), "--requirements", "2026-07-28")
	res := all.Without(func(c Check) bool { return !tasks(c) })
	if i := slices.IndexFunc(excuses, func(e Excuse) bool {
		return !slices.ContainsFunc(res, func(c Check) bool { return c.Scenario == e.Scenario })
	}); i >= 0 {
		t.Errorf("%s is excused and there is no such scenario", excuses[i])
	}
	rest, err := res.Excused(excuses)
	if err != nil {
		t.Fatal(err)
	}
	if diff := rest.Expect(tasksPassed); diff != "" {
		t.Errorf("%s\nthe suite printed:\n%s", diff, text)
	}
}

// tasksServer builds and starts the server with the tools that the scenarios
// call.
func (r rig) tasksServer(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "tasks-server")
	if text, err := exec.Command("go", "build", "-o", bin, "../peers/tasks-server").CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, text)
	}
	s, err := testproc.Serve(context.Background(), exec.Command(bin), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s.URL
}
