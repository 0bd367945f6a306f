//go:build matrix

package matrix

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	rig.Cleanup()
	os.Exit(code)
}

// outcomes are the verdicts of one client at one server, by happening; nil for
// what went well.
type outcomes map[string]error

// book holds the outcomes of all pairs.
type book struct {
	mu  sync.Mutex
	all map[[2]string]outcomes
}

// TestMatrix has everything happen between every client and every server, and
// writes the table to the page that ANSWERBACK_TABLE names, and as text to the
// file that ANSWERBACK_TEXT names.
func TestMatrix(t *testing.T) {
	w := peer.NewWorld(t)
	cs, ss := clients(w), servers(t, w)
	gateways := open(t, ss)
	through := &book{all: make(map[[2]string]outcomes)}
	direct := &book{all: make(map[[2]string]outcomes)}
	tried := needed(cs, ss)
	t.Run("peers", func(t *testing.T) {
		for i, c := range cs {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				through.run(t, gateways, errands(c, ss, w.Runs, fmt.Sprint("g", i), func(h happening, p pair) (door, bool) {
					return h.door(p), h.door(p) != alone
				}))
			})
		}
		for i, c := range slices.Concat(cs, controls(w)) {
			own := errands(c, ss, w.Runs, fmt.Sprint("d", i), func(h happening, p pair) (door, bool) {
				return straight, tried[[3]string{c.Name, p.server.name, h.name}]
			})
			if len(own) == 0 {
				continue
			}
			t.Run(c.Name+" without a gateway", func(t *testing.T) {
				t.Parallel()
				direct.run(t, gateways, own)
			})
		}
		t.Run("what takes a minute", func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			for i, c := range cs {
				all.Go(func() {
					through.run(t, gateways, errands(c, ss, w.Runs, fmt.Sprint("a", i), func(h happening, p pair) (door, bool) {
						return alone, h.door(p) == alone
					}))
				})
			}
			all.Wait()
		})
	})
	tab := judge(t, cs, ss, through, direct)
	t.Log("\n" + tab.plain())
	if file := os.Getenv("ANSWERBACK_TEXT"); file != "" {
		rig.Write(t, file, tab.plain())
	}
	if file := os.Getenv("ANSWERBACK_TABLE"); file != "" {
		write(t, file, tab)
	}
}

// needed gives what has to be tried without a gateway, by client, server and
// happening.
func needed(cs []peer.Client, ss []server) map[[3]string]bool {
	all := make(map[[3]string]bool)
	for _, c := range cs {
		for _, s := range ss {
			for _, h := range happenings {
				if x, ok := excused(c.Name, s.name, h.name); ok {
					pair := x.controlled(c.Name, s)
					all[[3]string{pair[0], pair[1], h.name}] = true
				}
			}
		}
	}
	return all
}

// run sends a client on errands, one after the other, and records what came of
// them.
func (b *book) run(t *testing.T, gateways *house, list []*errand) {
	c := list[0].pair.client
	var targets []peer.Target
	for _, e := range list {
		to := gateways.target(t, e.pair, e.door)
		to.Jobs = e.jobs()
		targets = append(targets, to)
	}
	reports := c.Tour(t, targets)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, e := range list {
		at := [2]string{c.Name, e.pair.server.name}
		if b.all[at] == nil {
			b.all[at] = make(outcomes)
		}
		maps.Copy(b.all[at], e.judge(reports[i]))
	}
}

// errAbsent: what was not tried is no control.
var errAbsent = errors.New("the client did not connect")

// judge says what is wrong with what a client reports of an errand.
func (e *errand) judge(rep peer.Report) outcomes {
	out := make(outcomes)
	entries := rep.Results
	for i, h := range e.happenings {
		switch {
		case rep.Error != nil:
			out[h.name] = fmt.Errorf("%w: %+v", errAbsent, *rep.Error)
		case rep.Era != e.pair.client.Era:
			out[h.name] = fmt.Errorf("the client is of the %s era there", rep.Era)
		default:
			n := min(len(e.steps[i]), len(entries))
			out[h.name] = verdict(e.pair, h, e.keys[i], e.steps[i], entries[:n])
			entries = entries[n:]
		}
	}
	return out
}

// judge makes a subtest of each happening in each cell.
func judge(t *testing.T, cs []peer.Client, ss []server, through, direct *book) *table {
	tab := newTable(names(cs, func(c peer.Client) string { return c.Name }), names(ss, func(s server) string { return s.name }),
		names(happenings, func(h happening) string { return h.name }))
	for _, c := range cs {
		for _, s := range ss {
			cell := tab.at(c.Name, s.name)
			for _, h := range happenings {
				err, ran := through.all[[2]string{c.Name, s.name}][h.name]
				x, has := excused(c.Name, s.name, h.name)
				t.Run(c.Name+"/"+s.name+"/"+h.name, func(t *testing.T) {
					switch {
					case !ran:
						err = errors.New("it was not tried")
					case err == nil && has:
						t.Errorf("it works: take the excuse away: %s", x.why)
					case err == nil:
						cell.passed = append(cell.passed, h.name)
						return
					case has:
						control := x.controlled(c.Name, s)
						failed := direct.all[control][h.name]
						if failed != nil && !errors.Is(failed, errAbsent) {
							cell.excused, cell.notes = append(cell.excused, h.name), append(cell.notes, x.why)
							t.Skipf("%s Without a gateway, %s at %s: %v", x.why, control[0], control[1], failed)
						}
						t.Errorf("the excuse is void: %s Without a gateway, %s at %s: %v", x.why, control[0], control[1], failed)
					}
					cell.failed = append(cell.failed, h.name)
					t.Error(err)
				})
			}
		}
	}
	return tab
}

func names[T any](list []T, name func(T) string) []string {
	var out []string
	for _, v := range list {
		out = append(out, name(v))
	}
	return out
}

func write(t *testing.T, file string, tab *table) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := splice(string(page), tab.markdown())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
