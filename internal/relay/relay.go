package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/lease"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// Names says how the joined endpoint names what backends offer.
type Names uint8

// Auto puts the backend's name before each name where there is more than one
// backend; Prefixed always does; Plain never does.
const (
	Auto Names = iota
	Prefixed
	Plain
)

// Entry is a backend with what the configuration says of it.
type Entry struct {
	Backend contract.Backend
	Filter  catalog.Filter
	// Timeout bounds the work of one call, the time of people not counted.
	// Zero means the relay's own.
	Timeout time.Duration
	// Away bounds how long a call waits for a client that was sent away with
	// a question. Zero means the relay's own.
	Away time.Duration
	// Tasks lets a call in which somebody is asked become a task, where its
	// client takes tasks.
	Tasks bool
	// AnsweredBy is the group that answers the backend's forms in place of
	// the caller, "" for none.
	AnsweredBy string
	Schemas    Schemas
	Secrets    Secrets
	// Doorstep is where calls wait for an account to be connected, nil where
	// none is needed.
	Doorstep contract.Doorstep
}

// Config is what a Relay needs. Desk may be nil: then questions are switched
// off, and Office must be nil too. Pages may be nil: then there are none. Results may be nil: then the
// responses of calls whose clients are away die with the gateway. All else is
// required.
type Config struct {
	Entries []Entry
	Names   Names
	Desk    *desk.Desk
	Forms   *form.Cache    // where forms of questions are kept ready
	Office  *office.Office // nil where clients create none
	// SecretsToClients says that clients may be given the secrets of forms that
	// they created. Without it such forms are refused.
	SecretsToClients bool
	Pages            Pages
	Results          parking.Results
	Home             string  // the gateway's, as a word of an id of Results
	Clients          Clients // how clients are treated beyond what they declare
	Ring             *seal.Ring
	Catalog          *catalog.Cache
	Log              *slog.Logger
	Info             []byte // the gateway's own Implementation object, raw JSON
	Limits           Limits
	// Cross serves a legacy session from a modern backend.
	Cross func(contract.Crossing) (contract.Line, error)
	// Observe is told of every call that has ended, and of every question
	// that was refused before it reached the desk. Nil means that nobody is.
	Observe Observer
}

// Observer counts. It is called from many goroutines and must not wait.
type Observer interface {
	Call(CallStats)
	Refused(ask.Code)
}

// CallStats is what a call took.
type CallStats struct {
	Backend      string
	Client       era.Era
	Code         ask.Code      // why the gateway failed it, "" where the backend answered
	Failed       bool          // whether the backend answered with an error of its own
	Work, People time.Duration // the backend's time, and that of whoever was asked
}

// Limits bound what clients can make the relay hold.
type Limits struct {
	CallTimeout     time.Duration // work time of a call
	CallCap         time.Duration // all time of a call, people included
	CallsPerSession int
	StateAge        time.Duration // how long a requestState is taken back
	Away            time.Duration // how long a call waits for a modern client to come back
	Round           time.Duration // how long a modern client is kept waiting before it is asked to call again
	Parked          int           // calls of one principal that outlive their requests
	Conversation    time.Duration // how long a conversation keeps a line that it does not use; zero for the pool's own
	Scan            wire.Limits
}

// Relay carries calls. Safe for concurrent use.
type Relay struct {
	desk    *desk.Desk
	pages   Pages
	clients Clients
	ring    *seal.Ring
	catalog *catalog.Cache
	log     *slog.Logger
	info    []byte
	names   Names
	limits  Limits
	forms   *form.Cache
	office  *office.Office
	secrets bool // clients may be given the secrets of their forms

	cross   func(contract.Crossing) (contract.Line, error)
	observe Observer
	pool    *lease.Pool
	lot     *parking.Lot
	running sync.WaitGroup // calls that outlive their requests

	table atomic.Pointer[table]

	mu       sync.Mutex
	sessions map[*Session]struct{} // joined sessions, told when the table changes
}

// table is the set of backends at one time. It is never modified.
type table struct {
	entries []Entry // in configured order
	byName  map[string]*Entry
	// all is how many backends there are, those that a caller may not see
	// included: names must not depend on who asks.
	all int
}

// New makes a Relay over the entries of cfg.
func New(cfg Config) (*Relay, error) {
	switch {
	case cfg.Ring == nil:
		return nil, errors.New("relay: no key ring given")
	case cfg.Forms == nil:
		return nil, errors.New("relay: no cache of forms given")
	case cfg.Catalog == nil:
		return nil, errors.New("relay: no catalog given")
	case cfg.Log == nil:
		return nil, errors.New("relay: no logger given")
	case cfg.Cross == nil:
		return nil, errors.New("relay: no way to cross eras given")
	case cfg.Limits.CallTimeout <= 0 || cfg.Limits.CallCap <= 0 || cfg.Limits.CallsPerSession <= 0 || cfg.Limits.StateAge <= 0:
		return nil, errors.New("relay: every limit must be set")
	}
	if err := cfg.Clients.check(); err != nil {
		return nil, err
	}
	lot, err := parking.New(parking.Config{
		Desk: cfg.Desk, Ring: cfg.Ring, Results: cfg.Results, Home: cfg.Home, Log: cfg.Log,
		Limits: parking.Limits{
			Total: cfg.Limits.CallCap, Away: cfg.Limits.Away, Round: cfg.Limits.Round, Each: cfg.Limits.Parked, Scan: cfg.Limits.Scan,
		},
	})
	if err != nil {
		return nil, err
	}
	r := &Relay{
		desk: cfg.Desk, pages: cfg.Pages, clients: cfg.Clients, ring: cfg.Ring, catalog: cfg.Catalog, log: cfg.Log,
		info: cfg.Info, names: cfg.Names, limits: cfg.Limits,
		forms:    cfg.Forms,
		office:   cfg.Office,
		secrets:  cfg.SecretsToClients,
		cross:    cfg.Cross,
		observe:  cfg.Observe,
		pool:     lease.New(),
		lot:      lot,
		sessions: make(map[*Session]struct{}),
	}
	r.table.Store(newTable(cfg.Entries))
	return r, nil
}

