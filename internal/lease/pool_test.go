package lease

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session is a line that only lives and dies.
type session struct {
	contract.Line
	done   chan struct{}
	closed atomic.Int64
}

func (s *session) Done() <-chan struct{} { return s.done }
func (s *session) Close(context.Context) { s.closed.Add(1) }

// opener opens sessions and counts them.
type opener struct {
	opened  []*session
	deliver []func(*wire.Message)
}

func (o *opener) open(deliver func(*wire.Message)) (contract.Line, error) {
	s := &session{done: make(chan struct{})}
	o.opened, o.deliver = append(o.opened, s), append(o.deliver, deliver)
	return s, nil
}

func (o *opener) take(t *testing.T, p *Pool, key Key) *Lease {
	t.Helper()
	l, err := p.Take(t.Context(), key, nil, o.open)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func keyOf(who, caps string) Key {
	return Key{Who: ask.Principal{Issuer: "test", Subject: who}, Caps: caps}
}

// A session is one request's at a time, and goes to the next of the same kind
// of caller alone.
func TestSessionsAreForOneKindOfCaller(t *testing.T) {
	p, o := New(), &opener{}
	defer p.Close()
	first, second := o.take(t, p, keyOf("alice", "a")), o.take(t, p, keyOf("alice", "a"))
	if first.Line() == second.Line() {
		t.Error("two requests have one session")
	}
	p.Give(first, true)
	for name, key := range map[string]Key{"another principal": keyOf("bob", "a"), "other capabilities": keyOf("alice", "b")} {
		if l := o.take(t, p, key); l.Line() == first.Line() {
			t.Errorf("%s got the session of another", name)
		}
	}
	if again := o.take(t, p, keyOf("alice", "a")); again.Line() != first.Line() || len(o.opened) != 4 {
		t.Errorf("the same caller did not get its session back, of %d", len(o.opened))
	}
}

// What a session sends outside any call goes to who has it, and to nobody
// while it is idle.
func TestHolderHearsTheSession(t *testing.T) {
	p, o := New(), &opener{}
	defer p.Close()
	var first, second int
	l, err := p.Take(t.Context(), keyOf("alice", ""), func(*wire.Message) { first++ }, o.open)
	if err != nil {
		t.Fatal(err)
	}
	o.deliver[0](nil)
	p.Give(l, true)
	o.deliver[0](nil)
	if l, err = p.Take(t.Context(), keyOf("alice", ""), func(*wire.Message) { second++ }, o.open); err != nil {
		t.Fatal(err)
	}
	o.deliver[0](nil)
	o.deliver[0](nil)
	if first != 1 || second != 2 {
		t.Errorf("the first holder heard %d messages, want 1, the second %d, want 2", first, second)
	}
	p.Give(l, true)
}

// A session that may be busy is not kept, nor one that is for one call, nor
// more than are wanted, nor any after the end.
func TestWhatIsNotKeptIsClosed(t *testing.T) {
	p, o := New(), &opener{}
	key := keyOf("alice", "")
	busy, alone := o.take(t, p, key), &session{}
	p.Give(busy, false)
	p.Give(Alone(alone), true)
	if o.opened[0].closed.Load() != 1 || alone.closed.Load() != 1 {
		t.Error("a session that may be busy, or is for one call, was kept")
	}
	var leases []*Lease
	for range maxIdle + 2 {
		leases = append(leases, o.take(t, p, key))
	}
	for i, l := range leases[:maxIdle+1] {
		if kept := p.Keep(l, true); kept != (i < maxIdle) {
			t.Errorf("session %d kept: %v", i, kept)
		}
	}
	p.Close()
	for i, s := range o.opened[1 : maxIdle+1] {
		if s.closed.Load() != 1 {
			t.Errorf("session %d was closed %d times", i, s.closed.Load())
		}
	}
	if p.Keep(leases[maxIdle+1], true) {
		t.Error("a closed pool keeps sessions")
	}
}

// A session that died while it was idle is not given to anybody.
func TestDeadSessionsAreReplaced(t *testing.T) {
	p, o := New(), &opener{}
	defer p.Close()
	l := o.take(t, p, keyOf("alice", ""))
	p.Give(l, true)
	close(o.opened[0].done)
	if again := o.take(t, p, keyOf("alice", "")); again.Line() == l.Line() || o.opened[0].closed.Load() != 1 {
		t.Error("a dead session was given out, or not closed")
	}
	if _, err := p.Take(t.Context(), keyOf("bob", ""), nil, func(func(*wire.Message)) (contract.Line, error) {
		return nil, errors.New("refused")
	}); err == nil {
		t.Error("there is a lease of a session that could not be opened")
	}
}

// A session that nobody wants is closed after a while; one that is taken in
// time is not.
func TestIdleSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := New(), &opener{}
		for range 2 {
			p.Give(o.take(t, p, keyOf("alice", "")), true)
			time.Sleep(idleTime - time.Second)
		}
		if len(o.opened) != 1 || o.opened[0].closed.Load() != 0 {
			t.Fatalf("%d sessions: the one that was taken in time is gone", len(o.opened))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := o.opened[0].closed.Load(); got != 1 {
			t.Errorf("the idle session was closed %d times", got)
		}
		p.Close()
	})
}

