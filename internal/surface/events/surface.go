package events

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/flight"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// surfaceName is what the desk and the audit call this way in.
const surfaceName = "events"

// Config is what a Surface needs. Gateway, Authenticate, Ring and Log are
// required; a limit that is zero takes its default.
type Config struct {
	Gateway Gateway

	// Authenticate says who sends a request, from its headers. An error is
	// answered with 401, or with what the error itself says (see
	// entry.Challenger).
	Authenticate func(*http.Request) (contract.Caller, error)

	// Attempts counts answers that do not fit. Nil where there are no
	// questions.
	Attempts Attempts

	// Shelf keeps calls across a restart. Nil means that they end with the
	// gateway, and their keys too.
	Shelf Shelf

	Ring *seal.Ring
	Home seal.Home
	Log  *slog.Logger

	// Budget bounds the memory of requests under way, and says when there is
	// none for new calls. Nil bounds nothing.
	Budget *budget.Budget

	MaxBody              int           // bytes of one request, and of one message; 32 MiB
	MaxCalls             int           // calls under way or remembered; 10,000
	MaxCallsPerPrincipal int           // the same for one principal; 100
	MaxEvents            int           // events kept per call; 1024
	MaxEventBytes        int           // bytes kept per call, though its newest event always is; 1 MiB
	MaxPastBytes         int           // bytes kept of finished calls per principal, though the newest's always are; 4 MiB
	KeepAlive            time.Duration // how often a stream says that it is alive; 15 seconds
	Linger               time.Duration // how long a call goes on that nobody follows; 2 minutes
	Keep                 time.Duration // how long a finished call is found again; 10 minutes
	Cap                  time.Duration // how long a call can take; 24 hours

	Now func() time.Time // time.Now
}

func (c *Config) check() error {
	switch {
	case c.Gateway == nil:
		return errors.New("events surface: no gateway given")
	case c.Authenticate == nil:
		return errors.New("events surface: no authentication given")
	case c.Ring == nil:
		return errors.New("events surface: no key ring given")
	case c.Log == nil:
		return errors.New("events surface: no logger given")
	}
	return nil
}

