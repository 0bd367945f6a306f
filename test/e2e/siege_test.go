//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// hold sends most of a body on many connections of each principal, and then
// nothing. It gives what those that were refused were told.
func (s *siege) hold(principals, connections int) (*verdicts, []net.Conn) {
	s.t.Helper()
	const size, most = siegeBody - 1<<10, siegeBody - 2<<10
	var said verdicts
	var sent sync.WaitGroup
	var conns []net.Conn
	block := []byte(strings.Repeat("x", 64<<10))
	for p := range principals {
		for range connections {
			c := s.raw()
			conns = append(conns, c)
			sent.Go(func() {
				io.WriteString(c, s.head(attackerKey(p), fmt.Sprintf("Content-Length: %d\r\n", size)))
				for left := most; left > 0; left -= len(block) {
					if _, err := c.Write(block[:min(left, len(block))]); err != nil {
						break // refused, and it says why
					}
				}
			})
			go func() {
				// Nothing comes for those that are held.
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err == nil {
					said.read(resp, nil)
				}
			}()
		}
	}
	sent.Wait()
	return &said, conns
}

// TestAttackUnderLoadBodiesOfOne: one principal sends bodies on many
// connections and stops before their ends. It is held to its share, and nobody
// else notices.
func TestAttackUnderLoadBodiesOfOne(t *testing.T) {
	s := besiege(t, "", nil)
	said, conns := s.hold(1, 60) // 480 MiB
	rig.Eventually(t, func() bool { return said.count("429 too_many_open") > 0 }, "nothing was refused")
	s.healthy()
	if held := s.Metric(t, `answerback_held_bytes{of="requests"}`); held > siegePrincipal {
		t.Errorf("%v bytes are held for one principal", held)
	}
	if wait := said.header("429 too_many_open").Get("Retry-After"); wait != "1" {
		t.Errorf("Retry-After is %q", wait)
	}
	if s.Metric(t, `answerback_refusals_total{code="too_many_open"}`) == 0 {
		t.Error("the refusals are not counted")
	}
	s.within(s.bound(siegePrincipal))
	for _, c := range conns {
		c.Close()
	}
	s.calms()
}

// TestAttackUnderLoadBodiesOfMany: many principals do. Together they are held
// to what there is for all, and whoever comes with a small message is served.
func TestAttackUnderLoadBodiesOfMany(t *testing.T) {
	s := besiege(t, "", nil)
	said, conns := s.hold(attackers, 5) // 640 MiB
	rig.Eventually(t, func() bool { return said.count("503 overloaded") > 0 }, "nothing was refused")
	s.healthy()
	if held := s.Metric(t, `answerback_held_bytes{of="requests"}`); held > siegeBodies {
		t.Errorf("%v bytes are held", held)
	}
	if wait := said.header("503 overloaded").Get("Retry-After"); wait != "1" {
		t.Errorf("Retry-After is %q", wait)
	}
	s.within(s.bound(siegeBodies))
	for _, c := range conns {
		c.Close()
	}
	s.calms()
}

// TestAttackUnderLoadSlow: hundreds of connections trickle headers and bodies,
// of strangers and of somebody known.
func TestAttackUnderLoadSlow(t *testing.T) {
	s := besiege(t, "", nil)
	var conns []net.Conn
	for range 150 {
		headers, stranger, known := s.raw(), s.raw(), s.raw()
		io.WriteString(headers, "POST /mcp HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		io.WriteString(stranger, s.head("nobody", "Content-Length: 8000000\r\n"))
		io.WriteString(known, s.head(attackerKey(0), "Content-Length: 8000000\r\n"))
		conns = append(conns, headers, stranger, known)
	}
	for range 3 {
		for _, c := range conns {
			io.WriteString(c, "x") // one that was refused is closed
		}
		s.healthy()
	}
	if held := s.Metric(t, `answerback_held_bytes{of="requests"}`); held > siegePrincipal {
		t.Errorf("%v bytes are held", held)
	}
	s.within(s.bound(siegePrincipal))
	for _, c := range conns {
		c.Close()
	}
	s.calms()
}

// TestAttackUnderLoadBombs: what is small on the wire and large behind it, many
// times at once: headers without end, nesting, compressed bodies, bodies of
// strangers without end. None is taken.
func TestAttackUnderLoadBombs(t *testing.T) {
	s := besiege(t, "", nil)
	c, ctx := eager(t)
	var said verdicts
	key := attackerKey(0)
	deep := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat(`{"a":[`, 200_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3 {
				said.post(ctx, c, s.URL, deep, key)
				said.post(ctx, c, s.URL, "\x1f\x8b"+strings.Repeat("\x00", 1000), key, "Content-Encoding", "gzip")
				said.post(ctx, c, s.URL, "{}", key, "X-Bomb", strings.Repeat("x", 2*mib))
				said.post(ctx, c, s.URL, strings.Repeat("x", siegeBody), "")
			}
		})
	}
	s.healthy()
	wg.Wait()
	for _, want := range []string{"400 too_large", "415 bad_message", "431 ", "401 not_allowed"} {
		// A server that has refused a large request closes the connection,
		// which can overtake its answer.
		if said.count(want) == 0 && said.count("cut off") == 0 {
			t.Errorf("nothing was answered with %q: %v", want, said.by)
		}
	}
	for what := range said.by {
		if strings.HasPrefix(what, "2") || strings.HasPrefix(what, "5") {
			t.Errorf("answered with %q", what)
		}
	}
	t.Log(said.by)
	s.within(s.bound(siegePrincipal))
	s.calms()
}

