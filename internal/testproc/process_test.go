package testproc

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary play the program that is started.
func TestMain(m *testing.M) {
	switch os.Getenv("TESTPROC_ROLE") {
	case "":
		goleak.VerifyTestMain(m)
	case "serve":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, `level=INFO msg="getting ready"`)
		fmt.Fprintln(os.Stderr, `level=INFO msg=serving url=http://127.0.0.1:1/mcp backends=2`)
		<-term
	case "fail":
		fmt.Fprintln(os.Stderr, "answerback.yaml:3: no such key")
		os.Exit(2)
	}
}

func command(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "TESTPROC_ROLE="+role)
	return cmd
}

func TestServe(t *testing.T) {
	var log strings.Builder
	s, err := Serve(t.Context(), command(t, "serve"), &log)
	if err != nil {
		t.Fatal(err)
	}
	if s.URL != "http://127.0.0.1:1/mcp" {
		t.Errorf("got the URL %q", s.URL)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
	if !strings.Contains(log.String(), "getting ready") {
		t.Errorf("got the log %q", log.String())
	}
}

func TestServeTellsWhyItEnded(t *testing.T) {
	_, err := Serve(t.Context(), command(t, "fail"), nil)
	if err == nil || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(err.Error(), "no such key") {
		t.Errorf("got %v", err)
	}
}

func TestWriteConfig(t *testing.T) {
	file, err := WriteConfig(t.TempDir(), Backends(map[string]string{"b": "http://b", "a": "http://a"}))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "backends:\n  a: { url: \"http://a\" }\n  b: { url: \"http://b\" }\nlimits: { drain: 1s }\n"
	if !strings.HasSuffix(string(text), want) || !strings.HasPrefix(string(text), "listen: 127.0.0.1:0\ndata_dir: ") {
		t.Errorf("got\n%s", text)
	}
}
