package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestCrossUnsentQuestion: a client that vanishes while its question is being
// written to it, or just before, will call anew. The call that it knows
// nothing of is cancelled at the backend, and the new one is another.
func TestCrossUnsentQuestion(t *testing.T) {
	t.Parallel()
	// More than the buffers of such a connection hold, so that the write of it
	// is still under way when its first line is there.
	large := `{"message":"` + strings.Repeat("m", 512<<10) + `","requestedSchema":{"type":"object","properties":{}}}`
	gate := make(chan struct{})
	for _, tt := range []struct {
		name, params string
		before       func()                  // the backend asks
		leave        func(conn *net.TCPConn) // until the client is gone
	}{
		{"while it is written", large, func() {}, func(conn *net.TCPConn) {
			line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
			if err != nil || !strings.Contains(line, "200") {
				t.Errorf("the response begins with %q: %v", line, err)
			}
			reset(t, conn)
		}},
		{"just before", formParams, func() { gate <- struct{}{}; <-gate }, func(conn *net.TCPConn) {
			<-gate
			reset(t, conn)
			gate <- struct{}{}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var runs atomic.Int32
			b := legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
				run, params := runs.Add(1), formParams
				if run == 1 {
					params = tt.params
					tt.before()
				}
				if a := c.Ask(c.ID(), "elicitation/create", params); a.Kind != wire.Result {
					<-c.Context.Done()
					return
				}
				c.Result(fmt.Sprintf(`{"run":%d}`, run))
			}})
			g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
			tt.leave(postRaw(t, g.URL+"/one", "ask"))
			first, cancelled := b.Await("tools/call"), b.Await("notifications/cancelled")
			equal(t, "the call that is cancelled", string(cancelled.Msg.Field(cancelled.Msg.RequestID)), string(first.Msg.Field(first.Msg.ID)))

			c := rig.NewClient(t, g.URL+"/one")
			state, keys := inputs(t, call(c, "ask", `"arguments":{}`))
			m := call(c, "ask", `"arguments":{}`, state, answers(keys["elicitation/create"], `{"action":"decline"}`))
			equal(t, "the result", string(m.Field(m.Result)), `{"resultType":"complete","run":2}`)
			if n := b.Count("notifications/cancelled"); n != 1 || runs.Load() != 2 {
				t.Errorf("%d runs, %d cancelled", runs.Load(), n)
			}
		})
	}
}

// postRaw calls a tool, as a modern client, over a connection of its own.
func postRaw(t *testing.T, to, name string) *net.TCPConn {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rig","version":"1"},"io.modelcontextprotocol/clientCapabilities":` +
		rig.AllCaps + `},"name":"` + name + `","arguments":{}}}`
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{Timeout: rig.Patience, Control: narrow}
	conn, err := dialer.DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	tcp := conn.(*net.TCPConn)
	_ = tcp.SetDeadline(time.Now().Add(rig.Patience))
	if _, err := fmt.Fprintf(tcp, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s",
		u.Path, u.Host, name, len(body), body); err != nil {
		t.Fatal(err)
	}
	return tcp
}

// narrow makes the buffers on both sides of a connection small: the kernel
// sizes that of the sender by the segments that it may send.
func narrow(_, _ string, conn syscall.RawConn) error {
	var errs error
	err := conn.Control(func(fd uintptr) {
		errs = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536))
	})
	return errors.Join(err, errs)
}

// reset breaks a connection without a word.
func reset(t *testing.T, conn *net.TCPConn) {
	t.Helper()
	if err := conn.SetLinger(0); err != nil {
		t.Error(err)
	}
	conn.Close()
}