// TestAttackUnderLoadSessions: one principal opens sessions and streams until
// it is refused; another opens theirs.
func TestAttackUnderLoadSessions(t *testing.T) {
	s := besiege(t, "  sessions_per_principal: 50\n", nil)
	c, ctx := eager(t)
	var said verdicts
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"rig","version":"1"}}}`
	var open []*rig.Client
	for range 50 { // each with a stream, so that it is not idle
		k := rig.DialAs(t, s.URL+"/one", rig.AllCaps, attackerKey(0))
		k.Listen("")
		open = append(open, k)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 10 {
				said.post(ctx, c, s.URL+"/one", hello, attackerKey(0))
			}
		})
	}
	wg.Wait()
	if said.count("429 too_many_open") != 100 {
		t.Errorf("beyond the limit: %v", said.by)
	}
	rig.DialAs(t, s.URL+"/one", rig.AllCaps, attackerKey(1)).Close()
	s.healthy()
	s.within(s.bound(0))
	for _, k := range open {
		k.Close()
	}
	s.calms()
}

// TestAttackUnderLoadUnreadResponses: clients call for large responses and do
// not read them. What waits for them is bounded, and a call at another backend
// does not wait with them.
func TestAttackUnderLoadUnreadResponses(t *testing.T) {
	const size = 7 * mib
	big := `{"pad":"` + strings.Repeat("x", size) + `","resultType":"complete"}`
	s := besiege(t, "", map[string]rig.Script{"tools/call big": func(c *rig.Call) { c.Result(big) }})
	call := modernCall("big", 0)
	var conns []net.Conn
	for n := range 60 { // 420 MiB
		c := s.raw()
		c.(*net.TCPConn).SetReadBuffer(4 << 10)
		io.WriteString(c, s.head(attackerKey(n%4), fmt.Sprintf("Content-Length: %d\r\n", len(call)))+call)
		conns = append(conns, c)
	}
	rig.Eventually(t, func() bool { return s.Metric(t, `answerback_held_bytes{of="responses"}`) > size }, "no response is held")
	for range 3 {
		s.healthy()
	}
	// One may go beyond the limit to come to its end.
	if held := s.Metric(t, `answerback_held_bytes{of="responses"}`); held > siegeResponses+2*siegeBody {
		t.Errorf("%v bytes of responses are held", held)
	}
	s.within(s.bound(siegeResponses))
	for _, c := range conns {
		c.Close()
	}
	s.calms()
}

// TestAttackUnderLoadHostileBackend: a backend answers many calls at once with
// 10 GB, a line without end, headers without end. Each call fails with a code,
// and the other backend is not noticed to be beside it.
func TestAttackUnderLoadHostileBackend(t *testing.T) {
	block := strings.Repeat("x", mib)
	endless := func(w io.Writer, head string) {
		io.WriteString(w, head)
		for range 10 << 10 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}
	s := besiege(t, "", map[string]rig.Script{
		"tools/call json": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "application/json")
			endless(c.Raw(), `{"jsonrpc":"2.0","id":1,"result":{"x":"`)
		},
		"tools/call line": func(c *rig.Call) {
			c.Raw().Header().Set("Content-Type", "text/event-stream")
			endless(c.Raw(), `data: {"jsonrpc":"2.0","id":1,"result":{"x":"`)
		},
		"tools/call headers": func(c *rig.Call) {
			conn, _, err := http.NewResponseController(c.Raw()).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			endless(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Endless: ")
		},
	})
	c, ctx := eager(t)
	var said verdicts
	var wg sync.WaitGroup
	for n := range 24 {
		tool := []string{"json", "line", "headers"}[n%3]
		wg.Go(func() {
			said.post(ctx, c, s.URL+"/one", modernCall(tool, 0), attackerKey(n%4),
				"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
		})
	}
	for range 3 {
		s.healthy()
	}
	wg.Wait()
	t.Log(said.by)
	for what, n := range said.by {
		switch reason := what[strings.Index(what, " ")+1:]; reason {
		case "too_large", "overloaded", "outcome_unknown", "backend_broken":
		default:
			t.Errorf("%d calls ended with %q", n, what)
		}
	}
	if said.count("413 too_large")+said.count("200 too_large") == 0 {
		t.Error("no answer was found to be too large")
	}
	s.within(s.bound(siegeResponses))
	s.calms()
}

