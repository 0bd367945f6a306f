//go:build worlds

package worlds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const module = "github.com/answerback/answerback/"

// binary is the gateway under test, built with the tag plant: its times can be
// scaled and bugs can be planted in it.
var binary string

func TestMain(m *testing.M) {
	if ledger := os.Getenv(ledgerVariable); ledger != "" {
		if err := serveProgram(ledger); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "worlds:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "answerback-worlds-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "answerback")
	cmd := exec.Command("go", "build", "-tags", "plant", "-o", binary, module+"cmd/answerback")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// span is how many consecutive worlds have every pair among them.
const span = 40

// fromEnv reads how many, or which, from the environment.
func fromEnv(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// TestWorlds plays one world for each seed, side by side, and demands that
// every pair of a fault and an action was among them. WORLDS says how many,
// WORLDS_FROM with which seed to begin; WORLDS_SCRIPT names a file with a script
// to play in their place.
func TestWorlds(t *testing.T) {
	if file := os.Getenv("WORLDS_SCRIPT"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		report(t, p, os.Getenv("WORLDS_BUG"))
		return
	}
	count, from := fromEnv("WORLDS", 40), fromEnv("WORLDS_FROM", 1)
	var mu sync.Mutex
	pairs := map[pair]int{}
	actions := 0
	began := time.Now()
	t.Run("seed", func(t *testing.T) {
		for seed := from; seed < from+count; seed++ {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				p := generate(uint64(seed), span)
				report(t, p, os.Getenv("WORLDS_BUG"))
				mu.Lock()
				defer mu.Unlock()
				for k, n := range p.pairs() {
					pairs[k] += n
				}
				actions += len(p.steps)
			})
		}
	})
	t.Logf("%d worlds, %d steps, %s\n%s", count, actions, time.Since(began).Round(time.Second), table(pairs))
	if count >= span {
		for _, p := range allPairs() {
			if pairs[p] == 0 {
				t.Errorf("no world has the fault %s after the action %s", p.fault, p.action)
			}
		}
	}
}

// report plays a plan and fails the test with what was broken, its story, and
// the script that replays it.
func report(t *testing.T, p *plan, bug string) {
	t.Helper()
	faults, story := play(t, p, bug)
	if len(faults) == 0 {
		if testing.Verbose() {
			t.Log("the story:\n" + story)
		}
		return
	}
	t.Errorf("%d promises were broken:\n  %s\nthe story:\n%s\nto replay, save this as FILE and run make worlds SCRIPT=FILE:\n%s",
		len(faults), strings.Join(faults, "\n  "), story, p)
}

// A script is read back as it was written, and a seed gives one plan.
func TestScriptsAreWhole(t *testing.T) {
	for seed := range uint64(200) {
		p := generate(seed, span)
		q, err := parse(p.String())
		if err != nil || q.String() != p.String() || generate(seed, span).String() != p.String() {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, p, q)
		}
		actions := 0
		for _, s := range p.steps {
			if !s.fault() {
				actions++
			}
		}
		if actions < minActions {
			t.Errorf("seed %d has %d actions", seed, actions)
		}
	}
}

// table shows how often each fault came after each action.
func table(pairs map[pair]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s", "")
	for _, a := range actionVerbs {
		fmt.Fprintf(&b, "%9s", a)
	}
	for _, f := range faultVerbs {
		fmt.Fprintf(&b, "\n%-10s", f)
		for _, a := range actionVerbs {
			fmt.Fprintf(&b, "%9d", pairs[pair{f, a}])
		}
	}
	return b.String()
}
