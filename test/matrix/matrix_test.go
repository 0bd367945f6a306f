//go:build matrix

package matrix

import (
	"fmt"
	"os"
	"strings"
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
	mu   sync.Mutex
	runs string
	all  map[[2]string]outcomes
}

// TestMatrix has everything happen between every client and every server, and
// writes the table to the page that ANSWERBACK_TABLE names, and as text to the
// file that ANSWERBACK_TEXT names.
func TestMatrix(t *testing.T) {
	w := peer.NewWorld(t)
	cs, ss := clients(w), servers(w)
	var config strings.Builder
	config.WriteString("backends:\n")
	for _, s := range ss {
		config.WriteString(s.backend)
	}
	usual := rig.Start(t, peer.Plenty+config.String())
	hasty := rig.Start(t, "asks: { rate_per_minute: 100000, burst: 10000, timeout: 1s }\n"+config.String())

	through := &book{runs: w.Runs, all: make(map[[2]string]outcomes)}
	direct := &book{runs: w.Runs, all: make(map[[2]string]outcomes)}
	t.Run("peers", func(t *testing.T) {
		for i, c := range cs {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				through.visit(t, c, ss, fmt.Sprint("g", i), func(s server, slow bool) string {
					if slow {
						return hasty.URL + "/" + s.door
					}
					return usual.URL + "/" + s.door
				})
			})
			t.Run(c.Name+" without a gateway", func(t *testing.T) {
				t.Parallel()
				var own []server
				for _, s := range ss {
					if s.direct != "" && s.era == c.Era {
						own = append(own, s)
					}
				}
				direct.visit(t, c, own, fmt.Sprint("d", i), func(s server, _ bool) string { return s.direct })
			})
		}
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

// visit sends a client to servers, where everything happens, and records what
// came of it.
func (b *book) visit(t *testing.T, c peer.Client, ss []server, id string, at func(s server, slow bool) string) {
	type stop struct {
		pair  pair
		some  []happening
		keys  []string
		steps [][]step
	}
	var stops []stop
	var targets []peer.Target
	for i, s := range ss {
		for _, slow := range []bool{false, true} {
			st := stop{pair: pair{c, s, strings.HasPrefix(id, "d")}}
			to := peer.Target{URL: at(s, slow)}
			for j, h := range happenings {
				if h.slow != slow {
					continue
				}
				key := fmt.Sprintf("%s-%d-%d", id, i, j)
				steps := h.steps(st.pair, key)
				st.some, st.keys, st.steps = append(st.some, h), append(st.keys, key), append(st.steps, steps)
				for _, s := range steps {
					to.Jobs = append(to.Jobs, s.Job)
				}
			}
			stops, targets = append(stops, st), append(targets, to)
		}
	}
	reports := c.Tour(t, targets)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, st := range stops {
		at := [2]string{c.Name, st.pair.server.name}
		if b.all[at] == nil {
			b.all[at] = make(outcomes)
		}
		rep := reports[i]
		entries := rep.Results
		for j, h := range st.some {
			n := min(len(st.steps[j]), len(entries))
			var err error
			switch {
			case rep.Error != nil:
				err = fmt.Errorf("the client did not connect: %+v", *rep.Error)
			case rep.Era != c.Era:
				err = fmt.Errorf("the client is of the %s era there", rep.Era)
			default:
				err = verdict(st.pair, h, st.keys[j], b.runs, st.steps[j], entries[:n])
			}
			b.all[at][h.name] = err
			entries = entries[n:]
		}
	}
}

// judge makes a subtest of each happening in each cell.
func judge(t *testing.T, cs []peer.Client, ss []server, through, direct *book) *table {
	tab := newTable(names(cs, func(c peer.Client) string { return c.Name }), names(ss, func(s server) string { return s.name }),
		names(happenings, func(h happening) string { return h.name }))
	for _, c := range cs {
		for _, s := range ss {
			cell := tab.at(c.Name, s.name)
			for _, h := range happenings {
				err := through.all[[2]string{c.Name, s.name}][h.name]
				x, has := excused(c.Name, s.name, h.name)
				t.Run(c.Name+"/"+s.name+"/"+h.name, func(t *testing.T) {
					switch {
					case err == nil && has:
						t.Errorf("it works: take the excuse away: %s", x.why)
					case err == nil:
						cell.passed = append(cell.passed, h.name)
						return
					case has:
						control := x.control(c.Name, s)
						failed := direct.all[control][h.name]
						if failed != nil {
							cell.excused, cell.notes = append(cell.excused, h.name), append(cell.notes, x.why)
							t.Skipf("%s Without a gateway, %s at %s: %v", x.why, control[0], control[1], failed)
						}
						t.Errorf("the excuse is void, since it works without a gateway for %s at %s: %s", control[0], control[1], x.why)
					}
					cell.failed = append(cell.failed, h.name)
					t.Error(err)
				})
			}
		}
	}
	return tab
}

// control gives the pair whose direct run must have failed.
func (x excuse) control(client string, s server) [2]string {
	pair := [2]string{client, s.name}
	if s.twin != "" {
		pair[1] = s.twin
	}
	if x.controlClient != "" {
		pair[0] = x.controlClient
	}
	if x.controlServer != "" {
		pair[1] = x.controlServer
	}
	return pair
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
