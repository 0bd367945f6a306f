package rig

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Measured is a gateway whose memory can be looked at (package plant). Beside
// that it is as every other one.
type Measured struct {
	*Gateway
	Dir string // where its profiles are: "1.heap", "1.goroutine" and so on
	n   int
}

// StartMeasured is Start for such a gateway, with more variables in its
// environment.
func StartMeasured(t testing.TB, yaml string, env ...string) *Measured {
	t.Helper()
	m := &Measured{Dir: t.TempDir()}
	if keep := os.Getenv("ANSWERBACK_PROFILES"); keep != "" {
		m.Dir = keep
	}
	m.Gateway = write(t, yaml, func(t testing.TB, file string) *Gateway {
		cmd := exec.Command(planted(t), "serve", "--config", file)
		cmd.Env = append(append(os.Environ(), "ANSWERBACK_MEASURE="+m.Dir), env...)
		return start(t, cmd, file)
	})
	return m
}

// Memory is what a process uses once its garbage is collected, in bytes.
type Memory struct {
	Resident int // what the system has given it
	Before   int // the same before the collection
	Heap     int // objects in use
	Stacks   int

	Goroutines int
	Files      int
}

// Memory has the gateway collect its garbage, and gives what is left. It also
// leaves the profiles in Dir.
func (m *Measured) Memory(t testing.TB) Memory {
	t.Helper()
	at := Memory{Before: m.resident(t)}
	m.n++
	file := filepath.Join(m.Dir, strconv.Itoa(m.n)+".json")
	m.Signal(t, syscall.SIGUSR1)
	// With tens of thousands of goroutines that takes its time.
	within(t, crowdPatience, func() bool { _, err := os.Stat(file); return err == nil }, "the gateway does not write its memory down")
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		t.Fatal(err)
	}
	at.Resident = m.resident(t)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", m.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	at.Files = len(files)
	return at
}

// resident is the gateway's VmRSS.
func (m *Measured) resident(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kb int
	if _, err := fmt.Sscan(after, &kb); err != nil {
		t.Fatalf("no VmRSS in the status of the gateway: %v", err)
	}
	return kb << 10
}
