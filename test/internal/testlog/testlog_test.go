package testlog

import (
	"io"
	"strings"
	"testing"
)

func read(t *testing.T, lines ...string) *Log {
	t.Helper()
	var l Log
	if err := l.Read(strings.NewReader(strings.Join(lines, "\n")), io.Discard); err != nil {
		t.Fatal(err)
	}
	return &l
}

func TestCountsEveryRun(t *testing.T) {
	l := read(t,
		`{"Action":"start","Package":"p"}`,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"pass","Package":"p","Test":"TestA/x"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"skip","Package":"p","Test":"TestB"}`,
		`{"Action":"fail","Package":"p","Test":"TestC"}`,
		`{"Action":"fail","Package":"p"}`,
	)
	if l.Passed != 2 || l.Skipped != 1 || l.Failed != 1 {
		t.Errorf("got %d passed, %d skipped, %d failed", l.Passed, l.Skipped, l.Failed)
	}
}

func TestWorstRunCounts(t *testing.T) {
	l := read(t,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
	)
	if got := l.Results[ID{"p", "TestA"}]; got != Failed {
		t.Errorf("got %d, want Failed", got)
	}
}

func TestFailureKeepsItsOutputOnly(t *testing.T) {
	l := read(t,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"broken\n"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"fine\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestB"}`,
		`{"Action":"fail","Package":"p","Test":"TestA"}`,
	)
	if len(l.Failures) != 1 || l.Failures[0].Output != "broken\n" {
		t.Errorf("got %+v", l.Failures)
	}
}

func TestPackageThatCannotBeBuiltIsAFailure(t *testing.T) {
	l := read(t,
		`{"ImportPath":"p [p.test]","Action":"build-output","Output":"undefined: x\n"}`,
		`{"ImportPath":"p [p.test]","Action":"build-fail"}`,
		`{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
	)
	if l.Failed != 1 || !strings.Contains(l.Failures[0].Output, "undefined: x") {
		t.Errorf("got %d failed, %+v", l.Failed, l.Failures)
	}
}

func TestTestThatNeverEndsIsAFailure(t *testing.T) {
	for name, last := range map[string]string{
		"its package fails": `{"Action":"fail","Package":"p"}`,
		"the run is killed": ``,
	} {
		t.Run(name, func(t *testing.T) {
			l := read(t,
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"fatal error: all goroutines are asleep\n"}`,
				last,
			)
			if l.Failed != 1 || l.Failures[0].ID.String() != "p.TestA" || !strings.Contains(l.Failures[0].Output, "asleep") {
				t.Errorf("got %d failed, %+v", l.Failed, l.Failures)
			}
		})
	}
}

func TestPackageThatFailsWithoutATestIsAFailure(t *testing.T) {
	l := read(t,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Output":"goleak: found unexpected goroutines\n"}`,
		`{"Action":"fail","Package":"p"}`,
	)
	if l.Failed != 1 || l.Failures[0].ID.String() != "p" || !strings.Contains(l.Failures[0].Output, "goleak") {
		t.Errorf("got %d failed, %+v", l.Failed, l.Failures)
	}
}

func TestStrayLinesAreHandedOn(t *testing.T) {
	var l Log
	var stray strings.Builder
	in := "hello\n{not json\n" + `{"Action":"pass","Package":"p","Test":"TestA"}`
	if err := l.Read(strings.NewReader(in), &stray); err != nil {
		t.Fatal(err)
	}
	if stray.String() != "hello\n{not json\n" || l.Passed != 1 {
		t.Errorf("got stray %q and %d passed", stray.String(), l.Passed)
	}
}
