package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/answerback/answerback/internal/flight"
)

// drain lets calls in flight end, still taking answers for them, and then
// ends the rest. Calls whose questions are kept are not waited for: they go on
// after the next start.
func drain(server *http.Server, failed <-chan error, g *gateway, limit time.Duration, log *slog.Logger) error {
	g.health.Draining()
	calls, waiting := g.inFlight()
	log.Info("stopping", "drain", limit, "calls", len(calls), "questions", g.questions())
	if len(calls) > 0 {
		log.Info("waiting for calls to end; a second signal ends them at once", "calls", named(calls), "at_most", limit)
	}
	if waiting > 0 {
		log.Info("calls wait for questions that are kept, and go on after the next start", "calls", waiting)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := g.drain(ctx); err != nil {
		calls, _ := g.inFlight()
		log.Warn("calls were still in flight when the time to drain was over", "calls", named(calls))
	}
	if g.desk != nil {
		g.desk.Suspend()
	}
	last, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	g.closeSurfaces(last)
	// What was being answered gets its answer; idle connections are closed.
	err := server.Shutdown(last)
	if err != nil {
		err = server.Close()
	}
	if end := <-failed; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	log.Info("stopped")
	return err
}

// inFlight gives the calls that a drain waits for, and counts those that it
// does not, because their questions are kept.
func (g *gateway) inFlight() (calls []flight.Call, waiting int) {
	all := slices.Concat(g.surface.InFlight(), g.events.InFlight())
	calls = slices.DeleteFunc(all, func(c flight.Call) bool { return c.Waits })
	return calls, len(all) - len(calls)
}

func (g *gateway) questions() int {
	if g.desk == nil {
		return 0
	}
	return g.desk.Open()
}

// keeps reports whether an open question goes on after the next start.
func (g *gateway) keeps(id string) bool { return g.desk != nil && g.desk.Keeps(id) }

// maxNamed is how many calls the log names.
const maxNamed = 10

// named gives the names of calls, each once with how often it is in flight.
func named(calls []flight.Call) []string {
	counts := map[string]int{}
	for _, c := range calls {
		counts[c.String()]++
	}
	var names []string
	for name, n := range counts {
		if n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if rest := len(names) - maxNamed; rest > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", rest))
	}
	return names
}