func (c *Config) setDefaults() {
	entry.SetDefault(&c.MaxBody, wire.DefaultMaxBytes)
	entry.SetDefault(&c.MaxCalls, 10_000)
	entry.SetDefault(&c.MaxCallsPerPrincipal, 100)
	entry.SetDefault(&c.MaxEvents, 1024)
	entry.SetDefault(&c.MaxEventBytes, 1<<20)
	entry.SetDefault(&c.MaxPastBytes, 4<<20)
	entry.SetDefault(&c.KeepAlive, 15*time.Second)
	entry.SetDefault(&c.Linger, 2*time.Minute)
	entry.SetDefault(&c.Keep, 10*time.Minute)
	entry.SetDefault(&c.Cap, 24*time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Surface serves chat front ends. It is an http.Handler for all below
// /events/. Safe for concurrent use.
type Surface struct {
	cfg   Config
	home  string
	calls *registry

	mu      sync.Mutex        // guards pending
	pending map[string]record // calls from before a restart whose end is not known yet, by id

	inside entry.Inside // requests being served, calls, and their ends
}

var _ http.Handler = (*Surface)(nil)

// New makes a Surface. It starts nothing.
func New(cfg Config) (*Surface, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	return &Surface{
		cfg: cfg, home: cfg.Home.String(), pending: make(map[string]record),
		calls: newRegistry(cfg.MaxCalls, cfg.MaxCallsPerPrincipal, cfg.MaxPastBytes),
	}, nil
}

func (s *Surface) scan() wire.Limits { return wire.Limits{Bytes: s.cfg.MaxBody} }

// ServeHTTP serves one HTTP request. Host, Origin and the speed of the sender
// are the matter of whoever stands before the surface.
func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.inside.Enter() {
		refuse(w, problemOf(shuttingDown))
		return
	}
	defer s.inside.Leave()
	who, err := s.cfg.Authenticate(r)
	if err != nil {
		s.challenge(w, err)
		return
	}
	who.Surface = surfaceName
	hold := s.cfg.Budget.Hold(budget.Of(who.Principal))
	defer hold.Release()
	r = hold.Attach(r)
	if err := s.serve(w, r, who); err != nil {
		p := problemOf(err)
		if p.status >= http.StatusInternalServerError {
			s.cfg.Log.Error("request failed", "surface", surfaceName, "principal", who.String(), "code", p.Code, "err", err)
		}
		refuse(w, p)
	}
}

// serve finds out what a path asks for:
//
//	POST        /events/call                   start a call at the joined endpoint
//	POST        /events/{backend}/call         start one at a backend
//	GET, DELETE /events/calls/{id}             follow a call again; cancel it
//	POST        /events/calls/{id}/respond     answer a question of it
//	POST        /events/calls/{id}/cancel      cancel it
func (s *Surface) serve(w http.ResponseWriter, r *http.Request, who contract.Caller) error {
	rest, _ := strings.CutPrefix(r.URL.Path, "/events/")
	parts := strings.Split(rest, "/")
	switch n := len(parts); {
	case n == 1 && parts[0] == "call":
		return s.start(w, r, "", who)
	case n == 2 && parts[1] == "call" && parts[0] != "":
		return s.start(w, r, parts[0], who)
	case parts[0] != "calls" || n < 2 || n > 3:
		return errNoPath
	}
	c := s.calls.find(who, parts[1])
	if c == nil {
		return errNoCall
	}
	what := r.Method
	if len(parts) == 3 {
		what += " " + parts[2]
	}
	switch what {
	case "GET":
		return s.again(w, r, c)
	case "POST respond":
		return s.respond(w, r, c)
	case "DELETE", "POST cancel":
		c.stopNow(cancelled)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if len(parts) == 3 && parts[2] != "respond" && parts[2] != "cancel" {
		return errNoPath
	}
	return errBadMethod
}

// start starts a call, unless one was started with its key already, and
// streams its events.
func (s *Surface) start(w http.ResponseWriter, r *http.Request, at string, who contract.Caller) error {
	if r.Method != http.MethodPost {
		return errBadMethod
	}
	if !s.cfg.Gateway.Knows(at, who) {
		return errNoPath
	}
	if no := s.cfg.Budget.Admit(budget.Of(who.Principal)); no != nil {
		return no
	}
	key, err := readKey(r)
	if err != nil {
		return err
	}
	st, digest, err := s.readStart(w, r, at)
	if err != nil {
		return err
	}
	who.Conversation = st.conversation
	c := s.newCall(who, st)
	c.id, c.key, c.digest = s.cfg.Ring.Mint(seal.Session, s.cfg.Home, 0), key, digest
	known, fault := s.calls.add(c)
	switch {
	case fault != nil:
		s.cfg.Log.Warn("call refused", "surface", surfaceName, "principal", who.String(), "code", fault.Code, "reason", fault.Message)
		return fault
	case known == nil:
		if known, err = s.claim(c); err != nil {
			s.cfg.Log.Warn("call refused", "surface", surfaceName, "principal", who.String(), "code", ask.CodeOf(err), "err", err)
			return err
		}
		if known == nil {
			hold := budget.From(r.Context())
			hold.Keep() // what was read is there as long as the call
			s.inside.Go(func() {
				defer hold.Release()
				c.run()
			})
			s.follow(w, r, c, 0)
			return nil
		}
	}
	if known.digest != digest || known.access != c.access {
		return errOtherCall
	}
	return s.again(w, r, known)
}

// claim makes the key of a call its own before it starts, or gives the earlier
// call that has the key. A call that cannot be written down is not started: a
// repeated start could run its tool twice.
func (s *Surface) claim(c *call) (*call, error) {
	if c.key == "" || s.cfg.Shelf == nil {
		return nil, nil
	}
	r, err := s.recall(c.who.Principal, c.key)
	if r != nil && s.left(r) <= 0 {
		r = nil
	}
	if err == nil && r == nil {
		err = c.keep()
	}
	if err == nil && r == nil {
		return nil, nil
	}
	s.calls.drop(c)
	c.log.cut() // a repeated start that follows it already comes back
	close(c.done)
	c.end(callOver)
	if err != nil {
		return nil, err
	}
	return s.past(*r, s.left(r)), nil
}

// again streams the events of a call that the consumer has not seen yet.
func (s *Surface) again(w http.ResponseWriter, r *http.Request, c *call) error {
	after, err := lastEvent(r, c)
	if err != nil {
		return err
	}
	if c.log.isPurged() {
		return errPurged
	}
	s.follow(w, r, c, after)
	return nil
}

// Drain refuses new calls, and waits until those under way have ended or ctx
// does. They may still be followed, answered and cancelled. Close comes after
// it.
func (s *Surface) Drain(ctx context.Context) error {
	for _, c := range s.calls.close() {
		select {
		case <-c.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// InFlight gives the calls in flight. They end with the gateway, also those
// that wait for questions, so that Drain waits for each.
func (s *Surface) InFlight() []flight.Call { return s.calls.inFlight() }

// Close refuses all that is new, ends every call, and waits until all of it
// has ended or ctx does.
func (s *Surface) Close(ctx context.Context) error {
	s.inside.Close()
	under := slices.DeleteFunc(s.calls.close(), (*call).over)
	if err := entry.End(ctx, &s.inside, slices.Values(under), func(c *call) { c.stop(ctx, shuttingDown) }); err != nil {
		return ask.Wrap(ask.ShuttingDown, "Some event streams were still being served.", err)
	}
	return nil
}
