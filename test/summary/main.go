// Command summary keeps test output short. It runs a command that prints
// `go test -json` events, keeps the events in a file, prints failures in full
// and nothing else, and ends with one line of counts:
//
//	summary -name test -out .out/test.json -- go test -json ./...
//	summary -total .out/*.json
//
// The second form adds up kept files and prints `N passed, N failed`.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/answerback/answerback/test/internal/testlog"
)

func main() {
	name := flag.String("name", "test", "what the counts are of")
	out := flag.String("out", "", "file to keep the events in")
	total := flag.Bool("total", false, "add up the files given as arguments")
	flag.Parse()
	run := func() (int, error) { return summarise(os.Stdout, *name, *out, flag.Args()) }
	if *total {
		run = func() (int, error) { return addUp(os.Stdout, flag.Args()) }
	}
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// summarise runs the command and returns its exit code, or 1 where it ended
// well although a test failed or none ran.
func summarise(w io.Writer, name, out string, args []string) (int, error) {
	if out == "" || len(args) == 0 {
		return 2, errors.New("need -out FILE and a command after --")
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return 2, err
	}
	f, err := os.Create(out)
	if err != nil {
		return 2, err
	}
	defer f.Close()

	began := time.Now()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 2, err
	}
	if err := cmd.Start(); err != nil {
		return 2, err
	}
	var log testlog.Log
	readErr := log.Read(io.TeeReader(pipe, f), w)
	waitErr := cmd.Wait()
	if err := errors.Join(readErr, f.Close()); err != nil {
		return 2, err
	}

	for _, fail := range log.Failures {
		fmt.Fprintf(w, "\nFAIL %s\n%s", fail.ID, fail.Output)
	}
	code := cmd.ProcessState.ExitCode()
	switch {
	case waitErr != nil && code <= 0: // killed by a signal
		code = 1
	case code == 0 && log.Failed > 0:
		code = 1
	case code == 0 && log.Passed == 0:
		fmt.Fprintf(w, "%s: no test ran\n", name)
		code = 1
	case code != 0 && log.Failed == 0:
		fmt.Fprintf(w, "%s: the command ended with %v\n", name, waitErr)
	}
	fmt.Fprintf(w, "%s: %d passed, %d failed, %d skipped in %s\n",
		name, log.Passed, log.Failed, log.Skipped, time.Since(began).Round(time.Second))
	return code, nil
}

func addUp(w io.Writer, files []string) (int, error) {
	var log testlog.Log
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return 2, err
		}
		err = log.Read(f, io.Discard)
		f.Close()
		if err != nil {
			return 2, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", log.Passed, log.Failed)
	return 0, nil
}
