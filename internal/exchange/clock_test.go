package exchange

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestClockStandsStillWhileStopped(t *testing.T) {
	c := Clock{Left: 10 * time.Second}
	if _, runs := c.Deadline(); runs {
		t.Error("a clock runs before it was started")
	}
	c = c.Start(start)
	if at, runs := c.Deadline(); !runs || !at.Equal(start.Add(10*time.Second)) {
		t.Errorf("deadline %v, %t", at, runs)
	}
	c = c.Stop(start.Add(4 * time.Second))
	if got := c.Remaining(start.Add(time.Hour)); got != 6*time.Second {
		t.Errorf("an hour of standing still left %s of 6s", got)
	}
	c = c.Start(start.Add(time.Hour))
	if at, _ := c.Deadline(); !at.Equal(start.Add(time.Hour + 6*time.Second)) {
		t.Errorf("deadline %v after the pause", at)
	}
	if got := c.Remaining(start.Add(2 * time.Hour)); got != 0 {
		t.Errorf("an overrun clock has %s left", got)
	}
}

func TestClockStartAndStopRepeatedChangeNothing(t *testing.T) {
	c := Clock{Left: 10 * time.Second}.Start(start)
	if again := c.Start(start.Add(5 * time.Second)); again != c {
		t.Errorf("a second start changed %v to %v", c, again)
	}
	c = c.Stop(start.Add(time.Second))
	if again := c.Stop(start.Add(5 * time.Second)); again != c {
		t.Errorf("a second stop changed %v to %v", c, again)
	}
}

func TestClockGivesNoTimeBackWhenTheWallClockJumps(t *testing.T) {
	c := Clock{Left: 10 * time.Second}.Start(start)
	if got := c.Remaining(start.Add(-time.Hour)); got != 10*time.Second {
		t.Errorf("a jump back left %s of 10s", got)
	}
	if got := c.Stop(start.Add(-time.Hour)).Left; got != 10*time.Second {
		t.Errorf("stopping after a jump back left %s of 10s", got)
	}
}

// TestClockSumsOnlyRunningTime holds the arithmetic against a plain sum.
func TestClockSumsOnlyRunningTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		total := time.Duration(rapid.IntRange(0, 1000).Draw(rt, "total"))
		c, now, running, worked := Clock{Left: total}, start, false, time.Duration(0)
		for _, step := range rapid.SliceOf(rapid.IntRange(0, 50)).Draw(rt, "steps") {
			now = now.Add(time.Duration(step))
			if running {
				worked += time.Duration(step)
			}
			if got, want := c.Remaining(now), max(0, total-worked); got != want {
				rt.Fatalf("remaining %d, want %d", got, want)
			}
			if at, runs := c.Deadline(); runs != running || runs && now.Before(at) != (worked < total) {
				rt.Fatalf("deadline %v, %t after %d of %d", at, runs, worked, total)
			}
			if running = step%2 == 0; running {
				c = c.Start(now)
			} else {
				c = c.Stop(now)
			}
		}
	})
}
