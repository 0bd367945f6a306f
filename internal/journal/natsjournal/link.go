package natsjournal

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	headerExpected = "Nats-Expected-Last-Subject-Sequence"
	headerTTL      = "Nats-TTL"
	headerMsgID    = "Nats-Msg-Id"

	apiPrefix = "$JS.API."

	// retryPause is between two attempts when the first failed at once.
	retryPause = 50 * time.Millisecond
)

// link is our connection to the engine, wherever that is.
type link struct {
	conn    *nats.Conn
	timeout time.Duration
	log     *slog.Logger
	// trouble is told, without waiting, when the engine did not answer.
	trouble chan struct{}
	// broken is why the engine cannot be used at all until it is mended.
	broken atomic.Pointer[brokenError]

	mu      sync.Mutex
	watches map[*watch]struct{}
	// life ends with the connection of now, and lose ends it.
	life context.Context
	lose context.CancelFunc
}

type brokenError struct{ err error }

// options are what every connection has in common.
func (l *link) options() []nats.Option {
	return []nats.Option{
		nats.Name("answerback"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 100*time.Millisecond),
		// What cannot be sent now is not sent later behind our back, when its
		// caller has long been told that it failed.
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			l.log.Debug("journal: connection error", "cause", err)
			if errors.Is(err, nats.ErrSlowConsumer) {
				l.missed(sub)
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // without one it is we who leave
				l.log.Warn("journal: connection lost", "cause", err)
			}
			l.live()
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			l.log.Info("journal: connection restored")
			l.missed(nil)
		}),
	}
}

// live ends the life of the connection and begins the next one's.
func (l *link) live() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lose != nil {
		l.lose()
	}
	l.life, l.lose = context.WithCancel(context.Background())
}

// repeatRead is how long a request that changes nothing waits before it is
// sent again. The engine answers within milliseconds, or not at all: a leader
// that died takes what was sent to it along.
const repeatRead = 500 * time.Millisecond

type reply struct {
	data []byte
	err  error
}

// request sends a request that may be repeated, and waits for a reply. It is
// sent again while none has come, and the first reply counts.
func (l *link) request(ctx context.Context, subject string, body any) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var sent sync.WaitGroup
	defer sent.Wait()
	defer cancel()
	replies := make(chan reply)
	send := func() {
		sent.Go(func() {
			m, err := l.conn.RequestWithContext(ctx, apiPrefix+subject, data)
			r := reply{err: err}
			if err == nil {
				r.data = m.Data
			}
			select {
			case replies <- r:
			case <-ctx.Done():
			}
		})
	}
	again := time.NewTimer(0)
	defer again.Stop()
	err = errors.New("nothing was sent")
	for {
		select {
		case <-again.C:
			if b := l.broken.Load(); b != nil {
				return nil, b.err
			}
			send()
			again.Reset(repeatRead)
		case r := <-replies:
			if r.err == nil {
				return r.data, nil
			}
			err = r.err
			l.worry(ctx)
			again.Reset(retryPause)
		case <-ctx.Done():
			l.worry(ctx)
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// worry says that the engine did not answer, unless the caller gave up.
func (l *link) worry(ctx context.Context) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	select {
	case l.trouble <- struct{}{}:
	default:
	}
}

// limit gives ctx an end that is not further than our timeout.
func (l *link) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.timeout)
}

// publication is a message on its way into a stream.
type publication struct {
	subject string
	data    []byte
	// expected is the sequence that the message replaces, 0 for none; it does
	// not count where any is true.
	expected uint64
	any      bool
	ttl      time.Duration // 0 for ever
	id       string        // by which the engine knows a repeated message, or ""
}

func (p *publication) message() *nats.Msg {
	m := &nats.Msg{Subject: p.subject, Data: p.data, Header: nats.Header{}}
	if !p.any {
		m.Header[headerExpected] = []string{strconv.FormatUint(p.expected, 10)}
	}
	if p.ttl > 0 {
		m.Header[headerTTL] = []string{strconv.FormatInt(int64(p.ttl/time.Second), 10) + "s"}
	}
	if p.id != "" {
		m.Header[headerMsgID] = []string{p.id}
	}
	return m
}

type pubAck struct {
	Stream string    `json:"stream"`
	Seq    uint64    `json:"seq"`
	Error  *apiError `json:"error"`
}

// publish stores a message. An *apiError means that the engine refused it.
// Any other error means that its fate is unknown: it was repeated while there
// was time, and never answered. repeated tells that it was sent more than
// once, so that a lost compare-and-set may have been lost to ourselves.
func (l *link) publish(ctx context.Context, p *publication) (seq uint64, repeated bool, err error) {
	for attempt := 0; ; attempt++ {
		if b := l.broken.Load(); b != nil {
			return 0, attempt > 0, b.err
		}
		seq, err = l.publishOnce(ctx, p)
		var refused *apiError
		if err == nil || errors.As(err, &refused) {
			return seq, attempt > 0, err
		}
		l.worry(ctx)
		select {
		case <-ctx.Done():
			return 0, attempt > 0, err
		case <-time.After(retryPause):
		}
	}
}

// publishOnce sends a message and waits for its acknowledgement: for half of
// the time that is left, and no longer than the connection lasts, because no
// other one brings it.
func (l *link) publishOnce(ctx context.Context, p *publication) (uint64, error) {
	wait := l.timeout
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(time.Until(deadline)/2, retryPause)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	l.mu.Lock()
	life := l.life
	l.mu.Unlock()
	stop := context.AfterFunc(life, cancel)
	defer stop()
	m, err := l.conn.RequestMsgWithContext(ctx, p.message())
	if err != nil {
		return 0, err
	}
	var ack pubAck
	if err := parse(m.Data, &ack); err != nil {
		return 0, err
	}
	switch {
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Seq == 0:
		return 0, errors.New("NATS acknowledged without a sequence")
	}
	return ack.Seq, nil
}

// nonce gives a number that no other attempt has.
func nonce() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}