// Sessions of conversations go to no other conversation, and are kept for as
// long as their key says.
func TestConversationsKeepTheirSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := New(), &opener{}
		defer p.Close()
		key := keyOf("alice", "")
		key.Conversation, key.Idle = "one", time.Hour
		other := key
		other.Conversation = "two"
		l := o.take(t, p, key)
		p.Give(l, true)
		for _, k := range []Key{other, keyOf("alice", "")} {
			if o.take(t, p, k).Line() == l.Line() {
				t.Errorf("the conversation %q got the session of another", k.Conversation)
			}
		}
		time.Sleep(time.Hour - time.Second)
		again := o.take(t, p, key)
		if again.Line() != l.Line() {
			t.Error("the session was not kept")
		}
		p.Give(again, true)
		time.Sleep(time.Hour)
		synctest.Wait()
		if o.opened[0].closed.Load() != 1 {
			t.Error("the session was kept for too long")
		}
	})
}

// Of several idle sessions the one that was opened first is taken, whichever
// came back first.
func TestTheFirstSessionIsTakenFirst(t *testing.T) {
	p, o := New(), &opener{}
	defer p.Close()
	key := keyOf("alice", "")
	first, second := o.take(t, p, key), o.take(t, p, key)
	p.Give(first, true)
	p.Give(second, true)
	if l := o.take(t, p, key); l.Line() != first.Line() {
		t.Error("the second session was taken")
	}
	p.Give(p.Adopt(key, &session{done: make(chan struct{})}), true) // opened later than both
	if l := o.take(t, p, key); l.Line() != second.Line() {
		t.Error("the third session was taken")
	}
}

// Idle sessions are bounded for a principal and in all: the one that is idle
// for longest is closed for another.
func TestIdleSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o := New(), &opener{}
		idle := func(who string, n int) {
			key := keyOf(who, "")
			key.Conversation = strconv.Itoa(n)
			time.Sleep(time.Millisecond)
			p.Give(o.take(t, p, key), true)
		}
		closed := func() (all []int) {
			synctest.Wait()
			for i, s := range o.opened {
				if s.closed.Load() > 0 {
					all = append(all, i)
				}
			}
			return all
		}
		idle("bob", 0)
		for n := range maxEach {
			idle("alice", n)
		}
		if got := closed(); got != nil {
			t.Errorf("sessions %v were closed within the limit", got)
		}
		idle("alice", maxEach)
		if got := closed(); !slices.Equal(got, []int{1}) {
			t.Errorf("for one more of alice's, sessions %v were closed, want her first", got)
		}
		for n := range maxAll - maxEach - 1 {
			idle("person "+strconv.Itoa(n), 0)
		}
		if got := closed(); !slices.Equal(got, []int{1}) {
			t.Errorf("sessions %v were closed within the limit", got)
		}
		idle("cid", 0)
		if got := closed(); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("for one more of all, sessions %v were closed, want the oldest too", got)
		}
		p.Close()
		if n := len(closed()); n != len(o.opened) {
			t.Errorf("%d of %d sessions were closed at the end", n, len(o.opened))
		}
	})
}
