package mcp

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// padded is a request of about so many bytes.
func padded(id string, size int) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"x","params":{"pad":"` + strings.Repeat("x", size) + `"}}`
}

// emptied waits until nothing is counted: a client has its response a moment
// before the handler is done. What never is runs into the test's deadline.
func emptied(room *budget.Budget) {
	for room.Used() != 0 {
		runtime.Gosched()
	}
}

// A body is counted while its call goes on, and one that has no room is refused
// with its id, its status and when to come back.
func TestBodiesAreCounted(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	g := &fakeGateway{call: func(ctx context.Context, msg *wire.Message, _ contract.Peer) Response {
		if string(msg.Field(msg.ID)) == "1" {
			close(begun)
			<-release
		}
		return echo(msg)
	}}
	room := budget.New(budget.Config{Total: 1 << 20, Each: 300 << 10})
	b := serve(t, g, func(c *Config) { c.Budget = room }).initialize()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.expect("POST", padded("1", 200<<10), 200, `"id":1`)
	}()
	<-begun
	if used := room.Used(); used < 200<<10 || used > 300<<10 {
		t.Errorf("%d bytes are counted", used)
	}
	resp, body := b.do("POST", padded("2", 200<<10))
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, `"id":2`) || !strings.Contains(body, `"too_many_open"`) || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("beyond its share: %d %v %s", resp.StatusCode, resp.Header, body)
	}
	b.expect("POST", request("3", "small"), 200, `"id":3`)
	close(release)
	<-done
	emptied(room) // or there is no room for the next
	b.expect("POST", padded("4", 200<<10), 200, `"id":4`)
	emptied(room)
}

// What outlives its request is counted until it has ended.
func TestBodyOfACallThatGoesOnIsCounted(t *testing.T) {
	var kept *budget.Hold
	g := &fakeGateway{call: func(ctx context.Context, msg *wire.Message, _ contract.Peer) Response {
		if kept = budget.From(ctx); !kept.Keep() {
			t.Error("the call's memory cannot be kept")
		}
		return echo(msg)
	}}
	room := budget.New(budget.Config{Total: 1 << 20, Each: 300 << 10})
	b := serve(t, g, func(c *Config) { c.Budget = room }).initialize()
	b.expect("POST", padded("1", 200<<10), 200, `"id":1`)
	if used := room.Used(); used < 200<<10 {
		t.Errorf("%d bytes are counted", used)
	}
	kept.Release()
	emptied(room)
}

// Short of memory, calls and sessions are refused, and answers are taken.
func TestShortOfMemory(t *testing.T) {
	var used atomic.Int64
	memory := budget.Watch(budget.MemoryConfig{Limit: 100, Every: 1, Live: used.Load})
	g := &fakeGateway{}
	plain := serve(t, g, func(c *Config) { c.Budget = budget.New(budget.Config{Memory: memory}) })
	b := plain.initialize()
	used.Store(90)
	resp, body := b.do("POST", request("1", "x"))
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, string(ask.Overloaded)) || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("a call: %d %v %s", resp.StatusCode, resp.Header, body)
	}
	plain.expect("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, 503, "overloaded")
	b.expect("POST", `{"jsonrpc":"2.0","id":"q","result":{}}`, 202, "")
	used.Store(10)
	b.expect("POST", request("2", "x"), 200, `"id":2`)
}

// A body is read whole whatever its size is and however it comes, and no more
// is taken for it than it needs.
func TestFill(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 4 << 10, smallBelow - 1, smallBelow, smallBelow + 1, poolBelow, poolBelow + 1, 1 << 20} {
		for _, announced := range []int64{int64(size), 0, 32 << 20} {
			room := budget.New(budget.Config{})
			hold := room.Hold(budget.Holder{})
			text := bytes.Repeat([]byte("x"), size)
			var buf bytes.Buffer
			if err := fill(&buf, bytes.NewReader(text), min(announced, poolBelow), cmp.Or(announced, 32<<20), hold); err != nil || !bytes.Equal(buf.Bytes(), text) {
				t.Fatalf("%d of %d bytes: read %d, %v", size, announced, buf.Len(), err)
			}
			if held := hold.Bytes(); held < int64(size) || held > max(int64(2*size), 2*min(announced, poolBelow))+2*smallBelow {
				t.Errorf("%d of %d bytes: %d are counted", size, announced, held)
			}
			hold.Release()
			if room.Used() != 0 {
				t.Errorf("%d bytes are left", room.Used())
			}
		}
	}
}

// Finished streams are kept within a budget of their principal's, over all its
// sessions; what is not kept cannot be taken up again, and calls go on.
func TestReplaysAreCounted(t *testing.T) {
	big := `"result":{"pad":"` + strings.Repeat("x", 100<<10) + `"}`
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, _ contract.Peer) Response {
		return Response{Body: response(msg, big), Status: 200, Event: true}
	}}
	room := budget.New(budget.Config{Total: 1 << 20, Each: 250 << 10})
	plain := serve(t, g, func(c *Config) { c.Replays = room })
	var all []*bench
	for range 5 {
		b := plain.initialize()
		b.expect("POST", request("1", "x"), 200, `"id":1`)
		all = append(all, b)
	}
	if used := room.Used(); used < 100<<10 || used > 250<<10 {
		t.Errorf("%d bytes are kept", used)
	}
	for _, b := range all {
		b.expect("DELETE", "", 204, "")
	}
	emptied(room)
}
