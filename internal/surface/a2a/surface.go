package a2a

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// surfaceName is what the desk and the audit call this way in.
const surfaceName = "a2a"

// Config is what a Surface needs. All of the first block is required; a limit
// that is zero takes its default.
type Config struct {
	Gateway Gateway
	Shelf   Shelf
	Outward Outward
	// Authenticate says who sends a request, from its headers. An error is
	// answered with 401, or with what the error itself says (see Challenger).
	Authenticate func(*http.Request) (contract.Caller, error)
	// Patience is how long somebody may take to answer a question of a kind.
	Patience  func(ask.Kind) time.Duration
	PublicURL string // where clients reach the gateway, without a path
	Version   string // the gateway's
	Ring      *seal.Ring
	Home      seal.Home
	Log       *slog.Logger

	Secured bool // callers must authenticate, and cards say so

	// Budget bounds the memory of requests under way, and says when there is
	// none for new calls. Nil bounds nothing.
	Budget *budget.Budget

	MaxBody              int           // bytes of one request, and of one message; 32 MiB
	MaxTask              int           // bytes that are kept of one task; 512 KiB
	MaxTasks             int           // tasks under way; 10,000
	MaxTasksPerPrincipal int           // the same for one principal; 100
	MaxPast              int           // ended tasks that are kept for one principal; 100
	Attempts             int           // answers that may not fit a question before it is given up; 3
	Cap                  time.Duration // how long a task may take altogether; 24 hours
	Keep                 time.Duration // how long an ended task is kept; 24 hours
	KeepAlive            time.Duration // how often a stream says that it is alive; 15 seconds

	Now func() time.Time // time.Now
}

func (c *Config) check() error {
	if c.Gateway == nil || c.Shelf == nil || c.Outward == nil || c.Authenticate == nil || c.Patience == nil ||
		c.PublicURL == "" || c.Version == "" || c.Ring == nil || c.Log == nil {
		return errors.New("a2a surface: Gateway, Shelf, Outward, Authenticate, Patience, PublicURL, Version, Ring and Log are all required")
	}
	return nil
}

func (c *Config) setDefaults() {
	entry.SetDefault(&c.MaxBody, wire.DefaultMaxBytes)
	entry.SetDefault(&c.MaxTask, 512<<10)
	entry.SetDefault(&c.MaxTasks, 10_000)
	entry.SetDefault(&c.MaxTasksPerPrincipal, 100)
	entry.SetDefault(&c.MaxPast, 100)
	entry.SetDefault(&c.Attempts, 3)
	entry.SetDefault(&c.Cap, 24*time.Hour)
	entry.SetDefault(&c.Keep, 24*time.Hour)
	entry.SetDefault(&c.KeepAlive, 15*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Surface serves A2A clients. It is an http.Handler for all below /a2a, and
// for the agent card of the whole gateway. Safe for concurrent use.
type Surface struct {
	cfg    Config
	home   string
	tasks  *registry
	pusher *pusher
	rpc    http.Handler
	rest   http.Handler
	closed chan struct{} // closed when streams are to end

	once   sync.Once    // closes it
	inside entry.Inside // requests being served, and tasks
}

var _ http.Handler = (*Surface)(nil)

// New makes a Surface. Its posts need Close.
func New(cfg Config) (*Surface, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	s := &Surface{cfg: cfg, home: cfg.Home.String(), closed: make(chan struct{}), pusher: newPusher(cfg.Outward, cfg.Log)}
	s.tasks = &registry{
		max: cfg.MaxTasks, maxEach: cfg.MaxTasksPerPrincipal, maxPast: cfg.MaxPast, keep: cfg.Keep, drop: s.drop,
		live: make(map[string]*task), people: make(map[ask.Principal]*person),
	}
	alive := a2asrv.WithTransportKeepAlive(cfg.KeepAlive)
	s.rpc, s.rest = a2asrv.NewJSONRPCHandler(handler{s}, alive), a2asrv.NewRESTHandler(handler{s}, alive)
	return s, nil
}

func (s *Surface) scan() wire.Limits { return wire.Limits{Bytes: s.cfg.MaxBody} }

// leaving reports whether the surface closes.
func (s *Surface) leaving() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// run carries a task that was counted in to its end.
func (s *Surface) run(t *task) {
	go func() {
		defer s.inside.Leave()
		t.run()
	}()
}

// Restore takes up the tasks of before a restart: those that waited wait on,
// and of those whose call was under way nobody knows what became of it. A task
// that cannot be read is set aside. It comes before the first request, and after the relay's own.
func (s *Surface) Restore(ctx context.Context) error {
	waiting := 0
	var ended []*record
	err := s.cfg.Shelf.Restore(ctx, s.home, func(raw []byte) error {
		rec, err := readRecord(raw)
		if err == nil {
			err = rec.check()
		}
		switch {
		case err != nil:
			return err
		case rec.over():
			ended = append(ended, rec)
		case s.resume(rec):
			waiting++
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(ended, func(a, b *record) int { return a.Task.Status.Timestamp.Compare(*b.Task.Status.Timestamp) })
	for _, rec := range ended {
		s.tasks.remember(rec.Owner, keyOf(s.home, rec.Owner, string(rec.Task.ID)), s.cfg.Keep)
	}
	if waiting > 0 {
		s.cfg.Log.Info("tasks taken up after a restart", "surface", surfaceName, "tasks", waiting)
	}
	return nil
}

// resume takes up one task. It is false for one whose call was lost.
func (s *Surface) resume(rec *record) bool {
	t := s.newTask(*rec, contract.Caller{Principal: rec.Owner, Surface: surfaceName})
	if fault := s.tasks.add(t, true); fault != nil {
		t.end(fault)
		return false
	}
	// To come back to a call that the gateway holds runs nothing.
	lost := !rec.waits() && !rec.Held
	if lost {
		t.finish(outcome{state: a2a.TaskStateFailed, words: interrupted})
	}
	if !s.inside.Enter() {
		s.tasks.left(t)
		t.end(shuttingDown)
		return false
	}
	s.run(t)
	return !lost
}

// Drain refuses new tasks, and waits until those under way have ended or need
// somebody, or ctx ends. They may still be answered and cancelled. Close comes
// after it.
func (s *Surface) Drain(ctx context.Context) error {
	for _, t := range s.tasks.close() {
		if _, err := t.settled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close refuses all that is new, ends calls that are under way, and waits until
// all of it has ended or ctx does. Tasks that wait for somebody stay, for the
// next gateway.
func (s *Surface) Close(ctx context.Context) error {
	s.inside.Close()
	s.once.Do(func() { close(s.closed) })
	err := entry.End(ctx, &s.inside, slices.Values(s.tasks.close()), func(t *task) {
		if r := t.now(); r.waits() {
			t.poke()
		} else {
			t.end(shuttingDown)
		}
	})
	s.pusher.close()
	if err != nil {
		return ask.Wrap(ask.ShuttingDown, "Some tasks were still under way.", err)
	}
	return nil
}

// drop forgets a task that has ended.
func (s *Surface) drop(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	if err := s.cfg.Shelf.Drop(ctx, key); err != nil {
		s.cfg.Log.Warn("a task that has ended is kept for longer than wanted", "surface", surfaceName, "err", err)
	}
}

// Words that are the same each time.
var (
	shuttingDown = ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
	cancelled    = ask.Errorf(ask.ClientCancelled, "The client cancelled the task.")
	overCap      = ask.Errorf(ask.Timeout, "The task took longer than a call may take.")
)
