package parking

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Results keeps the responses of calls whose clients are away, so that they
// outlive the gateway. An id is words of letters, digits, '-' and '_', joined
// by dots. Safe for concurrent use.
type Results interface {
	// Keep keeps a value for a while, in place of what was there.
	Keep(ctx context.Context, id string, value []byte, ttl time.Duration) error
	// Kept gives a value, nil where there is none.
	Kept(ctx context.Context, id string) ([]byte, error)
	// Drop forgets a value. It is no error where there is none.
	Drop(ctx context.Context, id string) error
	// Restore gives take, after a restart, the values whose ids begin with the
	// words of prefix, one at a time. One that take fails over, or panics over,
	// is set aside, and the rest goes on. The error is the store's.
	Restore(ctx context.Context, prefix string, take func(value []byte) error) error
}

// uncollected is a response that waits for its client, as it is kept.
type uncollected struct {
	Who     ask.Principal
	Backend string
	Message []byte // the client's request
	Reply   []byte // the backend's response
	Code    ask.Code
	Why     string // the gateway's own failure, where there is no response
	Created time.Time
	Updated time.Time

	// Of a call whose client was told to call again.
	ID      string        `json:",omitempty"`
	Name    string        `json:",omitempty"` // what it calls, in the backend's own names
	Era     era.Era       `json:",omitempty"`
	Away    time.Duration `json:",omitempty"`
	Working bool          `json:",omitempty"` // there is no response yet
}

// keepTime bounds how long a response may take to be kept.
const keepTime = 5 * time.Second

// toldShelf is where the calls of a home are whose clients were told to call
// again.
func (l *Lot) toldShelf() string { return toldPrefix + l.home }

const toldPrefix = "told."

// shelf is under what the call's response is kept.
func (pk *Call) shelf() string {
	id := strings.TrimPrefix(pk.id, ours)
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.told {
		return pk.lot.toldShelf() + "." + id
	}
	return id
}

// keepReply keeps the response of a call whose client is away: that of one
// which may be a task for as long as a task was promised to last.
func (pk *Call) keepReply() {
	u := pk.uncollected()
	u.Reply = pk.result.Reply.Msg.Raw
	switch {
	case pk.isCancelled():
		u.Code, u.Why = ask.ClientCancelled, "The client cancelled the task."
	case pk.result.Err != nil:
		why := ask.From(pk.result.Err)
		u.Code, u.Why = why.Code, why.Message
	}
	ttl := max(pk.terms.Away, time.Minute)
	if pk.terms.Tasks {
		ttl = max(ttl, pk.lot.limits.Total-time.Since(pk.created))
	}
	pk.keep(u, ttl)
}

// keepPlace keeps that the call is under way for a client that was told to
// call again, so that it is never said of it that it was not.
func (pk *Call) keepPlace() {
	u := pk.uncollected()
	u.Working = true
	pk.keep(u, pk.lot.limits.Total+pk.terms.Away)
}

func (pk *Call) uncollected() uncollected {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	t := pk.terms
	return uncollected{
		Who: t.Who, Backend: t.Backend, Message: pk.began.Raw, Created: pk.created, Updated: pk.updated,
		ID: pk.id, Name: t.Name, Era: t.Era, Away: t.Away,
	}
}

func (pk *Call) keep(u uncollected, ttl time.Duration) {
	l := pk.lot
	if l.results == nil {
		return
	}
	value, err := json.Marshal(u)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), keepTime)
		defer cancel()
		err = l.results.Keep(ctx, pk.shelf(), value, ttl)
	}
	if err != nil {
		l.log.Warn("a response that waits for its client would not outlive the gateway", "backend", u.Backend, "err", err)
	} else if !u.Working {
		l.log.Info("response kept for a client that is away", "backend", u.Backend, "name", u.Name, "principal", u.Who)
	}
}

// drop forgets what was kept of the call.
func (pk *Call) drop() {
	l := pk.lot
	if l.results == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	if err := l.results.Drop(ctx, pk.shelf()); err != nil {
		l.log.Warn("a response that its client has may be given again after a restart", "backend", pk.terms.Backend, "err", err)
	}
}

// kept gives the call with this id of this principal from what was kept of it.
func (l *Lot) kept(ctx context.Context, who ask.Principal, id string) (*Call, error) {
	value, err := l.results.Kept(ctx, strings.TrimPrefix(id, ours))
	if err != nil || value == nil {
		return nil, err
	}
	var u uncollected
	if err := json.Unmarshal(value, &u); err != nil {
		return nil, err
	}
	if u.Who != who {
		return nil, errors.New("it is somebody else's")
	}
	pk, err := l.past(id, u)
	if err == nil {
		pk.terms.Era, pk.terms.Tasks = era.Modern, true
	}
	return pk, err
}

// past makes a call that is over from what was kept of it.
func (l *Lot) past(id string, u uncollected) (*Call, error) {
	msg, err := wire.Scan(u.Message, l.limits.Scan)
	if err != nil {
		return nil, err
	}
	pk := l.New(Terms{Who: u.Who, Era: u.Era, Backend: u.Backend, Name: u.Name, Away: u.Away})
	pk.id, pk.created, pk.updated, pk.revived, pk.over = id, u.Created, u.Updated, true, true
	pk.Begin(&msg, func(*ask.Error) {})
	switch {
	case u.Code != "":
		pk.result.Err = ask.Errorf(u.Code, u.Why)
	case u.Working:
		pk.result.Err = lostWork(nil)
	default:
		if pk.result.Reply.Msg, err = wire.Scan(u.Reply, l.limits.Scan); err != nil {
			return nil, err
		}
	}
	close(pk.done)
	return pk, nil
}

// lostWork is what a client hears that was told to call again, of a call that
// did not outlive the gateway.
func lostWork(cause error) *ask.Error {
	return ask.Wrap(ask.BackendLost, "The gateway was restarted, and the work that this call had begun was lost with it. A further call starts anew.", cause)
}

// Restore takes up the calls from before a restart whose clients were told to
// call again, those that were not revived: their responses are there, or lost.
// It comes after the desk's Restore, and before the first call.
func (l *Lot) Restore(ctx context.Context) error {
	if l.results == nil {
		return nil
	}
	return l.results.Restore(ctx, l.toldShelf(), func(value []byte) error {
		var u uncollected
		if err := json.Unmarshal(value, &u); err != nil {
			return err
		}
		return l.restore(u)
	})
}

func (l *Lot) restore(u uncollected) error {
	l.mu.Lock()
	taken := l.calls[u.ID] != nil
	l.mu.Unlock()
	if taken {
		return nil
	}
	pk, err := l.past(u.ID, u)
	if err != nil {
		return err
	}
	pk.told = true
	return pk.await(pk.readmit)
}

// await waits for the call to be repeated, once admit has let it in.
func (pk *Call) await(admit func() error) error {
	key, err := pk.same()
	if err != nil {
		return err
	}
	if err := admit(); err != nil {
		return err
	}
	pk.mu.Lock()
	if pk.over {
		pk.expireLater()
	}
	pk.mu.Unlock()
	pk.lot.tell(pk, key)
	return nil
}
