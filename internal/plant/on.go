//go:build plant

package plant

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	killVariable = "ANSWERBACK_KILL_AT"
	bugVariable  = "ANSWERBACK_BUG"
)

// chosen is what the environment asks for, read once.
var chosen = sync.OnceValue(func() *choice {
	c := &choice{bug: Bug(os.Getenv(bugVariable))}
	point, pass, counted := strings.Cut(os.Getenv(killVariable), ":")
	c.point = point
	c.left.Store(1)
	if n, err := strconv.ParseInt(pass, 10, 64); counted && err == nil && n > 0 {
		c.left.Store(n)
	}
	return c
})

type choice struct {
	bug   Bug
	point string
	left  atomic.Int64 // passes until the process dies
}

// Kill ends the process at once, as kill -9 does, where the environment asks
// for its end at this point.
func Kill(point string) {
	c := chosen()
	if c.point != point || c.left.Add(-1) != 0 {
		return
	}
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic("plant: the process cannot kill itself: " + err.Error())
	}
	select {} // nothing further happens here until it is dead
}

// On reports whether the environment asks for this bug.
func (b Bug) On() bool { return chosen().bug == b }

// Without gives v, or nothing where the environment asks for the bug.
func Without[T any](b Bug, v T) T {
	var nothing T
	return Instead(b, nothing, v)
}

// Instead gives right, or wrong where the environment asks for the bug.
func Instead[T any](b Bug, wrong, right T) T {
	if b.On() {
		return wrong
	}
	return right
}
