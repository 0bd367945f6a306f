package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// emit is a command that prints lines and ends with the given exit code.
func emit(code string, lines ...string) []string {
	script := `for l in "$@"; do printf '%s\n' "$l"; done; exit ` + code
	return append([]string{"sh", "-c", script, "emit"}, lines...)
}

const (
	pass = `{"Action":"pass","Package":"p","Test":"TestA"}`
	fail = `{"Action":"fail","Package":"p","Test":"TestB"}`
	said = `{"Action":"output","Package":"p","Test":"TestB","Output":"b_test.go:1: broken\n"}`
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"all pass", emit("0", pass), 0, []string{"unit: 1 passed, 0 failed, 0 skipped in 0s"}},
		{"a failure is printed in full", emit("1", pass, said, fail), 1, []string{"FAIL p.TestB\nb_test.go:1: broken\n", "unit: 1 passed, 1 failed"}},
		{"a failure fails though the command did not", emit("0", fail), 1, []string{"1 failed"}},
		{"no test at all fails", emit("0"), 1, []string{"no test ran", "0 passed"}},
		{"the command's own exit code is kept", emit("3", pass), 3, []string{"exit status 3", "1 passed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "deep", "log.json")
			var w strings.Builder
			code, err := summarise(&w, "unit", out, c.args)
			if err != nil || code != c.code {
				t.Errorf("got code %d and error %v, want code %d", code, err, c.code)
			}
			for _, want := range c.want {
				if !strings.Contains(w.String(), want) {
					t.Errorf("output lacks %q:\n%s", want, w.String())
				}
			}
			if _, err := os.Stat(out); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSummaryLineIsLast(t *testing.T) {
	var w strings.Builder
	if _, err := summarise(&w, "unit", filepath.Join(t.TempDir(), "log"), emit("1", said, fail, "stray")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "unit: 0 passed, 1 failed") {
		t.Errorf("last line is %q", last)
	}
}

func TestAddUp(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for name, text := range map[string]string{"a": pass + "\n" + fail, "b": pass} {
		f := filepath.Join(dir, name)
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var w strings.Builder
	if code, err := addUp(&w, files); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if w.String() != "2 passed, 1 failed\n" {
		t.Errorf("got %q", w.String())
	}
}
