package budget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/answerback/answerback/ask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func who(n int) Holder { return Holder{"issuer", fmt.Sprint(n)} }

func wantCode(t *testing.T, err error, want ask.Code) {
	t.Helper()
	if got := ask.CodeOf(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestShareAndTotal(t *testing.T) {
	b := New(Config{Total: 100, Each: 40})
	mine, other := b.Hold(who(1)), b.Hold(who(2))
	wantCode(t, mine.Grow(40), "")
	wantCode(t, mine.Grow(1), ask.TooManyOpen)
	wantCode(t, other.Grow(30), "") // 30 of the 60 that are left, so that 30 stay
	wantCode(t, other.Grow(1), ask.Overloaded)
	mine.Shrink(10)
	wantCode(t, other.Grow(5), "")
	mine.Release()
	other.Release()
	if b.Used() != 0 || len(b.held) != 0 {
		t.Errorf("%d bytes, %d holders are left", b.Used(), len(b.held))
	}
}

// Two holds of one principal share its part.
func TestHoldsOfOneHolderAreOne(t *testing.T) {
	b := New(Config{Total: 1000, Each: 40})
	first, second := b.Hold(who(1)), b.Hold(who(1))
	wantCode(t, first.Grow(30), "")
	wantCode(t, second.Grow(11), ask.TooManyOpen)
	first.Release()
	wantCode(t, second.Grow(11), "")
	second.Release()
}

// However many take what they can get, whoever comes last gets something, and
// nobody gets much more than another.
func TestGreedyHoldersLeaveRoom(t *testing.T) {
	for _, n := range []int{1, 4, 100, 1000} {
		const total = 256 << 20
		b := New(Config{Total: total, Each: total / 4})
		var holds []*Hold
		for i := range n {
			holds = append(holds, b.Hold(who(i)))
		}
		for more := true; more; {
			more = false
			for _, h := range holds {
				more = h.Grow(16<<10) == nil || more
			}
		}
		least, most := int64(total), int64(0)
		for _, h := range holds {
			least, most = min(least, h.Bytes()), max(most, h.Bytes())
		}
		if most-least > 64<<10 {
			t.Errorf("%d holders: one has %d bytes, another %d", n, least, most)
		}
		last := b.Hold(who(-1))
		wantCode(t, last.Grow(int64(total/(4*(n+1)))), "")
		last.Release()
		for _, h := range holds {
			h.Release()
		}
		if b.Used() != 0 {
			t.Errorf("%d bytes are left", b.Used())
		}
	}
}

func TestTenThousandTakers(t *testing.T) {
	const total, each = 1 << 20, 1 << 17
	b := New(Config{Total: total, Each: each})
	var wg sync.WaitGroup
	var taken, refused atomic.Int64
	for i := range 10_000 {
		wg.Go(func() {
			h := b.Hold(who(i % 100))
			defer h.Release()
			for range 8 {
				if h.Grow(1<<10) != nil {
					refused.Add(1)
					return
				}
				taken.Add(1)
				if used := b.Used(); used > total {
					t.Errorf("%d bytes are used of %d", used, total)
				}
			}
			if i%3 == 0 && h.Keep() {
				wg.Go(h.Release)
			}
		})
	}
	wg.Wait()
	if b.Used() != 0 || len(b.held) != 0 {
		t.Errorf("%d bytes, %d holders are left", b.Used(), len(b.held))
	}
	if taken.Load() == 0 {
		t.Error("nobody got anything")
	}
}

// Whatever is done in whatever order, the limits hold, the count is that of
// what is held, and nothing stays behind.
func TestCountIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 1000).Draw(t, "total")
		each := rapid.Int64Range(1, 1000).Draw(t, "each")
		b := New(Config{Total: total, Each: each})
		holds := map[*Hold]int{} // and how many owners it has
		var all []*Hold
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(all) == 0 || rapid.Bool().Draw(t, "new") {
				h := b.Hold(who(rapid.IntRange(0, 4).Draw(t, "who")))
				holds[h], all = 1, append(all, h)
			}
			h := all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]
			n := rapid.Int64Range(0, 400).Draw(t, "n")
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case holds[h] == 0:
				if h.Keep() || h.Join(b.Hold(who(0))) {
					t.Fatal("a hold that is over was kept")
				}
			case what == 0:
				_ = h.Grow(n)
			case what == 1:
				h.Shrink(n)
			case what == 2:
				h.Keep()
				holds[h]++
			default:
				h.Release()
				holds[h]--
			}
			var sum int64
			by := map[Holder]int64{}
			for _, h := range all {
				sum += h.Bytes()
				by[h.who] += h.Bytes()
			}
			if sum != b.Used() || sum > total {
				t.Fatalf("%d bytes are held, %d counted, of %d", sum, b.Used(), total)
			}
			for who, n := range by {
				if n > each || n != b.held[who] {
					t.Fatalf("%v holds %d bytes, %d counted, of %d", who, n, b.held[who], each)
				}
			}
		}
		for h, owners := range holds {
			for range owners {
				h.Release()
			}
		}
		if b.Used() != 0 || len(b.held) != 0 {
			t.Fatalf("%d bytes, %d holders are left", b.Used(), len(b.held))
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Config{Total: 100})
		first := b.Hold(who(1))
		wantCode(t, first.Wait(t.Context(), 50), "")
		wantCode(t, first.Wait(t.Context(), 50), "") // beyond the limit: it goes first
		second, began := b.Hold(who(2)), time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			first.Shrink(1) // too little
			time.Sleep(3 * time.Second)
			first.Release()
		}()
		wantCode(t, second.Wait(t.Context(), 40), "")
		if waited := time.Since(began); waited != 6*time.Second {
			t.Errorf("waited for %s", waited)
		}
		wantCode(t, second.Wait(t.Context(), 40), "") // now it does
		began = time.Now()
		third := b.Hold(who(3))
		wantCode(t, third.Wait(t.Context(), 40), ask.Overloaded)
		if waited := time.Since(began); waited != Patience {
			t.Errorf("waited for %s", waited)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, third.Wait(gone, 40), ask.Overloaded)
		third.Release()
		second.Release()
		if b.Used() != 0 || b.first != nil {
			t.Errorf("%d bytes are left", b.Used())
		}
	})
}

