//go:build matrix

package matrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// door is how a client comes to a server.
type door int

const (
	usual    door = iota
	hasty         // through a gateway that gives people a second
	alone         // as usual, but at the same time as everything else, because it takes a minute
	pipe          // through a gateway that the client starts, on standard input and output
	straight      // without a gateway
)

// door gives the way on which something happens between a client and a
// server.
func (h happening) door(p pair) door {
	switch {
	case h.name == "timeout":
		return hasty
	case h.name == "server withdraws" && !p.server.ours:
		return alone
	case h.name == "client cancels" && p.client.CancelsOnPipes:
		return pipe
	}
	return usual
}

// house is the gateways that all pairs share.
type house struct {
	usual, hasty *rig.Gateway
}

func open(t testing.TB, ss []server) *house {
	t.Helper()
	config := "backends:\n"
	for _, s := range ss {
		config += s.backend
	}
	config = "a2a: { enabled: true }\n" + config
	return &house{
		usual: rig.Start(t, peer.Plenty+config),
		hasty: rig.Start(t, "asks: { rate_per_minute: 100000, burst: 10000, timeout: 1s }\n"+config),
	}
}

// target gives where a client goes.
func (h *house) target(t testing.TB, p pair, d door) peer.Target {
	t.Helper()
	gateway := h.usual
	switch d {
	case straight:
		return p.server.direct
	case pipe:
		return peer.Target{Command: peer.StdioGateway(t, p.server.backend)}
	case hasty:
		gateway = h.hasty
	}
	url := gateway.URL
	if p.client.Agents {
		url = strings.TrimSuffix(url, "/mcp") + "/a2a"
	}
	return peer.Target{URL: url + "/" + p.server.path}
}

// errand is what happens between a client and a server at one door.
type errand struct {
	pair       pair
	door       door
	happenings []happening
	keys       []string
	steps      [][]step
}

// errands sorts what happens between a client and servers by server and door.
// The id sets the keys apart from those of other errands.
func errands(c peer.Client, ss []server, runs, id string, at func(happening, pair) (door, bool)) []*errand {
	var list []*errand
	for i, s := range ss {
		p := pair{c, s, runs}
		here := make(map[door]*errand)
		for j, h := range happenings {
			d, ok := at(h, p)
			if !ok {
				continue
			}
			e := here[d]
			if e == nil {
				e = &errand{pair: p, door: d}
				here[d] = e
				list = append(list, e)
			}
			key := fmt.Sprintf("%s-%d-%d", id, i, j)
			e.happenings, e.keys, e.steps = append(e.happenings, h), append(e.keys, key), append(e.steps, h.steps(p, key))
		}
	}
	return list
}

func (e *errand) jobs() []peer.Job {
	var jobs []peer.Job
	for _, steps := range e.steps {
		for _, s := range steps {
			jobs = append(jobs, s.Job)
		}
	}
	return jobs
}