// TestAttackUnderLoadShortOfMemory: while most of the memory is in use new
// calls are refused, health and what is under way go on; afterwards calls are
// taken again.
func TestAttackUnderLoadShortOfMemory(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := besiege(t, "  memory: 40MiB\n", map[string]rig.Script{
		"tools/call big": func(c *rig.Call) {
			close(begun)
			select {
			case <-release:
			case <-c.Context.Done():
			}
			c.Result(`{"resultType":"complete"}`)
		},
	})
	c, ctx := eager(t)
	var said verdicts
	var wg sync.WaitGroup
	wg.Go(func() {
		said.post(ctx, c, s.URL+"/one", modernCall("big", 0), attackerKey(attackers-1),
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "big")
	})
	<-begun
	_, conns := s.hold(8, 1)
	var refused verdicts
	try := func() {
		refused.post(ctx, c, s.URL+"/two", modernCall("echo", 0), annsKey,
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo")
	}
	rig.Eventually(t, func() bool { try(); return refused.count("503 overloaded") > 0 }, "nothing is refused although memory is short")
	if wait := refused.header("503 overloaded").Get("Retry-After"); wait != "1" {
		t.Errorf("Retry-After is %q", wait)
	}
	if r := send(t, newRequest(t, "GET", s.base+"/healthz", "")); r.status != http.StatusOK {
		t.Errorf("short of memory, /healthz is %d", r.status)
	}
	if s.Metric(t, "answerback_short_of_memory") != 1 {
		t.Error("the metrics do not say it")
	}
	close(release)
	wg.Wait()
	if said.count("200 ") != 1 {
		t.Errorf("the call that was under way: %v", said.by)
	}
	for _, c := range conns {
		c.Close()
	}
	before := refused.count("200 ")
	rig.Eventually(t, func() bool { try(); return refused.count("200 ") > before }, "calls are not taken again")
	t.Log(said.by, refused.by)
	s.calms()
}

// TestAttackUnderLoadFiveTimesTheRate: five times as many calls with questions
// come as the gateway settled a moment before. Each is served or refused with a
// code; others are served; and nothing is left of it.
func TestAttackUnderLoadFiveTimesTheRate(t *testing.T) {
	s := besiege(t, "  calls_per_session: 64\nasks: { burst: 1000000 }\n", map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", formParams)
		c.Result(string(a.Field(a.Result)))
	}})
	client := rig.DialAs(t, s.URL+"/one", rig.AllCaps, attackerKey(0))
	var said verdicts
	ask := func() {
		st := client.Tool("ask", "{}")
		m := st.Next()
		if m.Method() == "" {
			said.add(reasonIn(string(m.Raw)), nil)
			return
		}
		client.Answer(m, `{"action":"decline"}`)
		r := st.Final()
		said.add(reasonIn(string(r.Raw)), nil)
	}
	const measured = 200
	began := time.Now()
	parallel(measured, func(int) { ask() })
	rate := measured / time.Since(began).Seconds()
	if said.count("") != measured {
		t.Fatalf("before the attack: %v", said.by)
	}
	// As many as come in two seconds at five times the rate.
	n := int(min(10*rate, 4000))
	pause := time.Duration(float64(time.Second) / (5 * rate))
	tick := time.NewTicker(max(pause, time.Millisecond))
	defer tick.Stop()
	var wg sync.WaitGroup
	for i := 0; i < n; {
		<-tick.C
		for range max(1, int(time.Millisecond/pause)) {
			wg.Go(ask)
			i++
		}
		if i%(n/4+1) == 0 {
			s.healthy()
		}
	}
	s.healthy()
	wg.Wait()
	t.Logf("%.0f a second settled before; %d more at five times that: %v", rate, n, said.by)
	for what, n := range said.by {
		switch what {
		case "", "too_many_open", "rate_limited", "overloaded":
		default:
			t.Errorf("%d calls ended with %q", n, what)
		}
	}
	client.Close()
	s.within(s.bound(siegePrincipal))
	s.calms()
}
