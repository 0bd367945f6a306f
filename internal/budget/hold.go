package budget

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
)

// Patience is how long Wait waits for bytes.
const Patience = 10 * time.Second

// Hold is what one request, call or message has taken from a Budget. It has
// one owner at first; Keep adds one, and when the last of them lets go by
// Release all is given back. A nil Hold takes nothing and refuses nothing.
// Safe for concurrent use.
type Hold struct {
	b   *Budget
	who Holder

	mu     sync.Mutex
	bytes  int64
	owners int
	joined []*Hold // what is let go with it
}

// Hold begins to count for a holder. The caller owes it a Release.
func (b *Budget) Hold(who Holder) *Hold {
	if b == nil {
		return nil
	}
	return &Hold{b: b, who: who, owners: 1}
}

// Grow takes n more bytes, or refuses: with TooManyOpen where the holder has
// its share, with Overloaded where the budget has no more.
func (h *Hold) Grow(n int64) error {
	if h == nil || n <= 0 {
		return nil
	}
	if err := h.b.take(h.who, n); err != nil {
		return h.b.refuse(h.who, n, err)
	}
	h.add(n)
	return nil
}

// Wait is Grow for what should not fail if it can be had a little later: it
// waits until bytes are given back, Patience long at most. One Hold at a time
// need not wait, so that there always is one that comes to its end: what is
// taken can be beyond the limits by what that one takes.
func (h *Hold) Wait(ctx context.Context, n int64) error {
	if h == nil || n <= 0 {
		return nil
	}
	if h.b.take(h.who, n) != nil {
		ctx, cancel := context.WithTimeout(ctx, Patience)
		defer cancel()
		if err := h.b.wait(ctx, h, n); err != nil {
			return h.b.refuse(h.who, n, err)
		}
	}
	h.add(n)
	return nil
}

func (h *Hold) add(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owners == 0 {
		panic("budget: bytes were taken for a Hold that was let go")
	}
	h.bytes += n
}

// Shrink gives n bytes back early.
func (h *Hold) Shrink(n int64) {
	if h == nil || n <= 0 {
		return
	}
	h.mu.Lock()
	n = min(n, h.bytes)
	h.bytes -= n
	h.mu.Unlock()
	if n > 0 {
		h.b.give(h.who, n)
	}
}

// Bytes is how many bytes it has.
func (h *Hold) Bytes() int64 {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bytes
}

// Keep adds an owner. It is false where there is none any more.
func (h *Hold) Keep() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owners == 0 {
		return false
	}
	h.owners++
	return true
}

// Join makes other end with h: an owner of it lets go when h is over. It is
// false where h is over already, or nil.
func (h *Hold) Join(other *Hold) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owners == 0 {
		return false
	}
	h.joined = append(h.joined, other)
	return true
}

// Release lets go of it for one owner. The last gives all back.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.owners--
	if h.owners > 0 {
		h.mu.Unlock()
		return
	}
	n, joined := h.bytes, h.joined
	h.bytes, h.joined = 0, nil
	h.mu.Unlock()
	h.b.leave(h)
	if n > 0 {
		h.b.give(h.who, n)
	}
	for _, other := range joined {
		other.Release()
	}
}

type holdKey struct{}

// With gives a context that carries a Hold, for those who work on what it
// counts.
func With(ctx context.Context, h *Hold) context.Context {
	if h == nil {
		return ctx
	}
	return context.WithValue(ctx, holdKey{}, h)
}

// From gives the Hold that a context carries, or nil.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}

// Attach gives a request whose body is counted by h as it is read, and whose
// context carries h.
func (h *Hold) Attach(r *http.Request) *http.Request {
	if h == nil {
		return r
	}
	r = r.WithContext(With(r.Context(), h))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &counted{r.Body, h}
	}
	return r
}

// perByte is how many bytes are taken for each byte of a body that somebody
// else reads: while a buffer grows, the old one is there too.
const perByte = 2

// counted is a body whose bytes are taken as they come.
type counted struct {
	io.ReadCloser
	hold *Hold
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if full := c.hold.Grow(perByte * int64(n)); full != nil {
		return 0, full
	}
	return n, err
}

// IsFull reports whether an error is a refusal of a Budget.
func IsFull(err error) bool {
	switch ask.From(err) {
	case errShare, errFull, errShort:
		return true
	}
	return false
}
