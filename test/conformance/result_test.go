//go:build !conformance

package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadResult(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "server-ping-2026-11-15T00-33-01-553Z",
		`[{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"SKIPPED"}]`)
	write(t, dir, "server-server-stateless-2026-11-15T00-33-01-554Z",
		`[{"id":"d","status":"SUCCESS"},{"id":"e","status":"FAILURE","errorMessage":"no"}]`)
	res, err := ReadResult(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "2 checks passed, want 2; 1 failed, want 0\n" +
		"  INFO ping: b: \n  SKIPPED ping: c: \n  FAILURE server-stateless: e: no"
	if got := res.Expect(2); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := res.Without(func(c Check) bool { return c.Scenario == "server-stateless" }).Expect(1); got != "" {
		t.Errorf("what was left aside counted: %s", got)
	}
	if got := res.Expect(3); !strings.HasPrefix(got, "2 checks passed, want 3") {
		t.Errorf("a lost check did not count: %q", got)
	}
	if !res.Passed("a") || res.Passed("b") || res.Passed("e") || res.Passed("none") {
		t.Error("a alone passed")
	}
}

func TestReadResultRefusesNothing(t *testing.T) {
	if _, err := ReadResult(t.TempDir()); err == nil {
		t.Error("an empty directory passed for a run")
	}
	dir := t.TempDir()
	write(t, dir, "server-ping-2026-11-15T00-33-01-553Z", `[{"id"`)
	if _, err := ReadResult(dir); err == nil {
		t.Error("a broken file passed for a run")
	}
}

func write(t *testing.T, dir, scenario, checks string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, scenario), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, scenario, "checks.json"), []byte(checks), 0o600); err != nil {
		t.Fatal(err)
	}
}
