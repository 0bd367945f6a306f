package relay

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/answerback/answerback/internal/glob"
	"github.com/answerback/answerback/internal/wire"
)

// ClientRule says how clients of some name are treated beyond what they
// declare. The zero durations leave things as they are for every client.
type ClientRule struct {
	Name    string        // a pattern for what the client calls itself
	Version string        // a pattern for its version, "" for all
	Hold    time.Duration // how long a call is held while a page waits, which the client cannot show
	Timer   time.Duration // how long the client waits for a call, zero for what is known of it
	Doubt   time.Duration // a refusal that comes sooner than this is not a person's
}

// Clients are rules, of which the first that matches a client counts.
type Clients []ClientRule

func (c Clients) check() error {
	for i, rule := range c {
		for _, pattern := range []string{rule.Name, rule.Version} {
			if err := glob.Check(pattern); pattern != "" && err != nil {
				return fmt.Errorf("relay: client rule %d: %w", i, err)
			}
		}
		if rule.Name == "" || rule.Hold < 0 || rule.Timer < 0 || rule.Doubt < 0 {
			return errors.New("relay: client rule " + strconv.Itoa(i) + " has no name, or a time below zero")
		}
	}
	return nil
}

// Manner is how one client is treated. The zero Manner is that of a client of
// which nothing is said.
type Manner struct {
	Hold  time.Duration // how long its calls are held, zero for not at all
	Beat  time.Duration // how often it is told meanwhile that the call goes on
	Doubt time.Duration // how quick a refusal is that is not believed
}

// timer is how long a client is known to wait for a call.
type timer struct {
	name   string // a pattern
	limit  time.Duration
	resets bool // progress starts it anew
}

// timers are the clients whose patience is known, by what they call
// themselves. All others are taken to wait for as long as the most common
// SDKs do, 60 seconds, and not to mind progress.
var timers = [...]timer{
	{"claude-code*", 5 * time.Minute, true},
	{"claude-ai*", 4 * time.Minute, false},
	{"claude-desktop*", 4 * time.Minute, false},
	{"*cowork*", 3 * time.Minute, false},
	{"codex*", time.Minute, false},
	{"*n8n*", time.Minute, false},
}

const (
	usualTimer = time.Minute
	// maxBeat is the longest that a held client hears nothing.
	maxBeat = 10 * time.Second
)

// Of gives the manner for a client by its Implementation object.
func (c Clients) Of(info []byte) Manner {
	if len(c) == 0 {
		return Manner{}
	}
	at, err := wire.Value(info)
	if err != nil {
		return Manner{}
	}
	name, _ := wire.Unquote(wire.Get(info, at, "name").Of(info))
	version, _ := wire.Unquote(wire.Get(info, at, "version").Of(info))
	for _, rule := range c {
		if glob.Match(rule.Name, name) && (rule.Version == "" || glob.Match(rule.Version, version)) {
			return rule.manner(name)
		}
	}
	return Manner{}
}

// manner makes a rule fit for a client: nobody is held for longer than it
// waits. A tenth of that is left for the way.
func (rule ClientRule) manner(name string) Manner {
	known := timer{limit: usualTimer}
	for _, t := range timers {
		if glob.Match(t.name, name) {
			known = t
			break
		}
	}
	if rule.Timer > 0 {
		known = timer{limit: rule.Timer}
	}
	m := Manner{Hold: rule.Hold, Beat: min(maxBeat, known.limit/4), Doubt: rule.Doubt}
	if !known.resets {
		m.Hold = min(m.Hold, known.limit-known.limit/10)
	}
	return m
}
