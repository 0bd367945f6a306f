//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestThousandSessions: a thousand sessions with one pending question each
// are all answered, and leave nothing behind.
func TestThousandSessions(t *testing.T) {
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(`"`+c.Session+`"`, "elicitation/create", formParams)
		c.Result(`{"session":"` + c.Session + `","got":` + string(a.Field(a.Result)) + `}`)
	}})
	g := rig.Start(t, "asks: { burst: 10000 }\nlimits: { sessions_per_principal: 2000 }\nbackends:\n  one: { url: "+b.URL+" }\n")
	warm := rig.Dial(t, g.URL, rig.AllCaps)
	warm.Close()
	idle := handles(t, g)

	const sessions = 1000
	type pending struct {
		c *rig.Client
		s *rig.Stream
		q wire.Message
	}
	all := make([]pending, sessions)
	parallel(sessions, func(i int) {
		c := rig.Dial(t, g.URL, rig.AllCaps)
		s := c.Tool("ask", "{}")
		all[i] = pending{c, s, s.Next()}
	})
	t.Logf("%d sessions with a question each: %d MiB", sessions, memory(t, g)>>20)
	parallel(sessions, func(i int) {
		p := all[i]
		p.c.Answer(p.q, fmt.Sprintf(`{"action":"accept","content":{"i":%d}}`, i))
		r := p.s.Final()
		equal(t, "the answer", member(r, r.Result, "got"), fmt.Sprintf(`{"action":"accept","content":{"i":%d}}`, i))
		p.c.Close()
	})
	// Idle connections to the backend are kept for later calls, 256 at most.
	rig.Eventually(t, func() bool { return handles(t, g) <= idle+256+16 }, fmt.Sprintf("open files did not return to the idle level of %d", idle))
}
