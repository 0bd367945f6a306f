package relay

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// retryWith makes a retry of a parked call with a state, which need not be
// one that was given out.
func retryWith(r *Relay, state string) wire.Message {
	m, _ := modernCall(r, alice, "9", `,"inputResponses":{"q1":{"action":"decline"}},"requestState":`+string(wire.AppendString(nil, state)), newPeer())
	return m
}

func isBadState(m wire.Message) bool {
	return string(m.Field(m.ErrorCode)) == "-32602" && strings.Contains(string(m.Raw), `"reason":"bad_request_state"`)
}

// Of 10,000 states made from valid ones by chance none is taken, and the call
// that they were made for is not disturbed.
func TestMutatedStatesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		var valid []string
		for range 2 {
			m, _ := modernCall(r, alice, "1", "", newPeer())
			valid = append(valid, m.Text(m.ResultState))
		}
		const seed1, seed2 = 20260728, 20251125
		rnd := rand.New(rand.NewPCG(seed1, seed2))
		for n := 0; n < 10_000; {
			state := mutate(rnd, valid)
			if state == valid[0] || state == valid[1] {
				continue
			}
			n++
			if m := retryWith(r, state); !isBadState(m) {
				t.Fatalf("mutation %d of seeds %d and %d was not refused:\n%q\nof %q\nand %q\n%s", n, seed1, seed2, state, valid[0], valid[1], m.Raw)
			}
		}
		for _, state := range valid {
			if m := retryWith(r, state); m.Text(m.ResultType) != "complete" {
				t.Errorf("the state itself was refused: %s", m.Raw)
			}
		}
		if runs != 2 {
			t.Errorf("%d calls ran, want 2", runs)
		}
		r.Close()
	})
}

// mutate flips bits, cuts, swaps, repeats and splices.
func mutate(rnd *rand.Rand, valid []string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	b := []byte(valid[0])
	other := valid[1]
	at := rnd.IntN(len(b))
	switch rnd.IntN(7) {
	case 0:
		for range 1 + rnd.IntN(3) {
			b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(7)
		}
	case 1:
		b = b[:at]
	case 2:
		b = b[at:]
	case 3:
		b[at] = alphabet[rnd.IntN(len(alphabet))]
	case 4:
		to := rnd.IntN(len(b))
		b[at], b[to] = b[to], b[at]
	case 5:
		b = append(b[:at], other[rnd.IntN(len(other)):]...)
	case 6:
		b = append(b, b[at:]...)
	}
	return string(b)
}

// A state of a parked call is refused for another call, from a key that is no
// longer in the ring, and after its time; one from an older key of the ring
// is taken.
func TestStatesOfParkedCallsAreBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		first, second := []byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))
		r.ring = newRing(t, first)
		m, _ := modernCall(r, alice, "1", "", newPeer())
		state := m.Text(m.ResultState)

		for name, params := range map[string]string{
			"other arguments": `"name":"t","arguments":{"a":2}`,
			"another tool":    `"name":"u","arguments":{"a":1}`,
		} {
			msg := scan(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}}},` +
				params + `,"inputResponses":{"q1":{"action":"decline"}},"requestState":"` + state + `"}}`)
			if m := scan(string(r.Call(context.Background(), "old", alice, &msg, nil, newPeer()).Body)); !isBadState(m) {
				t.Errorf("%s: %s", name, m.Raw)
			}
		}
		r.ring = newRing(t, second)
		if m := retryWith(r, state); !isBadState(m) {
			t.Errorf("from a key that is gone: %s", m.Raw)
		}
		r.ring = newRing(t, second, first)
		if m := retryWith(r, state); m.Text(m.ResultType) != "complete" {
			t.Errorf("from an older key: %s", m.Raw)
		}

		m, _ = modernCall(r, alice, "3", "", newPeer())
		time.Sleep(r.limits.Away + time.Second)
		synctest.Wait()
		if m := retryWith(r, m.Text(m.ResultState)); !isBadState(m) {
			t.Errorf("after its time: %s", m.Raw)
		}
		if runs != 2 {
			t.Errorf("%d calls ran, want 2", runs)
		}
		r.Close()
	})
}

func newRing(t *testing.T, keys ...[]byte) *seal.Ring {
	t.Helper()
	ring, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}
