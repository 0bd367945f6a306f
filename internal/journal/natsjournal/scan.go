package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/answerback/answerback/internal/journal"
)

const (
	// What one pull brings at most, which bounds the memory of a scan. Its
	// bytes are enough for the largest record.
	pullMessages = 1000
	pullBytes    = 4 << 20
	// A consumer that nobody pulls from is removed by the engine.
	consumerIdle = time.Minute
	// maxRestarts is how often a scan may begin again where it lost messages.
	maxRestarts = 5
)

// records is scan for readers: it gives the records that count, and nothing
// else. What is over is left to the sweeper.
func (t *table) records(ctx context.Context, filters ...string) iter.Seq2[stored, error] {
	return func(yield func(stored, error) bool) {
		for m, err := range t.scan(ctx, 0, filters...) {
			switch {
			case err != nil:
				yield(stored{}, err)
				return
			case !t.counts(&m):
				t.passed(t, &m)
			case !yield(m, nil):
				return
			}
		}
	}
}

// scan reads the messages from a sequence on whose subjects match, in the
// order of their sequences, up to the last one that was there when it began.
// A shared store is first given a mark, because the replica that serves the
// scan may lag behind: when the mark has come, all before it has. Marks are
// among what it gives.
func (t *table) scan(ctx context.Context, from uint64, filters ...string) iter.Seq2[stored, error] {
	return func(yield func(stored, error) bool) {
		var until uint64
		if t.stamps == nil && t.mark != "" {
			rev, err := t.put(ctx, write{subject: t.mark, kind: kindMark, expires: journal.Never})
			if err != nil {
				yield(stored{}, err)
				return
			}
			until = rev.Seq
			filters = append(filters, t.mark)
		}
		s := scanner{table: t, filters: filters, next: max(from, 1), until: until}
		if err := s.run(ctx, yield); err != nil {
			yield(stored{}, err)
		}
	}
}

// scanner is one scan under way.
type scanner struct {
	*table
	filters []string
	next    uint64 // the sequence to go on from
	until   uint64 // the sequence that must have been passed
	// bad is told of a message that cannot be used, where not nil; else such a
	// message ends the scan.
	bad func(subject string, seq uint64, err error)

	sub      *nats.Subscription
	inbox    string // for replies to pulls, each with a number of its own
	pulls    int
	consumer string
	taken    uint64 // messages of this consumer so far
}

var (
	errStop = errors.New("the reader has had enough")
	errGap  = errors.New("messages were lost on the way")
)

// run gives messages to yield until there are no more or it wants no more.
func (s *scanner) run(ctx context.Context, yield func(stored, error) bool) error {
	for restarts := 0; ; restarts++ {
		err := s.attempt(ctx, yield)
		s.close()
		switch {
		case err == nil, errors.Is(err, errStop):
			return nil
		case errors.Is(err, journal.Corrupt):
			return err
		case context.Cause(ctx) != nil:
			return unavailable("reading stream "+s.stream, context.Cause(ctx))
		case restarts == maxRestarts || !errors.Is(err, errGap):
			return unavailable("reading stream "+s.stream, err)
		}
	}
}

func (s *scanner) attempt(ctx context.Context, yield func(stored, error) bool) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	for {
		n, err := s.pull(ctx, yield)
		if err != nil {
			return err
		}
		if n == 0 {
			if s.next > s.until {
				return nil
			}
			// A replica that lags behind: the mark is still on its way to it.
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(retryPause):
			}
		}
	}
}

// open makes a consumer that lives in the engine's memory.
func (s *scanner) open(ctx context.Context) error {
	name := "scan-" + strconv.FormatUint(nonce(), 36)
	config := map[string]any{
		"name":               name,
		"deliver_policy":     "by_start_sequence",
		"opt_start_seq":      s.next,
		"ack_policy":         "none",
		"replay_policy":      "instant",
		"filter_subjects":    s.filters,
		"inactive_threshold": consumerIdle,
		"num_replicas":       1,
		"mem_storage":        true,
	}
	limited, cancel := s.link.limit(ctx)
	defer cancel()
	reply, err := s.link.request(limited, "CONSUMER.CREATE."+s.stream+"."+name,
		map[string]any{"stream_name": s.stream, "config": config, "action": "create"})
	if err != nil {
		return err
	}
	var r struct {
		Error *apiError `json:"error"`
	}
	if err := parse(reply, &r); err != nil {
		return err
	}
	if r.Error != nil {
		return r.Error
	}
	s.consumer, s.taken = name, 0
	s.inbox = s.link.conn.NewInbox() + "."
	s.sub, err = s.link.conn.SubscribeSync(s.inbox + "*")
	return err
}

func (s *scanner) close() {
	if s.sub != nil {
		_ = s.sub.Unsubscribe()
		s.sub = nil
	}
	if s.consumer != "" {
		// Nobody waits for the reply: the engine removes it in time anyway.
		_ = s.link.conn.Publish(apiPrefix+"CONSUMER.DELETE."+s.stream+"."+s.consumer, nil)
		s.consumer = ""
	}
}

// pull asks for some messages and gives them to yield. It counts them.
func (s *scanner) pull(ctx context.Context, yield func(stored, error) bool) (n int, err error) {
	s.pulls++
	reply := s.inbox + strconv.Itoa(s.pulls)
	err = s.link.conn.PublishRequest(apiPrefix+"CONSUMER.MSG.NEXT."+s.stream+"."+s.consumer, reply,
		fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"no_wait":true}`, pullMessages, pullBytes))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errGap, err)
	}
	for n < pullMessages {
		m, err := s.receive(ctx)
		if err != nil {
			return n, err
		}
		status := m.Header.Get("Status")
		if status != "" && m.Subject != reply {
			continue // of a pull that had all its messages before
		}
		switch status {
		case "":
			if err := s.take(m, yield); err != nil {
				return n, err
			}
			n++
		case "404", "408": // no more for now
			return n, nil
		case "409":
			if n > 0 { // the next one is more than this pull may bring
				return n, nil
			}
			return 0, fmt.Errorf("%w: the pull was ended: %s", errGap, m.Header.Get("Description"))
		case "100":
		default:
			return n, fmt.Errorf("%w: the pull was ended with status %s", errGap, status)
		}
	}
	return n, nil
}

// receive waits for the next message.
func (s *scanner) receive(ctx context.Context) (*nats.Msg, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	// Most messages are there already, and need no timer.
	if m, err := s.sub.NextMsg(0); err == nil {
		return m, nil
	}
	ctx, cancel := s.link.limit(ctx)
	defer cancel()
	m, err := s.sub.NextMsgWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGap, err)
	}
	return m, nil
}

// take gives one message to yield, unless one before it is missing.
func (s *scanner) take(m *nats.Msg, yield func(stored, error) bool) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if meta.Sequence.Consumer != s.taken+1 {
		return errGap
	}
	s.taken++
	s.next = meta.Sequence.Stream + 1
	got, err := read(s.stream, m.Subject, meta.Sequence.Stream, meta.Timestamp, m.Data)
	if err != nil && s.bad != nil {
		s.bad(m.Subject, meta.Sequence.Stream, err)
		return nil
	}
	if err != nil {
		return err
	}
	if !yield(got, nil) {
		return errStop
	}
	return nil
}