func newTable(entries []Entry) *table {
	t := &table{entries: entries, byName: make(map[string]*Entry, len(entries)), all: len(entries)}
	for i := range entries {
		t.byName[entries[i].Backend.Name()] = &entries[i]
	}
	return t
}

// seenBy gives the table as somebody with this access sees it: without the
// backends, and with filters that leave out the tools, that are not for them.
func (t *table) seenBy(a contract.Access) *table {
	if a == nil {
		return t
	}
	var entries []Entry
	for _, e := range t.entries {
		name := e.Backend.Name()
		if !a.Backend(name) {
			continue
		}
		e.Filter = e.Filter.And(func(tool string) bool { return a.Tool(name, tool) })
		entries = append(entries, e)
	}
	seen := newTable(entries)
	seen.all = t.all
	return seen
}

// Swap replaces the set of backends. Calls in flight keep the lines they
// have; joined sessions are told that their lists changed. The caller closes
// the backends that are no longer in the set.
func (r *Relay) Swap(entries []Entry) {
	r.table.Store(newTable(entries))
	for _, e := range entries {
		r.catalog.Forget(e.Backend.Name(), 0)
	}
	r.mu.Lock()
	told := make([]*Session, 0, len(r.sessions))
	for s := range r.sessions {
		told = append(told, s)
	}
	r.mu.Unlock()
	for _, s := range told {
		s.allChanged()
	}
}

// Close ends the calls that outlive their requests, and the sessions that are
// kept for more of them, and waits. Surfaces are closed before.
func (r *Relay) Close() {
	r.lot.End(ask.Errorf(ask.ShuttingDown, "The gateway is shutting down."))
	r.running.Wait()
	r.pool.Close()
}

// Restore takes up the calls from before a restart whose clients were told to
// call again, those that Revive did not: their responses are there, or lost.
// It comes after the desk's Restore, and before the first call.
func (r *Relay) Restore(ctx context.Context) error { return r.lot.Restore(ctx) }

// Knows reports whether there is an endpoint of that name for that caller; ""
// is the joined one. What somebody may not use is not there for them.
func (r *Relay) Knows(at string, who contract.Caller) bool {
	return at == "" || r.table.Load().byName[at] != nil && (who.Access == nil || who.Access.Backend(at))
}

// solo gives the one backend of an endpoint whose messages pass untouched,
// or nil where the endpoint joins several.
func (r *Relay) solo(t *table, at string) *Entry {
	if at != "" {
		return t.byName[at]
	}
	if t.all == 1 && len(t.entries) == 1 && r.names != Prefixed {
		return &t.entries[0]
	}
	return nil
}

// prefixed reports whether the joined endpoint puts backend names before
// tool and prompt names.
func (r *Relay) prefixed(t *table) bool {
	return r.names == Prefixed || r.names == Auto && t.all > 1
}

func (r *Relay) timeout(e *Entry) time.Duration {
	if e != nil && e.Timeout > 0 {
		return e.Timeout
	}
	return r.limits.CallTimeout
}

// fail turns an error into the response that a client of that era gets.
func fail(id []byte, err error, in era.Era) contract.Response {
	if up, ok := errors.AsType[*contract.UpstreamError](err); ok {
		return restore(up.Reply, id)
	}
	e := ask.From(err)
	return contract.Response{Body: era.AppendError(nil, id, e, in), Status: era.StatusOf(e)}
}

// failed is fail for a call whose backend may have begun a stream already.
func failed(id []byte, err error, in era.Era, event bool) contract.Response {
	resp := fail(id, err, in)
	resp.Event = resp.Event || event
	return resp
}

// restore gives a backend's response the client's id back.
func restore(reply contract.Reply, id []byte) contract.Response {
	body := reply.Msg.Raw
	if own := reply.Msg.Field(reply.Msg.ID); string(own) != string(id) {
		if reply.Msg.ID.IsZero() {
			whole, err := wire.Value(body)
			if err != nil {
				return fail(id, ask.Wrap(ask.BackendBroken, "The backend's response could not be read.", err), era.Modern)
			}
			body = wire.Splice(nil, body, wire.Set(body, whole, wire.Span{}, "id", id))
		} else {
			body = wire.Splice(make([]byte, 0, len(body)+len(id)), body, wire.Edit{Span: reply.Msg.ID, With: id})
		}
	}
	return contract.Response{Body: body, Status: reply.Status, Event: reply.Event, Failed: reply.Msg.Kind == wire.Failure, Held: reply.Held, Unsent: reply.Unsent}
}

// result builds a response of the relay's own.
func result(id []byte, object []byte) contract.Response {
	b := make([]byte, 0, len(object)+len(id)+36)
	return contract.Response{Body: era.AppendResult(b, id, object), Status: 200}
}

// cancelled reports whether err is the client's own cancellation of a call.
func cancelled(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && ask.CodeOf(context.Cause(ctx)) == ask.ClientCancelled
}
