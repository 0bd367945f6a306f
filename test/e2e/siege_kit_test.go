//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

const mib = 1 << 20

// What a besieged gateway may hold: small enough for an attack to go far beyond
// it in a moment.
const (
	siegeBody      = 8 * mib // largest body and message
	siegePrincipal = 16 * mib
	siegeBodies    = 64 * mib
	siegeResponses = 64 * mib
)

// siegeLimits are in the words of the configuration; more can follow.
const siegeLimits = `limits:
  body_bytes: 8MiB
  message_bytes: 8MiB
  bodies_per_principal: 16MiB
  bodies_total: 64MiB
  responses_per_backend: 32MiB
  responses_total: 64MiB
`

// siege is a gateway with keys for many attackers, and ann, who is none of
// them. Backend one is the attackers', two is hers.
type siege struct {
	*rig.Gateway
	t    *testing.T
	base string
	ann  *rig.Client
	idle int     // bytes of memory
	calm float64 // goroutines
	most atomic.Int64
	stop chan struct{}
	done chan struct{}
}

// attackerKey is the key of one of the attackers.
func attackerKey(n int) string { return fmt.Sprintf("attacker-%02d-0123456789abcdef", n) }

const attackers = 16

// besiege starts a gateway and watches its memory until the end of the test.
func besiege(t *testing.T, more string, one map[string]rig.Script) *siege {
	t.Helper()
	first := rig.NewBackend(t, one)
	good := rig.NewBackend(t, map[string]rig.Script{"tools/call echo": echo})
	config := rig.Metrics + "identity:\n  keys:\n    ann: { key: " + annsKey + " }\n"
	for n := range attackers {
		config += fmt.Sprintf("    attacker-%d: { key: %s }\n", n, attackerKey(n))
	}
	s := &siege{Gateway: rig.Start(t, config+siegeLimits+more+backends("one", first.URL, "two", good.URL)), t: t, stop: make(chan struct{}), done: make(chan struct{})}
	s.base = strings.TrimSuffix(s.URL, "/mcp")
	s.ann = rig.DialAs(t, s.URL+"/two", rig.AllCaps, annsKey)
	unharmed(t, s.ann, "echo")
	s.idle = memory(t, s.Gateway)
	s.calm = s.Metric(t, "go_goroutines")
	go func() {
		defer close(s.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-tick.C:
				if now := int64(memory(t, s.Gateway)); now > s.most.Load() {
					s.most.Store(now)
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(s.stop)
		<-s.done
	})
	return s
}

// healthy checks what must hold while an attack runs: the gateway says that it
// is well, and another principal's call goes through.
func (s *siege) healthy() {
	s.t.Helper()
	for _, path := range []string{"/healthz", "/readyz"} {
		if r := send(s.t, newRequest(s.t, "GET", s.base+path, "")); r.status != http.StatusOK {
			s.t.Errorf("under attack %s is %d", path, r.status)
		}
	}
	unharmed(s.t, s.ann, "echo")
}

// calms checks that after the attack everything is as it was before.
func (s *siege) calms() {
	s.t.Helper()
	// The session that goes on has a stream open at its backend, which is read
	// into a small buffer.
	rig.Eventually(s.t, func() bool {
		return s.Metric(s.t, `answerback_held_bytes{of="requests"}`) == 0 && s.Metric(s.t, `answerback_held_bytes{of="responses"}`) <= 64<<10
	}, "memory of messages is still counted after all have ended")
	// Idle connections to backends are kept for later calls, 256 at most with
	// two goroutines each.
	rig.Eventually(s.t, func() bool { return s.Metric(s.t, "go_goroutines") <= s.calm+512+50 }, fmt.Sprintf("goroutines did not return to %v", s.calm))
	s.healthy()
}

// bound is how much memory the gateway may use at most: what it had, and all
// that it may hold, three times: as it came, as it goes on with another id, and
// as garbage that waits to be collected.
func (s *siege) bound(held int) int { return s.idle + 3*held + 64*mib }

// within checks that the memory never was beyond a bound.
func (s *siege) within(bound int) {
	s.t.Helper()
	s.t.Logf("memory: %d MiB idle, %d MiB at most, the bound is %d MiB", s.idle/mib, s.most.Load()/mib, bound/mib)
	if s.most.Load() > int64(bound) {
		s.t.Errorf("the gateway used %d MiB, more than %d MiB", s.most.Load()/mib, bound/mib)
	}
}

// raw opens a connection, and closes it with the test.
func (s *siege) raw() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// head is the beginning of a modern call of an attacker's.
func (s *siege) head(key, more string) string {
	return "POST /mcp/one HTTP/1.1\r\nHost: " + strings.TrimPrefix(s.base, "http://") + "\r\nContent-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: big\r\n" +
		"Authorization: Bearer " + key + "\r\n" + more + "\r\n"
}

// modernCall is a call with as many bytes of padding.
func modernCall(tool string, pad int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rig","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"` +
		tool + `","arguments":{"pad":"` + strings.Repeat("x", pad) + `"}}}`
}

// verdicts counts what attackers are told: statuses, and the reasons in bodies.
type verdicts struct {
	mu sync.Mutex
	by map[string]int
	at map[string]http.Header
}

func (a *verdicts) add(what string, h http.Header) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by, a.at = map[string]int{}, map[string]http.Header{}
	}
	a.by[what]++
	a.at[what] = h
}

func (a *verdicts) count(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[what]
}

func (a *verdicts) header(what string) http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at[what]
}

// read notes the response that comes on a connection, without the end of a
// stream.
func (a *verdicts) read(resp *http.Response, err error) {
	if err != nil {
		a.add("cut off", nil)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	a.add(fmt.Sprint(resp.StatusCode, " ", reasonIn(string(body))), resp.Header)
}

// reasonIn finds the reason of a refusal in a body.
func reasonIn(body string) string {
	for _, key := range []string{`"reason":"`, `"code":"`} {
		if _, rest, ok := strings.Cut(body, key); ok {
			word, _, _ := strings.Cut(rest, `"`)
			return word
		}
	}
	return ""
}

// eager is a client for attackers: it gives up on nothing but the end of the
// test.
func eager(t *testing.T) (*http.Client, context.Context) {
	tr := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}, t.Context()
}

// post sends a body of an attacker's, and notes the answer.
func (a *verdicts) post(ctx context.Context, c *http.Client, url, body, key string, headers ...string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		a.add("no request", nil)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	resp, err := c.Do(req)
	if errors.Is(err, context.Canceled) {
		return
	}
	a.read(resp, err)
}