// Many that each have a part of what they need do not wait for each other: all
// come to their end, and no more than one is beyond the limit at a time.
func TestWaitersComeToTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, message = 100, 40
		b := New(Config{Total: total, Each: total / 2})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				h := b.Hold(who(1))
				defer h.Release()
				for range message / 4 {
					if err := h.Wait(t.Context(), 4); err != nil {
						t.Error(err)
					}
					if used := b.Used(); used > total+message {
						t.Errorf("%d bytes are used", used)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		wg.Wait()
		if b.Used() != 0 {
			t.Errorf("%d bytes are left", b.Used())
		}
	})
}

// What has joined a hold ends with it, and not before.
func TestJoinedHoldsEndTogether(t *testing.T) {
	calls, replies := New(Config{}), New(Config{})
	call, reply := calls.Hold(who(1)), replies.Hold(who(2))
	wantCode(t, reply.Grow(10), "")
	if !call.Join(reply) || !call.Keep() {
		t.Fatal("a hold that is there cannot be joined or kept")
	}
	call.Release()
	if replies.Used() != 10 {
		t.Errorf("%d bytes are used while an owner is left", replies.Used())
	}
	call.Release()
	if replies.Used() != 0 {
		t.Errorf("%d bytes are left", replies.Used())
	}
	if call.Join(reply) || call.Keep() {
		t.Error("a hold that is over was joined or kept")
	}
}

func TestBodyIsCounted(t *testing.T) {
	b := New(Config{Total: 1 << 20, Each: 100})
	h := b.Hold(who(1))
	r := h.Attach(httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 50))))
	if text, err := io.ReadAll(r.Body); err != nil || len(text) != 50 || h.Bytes() != 100 {
		t.Errorf("%d bytes read, %d counted: %v", len(text), h.Bytes(), err)
	}
	if From(r.Context()) != h {
		t.Error("the request does not carry its hold")
	}
	h.Release()
	h = b.Hold(who(1))
	r = h.Attach(httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 51))))
	_, err := io.ReadAll(r.Body)
	wantCode(t, err, ask.TooManyOpen)
	if !IsFull(err) || IsFull(io.ErrUnexpectedEOF) || IsFull(ask.Errorf(ask.Overloaded, "")) {
		t.Error("refusals are not told from other errors")
	}
	h.Release()
	if b.Used() != 0 {
		t.Errorf("%d bytes are left", b.Used())
	}
}

func TestNothingIsBoundedWithoutABudget(t *testing.T) {
	var b *Budget
	h := b.Hold(who(1))
	err := errors.Join(h.Grow(1<<60), h.Wait(t.Context(), 1<<60))
	if err != nil || b.Admit(who(1)) != nil || b.Used() != 0 || h.Bytes() != 0 {
		t.Error("a nil budget refuses")
	}
	h.Shrink(1)
	h.Release()
	if With(t.Context(), h) != t.Context() || From(t.Context()) != nil {
		t.Error("nothing is carried as something")
	}
}

// Refusals are counted each, and logged once a second without what was sent.
func TestRefusalsAreToldOf(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_000_000, 0)
	codes := map[ask.Code]int{}
	b := New(Config{
		Name: "requests", Each: 1, Log: slog.New(slog.NewTextHandler(&out, nil)),
		Refused: func(c ask.Code) { codes[c]++ }, Now: func() time.Time { return now },
	})
	h := b.Hold(who(7))
	defer h.Release()
	for range 1000 {
		_ = h.Grow(2)
	}
	now = now.Add(time.Second)
	_ = h.Grow(2)
	if codes[ask.TooManyOpen] != 1001 {
		t.Errorf("counted %v", codes)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 || !strings.Contains(out.String(), "unlogged=999") {
		t.Errorf("%d lines: %s", n, out.String())
	}
}
