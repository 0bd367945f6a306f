package grant

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

// Fifty calls at once, at two gateways, and one refresh.
func TestFiftyCallsOneRefresh(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	second := w.another()
	w.clock.pass(time.Hour)
	var wg sync.WaitGroup
	for i := range 50 {
		g := w.Grants
		if i%2 == 1 {
			g = second
		}
		wg.Go(func() {
			u, err := g.For(t.Context(), ann, "tracker")
			if err != nil || u.Value.Reveal() != "Bearer canary-access-2" {
				t.Errorf("%d: %q, %v", i, u.Value.Reveal(), err)
			}
		})
	}
	wg.Wait()
	if n := w.as.refreshes["canary-refresh-1"]; n != 1 || len(w.as.refreshes) != 1 {
		t.Errorf("refreshed: %v", w.as.refreshes)
	}
	w.clock.pass(time.Hour)
	w.has(ann, "canary-access-3")
	if n := w.as.refreshes["canary-refresh-2"]; n != 1 {
		t.Errorf("the rotated token was shown %d times", n)
	}
}

func TestATokenIsRefreshedAMinuteEarly(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.clock.pass(58 * time.Minute)
	w.has(ann, "canary-access-1")
	w.clock.pass(time.Minute + time.Second)
	w.has(ann, "canary-access-2")
}

// A token that lives for a minute or less is used for half of its life.
func TestAShortTokenIsUsed(t *testing.T) {
	w := newWorld(t)
	w.as.life = 60
	w.connect(annHere)
	w.has(ann, "canary-access-1")
	w.clock.pass(29 * time.Second)
	w.has(ann, "canary-access-1")
	w.clock.pass(time.Second)
	w.has(ann, "canary-access-2")
	w.has(ann, "canary-access-2")
}

func TestWhatCannotBeRefreshedEnds(t *testing.T) {
	w := newWorld(t)
	w.as.life = 100
	w.as.answers(func(rw http.ResponseWriter, r *http.Request) bool {
		reply(rw, 200, map[string]any{"access_token": "canary-short", "token_type": "bearer", "expires_in": "100"})
		return true
	})
	w.connect(annHere)
	w.clock.pass(99 * time.Second)
	w.has(ann, "canary-short")
	w.clock.pass(time.Second)
	w.needs(ann, Expired)
}

func TestAWithdrawnGrantMustBeConnectedAgain(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.as.valid = map[string]bool{}
	w.clock.pass(time.Hour)
	w.needs(ann, Withdrawn)
	w.needs(ann, Withdrawn)
	if n := w.as.refreshes["canary-refresh-1"]; n != 1 {
		t.Errorf("the token was shown %d times", n)
	}
	w.connect(annHere)
	w.has(ann, "canary-access-2")
}

// A backend that refuses a token early gets a new one once; if it refuses that
// too, the person is asked, and nothing loops.
func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	old := w.has(ann, "canary-access-1")
	if !w.Refused(t.Context(), ann, "tracker", old, challenge(`Bearer error="invalid_token"`)) {
		t.Fatal("there is no other token")
	}
	fresh := w.has(ann, "canary-access-2")
	if !w.Refused(t.Context(), ann, "tracker", old, challenge("Bearer")) {
		t.Error("a late refusal of the old token ends the new one")
	}
	w.has(ann, "canary-access-2")
	if w.Refused(t.Context(), ann, "tracker", fresh, challenge("Bearer")) {
		t.Error("a third token is asked for")
	}
	w.needs(ann, Rejected)
	if len(w.as.refreshes) != 1 {
		t.Errorf("refreshed: %v", w.as.refreshes)
	}
}

// Fifty calls are refused with the same token: it is renewed once, and all of
// them go on.
func TestFiftyRefusalsOneRefresh(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	old := w.has(ann, "canary-access-1")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if !w.Refused(t.Context(), ann, "tracker", old, challenge("Bearer")) {
				t.Error("a call does not go on")
			}
		})
	}
	wg.Wait()
	w.has(ann, "canary-access-2")
	if len(w.as.refreshes) != 1 || w.as.refreshes["canary-refresh-1"] != 1 {
		t.Errorf("refreshed: %v", w.as.refreshes)
	}
}

// The authorization server being away disconnects nobody: what is still good
// is used, and the rest works again when the server does.
func TestAnOutageDisconnectsNobody(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	for name, fail := range map[string]func(rw http.ResponseWriter, r *http.Request) bool{
		"broken":  func(rw http.ResponseWriter, _ *http.Request) bool { rw.WriteHeader(503); return true },
		"busy":    func(rw http.ResponseWriter, _ *http.Request) bool { rw.WriteHeader(429); return true },
		"cut off": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
	} {
		w.as.answers(fail)
		w.clock.pass(59*time.Minute + 30*time.Second)
		if _, err := w.For(t.Context(), ann, "tracker"); err != nil {
			t.Errorf("%s: a token that is good is not used: %v", name, err)
		}
		w.clock.pass(time.Minute)
		if _, err := w.For(t.Context(), ann, "tracker"); ask.CodeOf(err) != ask.BackendUnreachable {
			t.Errorf("%s: %v", name, err)
		}
		w.as.answers(nil)
		w.clock.pass(retryAfter)
		if _, err := w.For(t.Context(), ann, "tracker"); err != nil {
			t.Errorf("%s: it does not recover: %v", name, err)
		}
	}
}

// A grant for one server is not sent to another that took over its name.
func TestAGrantIsForOneServer(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.config = func(b *Backend) { b.URL = w.as.URL + "/other" }
	w.start()
	w.needs(ann, Moved)
	w.config = nil
	w.start()
	w.has(ann, "canary-access-1") // the control
}

// dying is the store of a process that dies at a point: from then on nothing
// it does has an effect.
type dying struct {
	journal.Shelf
	left   *int // operations until it dies
	before bool // it dies before the operation, not after it
	mu     *sync.Mutex
}

var errDead = &journal.Error{Reason: journal.Full, Message: "the process is dead"}

func (d dying) alive() (does, tells bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*d.left--
	return *d.left > 0 || *d.left == 0 && !d.before, *d.left > 0
}

func (d dying) Get(ctx context.Context, key string) (journal.Item, error) {
	does, tells := d.alive()
	if !does || !tells {
		return journal.Item{}, errDead
	}
	return d.Shelf.Get(ctx, key)
}

func (d dying) Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error) {
	does, tells := d.alive()
	if !does {
		return journal.Rev{}, errDead
	}
	next, err := d.Shelf.Put(ctx, key, rev, value, ttl)
	if !tells {
		return journal.Rev{}, errDead
	}
	return next, err
}

// The process dies at every point of a refresh, before and after each access
// to the store: the grant is then good, with a refresh token that was never
// shown before, or it must be connected again and says why. No refresh token
// is ever shown twice.
func TestDyingInARefreshLosesNothingSilently(t *testing.T) {
	outcomes := map[string]int{}
	for point := 1; point <= 8; point++ {
		for _, before := range []bool{true, false} {
			w := newWorld(t)
			w.connect(annHere)
			w.clock.pass(time.Hour)
			left := point
			w.shelf = func(s journal.Shelf) journal.Shelf { return dying{s, &left, before, &sync.Mutex{}} }
			_, err := w.another().For(t.Context(), ann, "tracker")
			w.shelf = nil
			finished := err == nil
			w.clock.pass(attemptTime)
			w.start()
			u, err := w.For(t.Context(), ann, "tracker")
			n, needed := errors.AsType[*Needed](err)
			switch {
			case err == nil:
				outcomes["good"]++
				w.clock.pass(time.Hour)
				if _, err := w.For(t.Context(), ann, "tracker"); err != nil {
					t.Errorf("point %d: good once, and then %v", point, err)
				}
			case needed && n.Why == Interrupted:
				outcomes["interrupted"]++
				if finished {
					t.Errorf("point %d: lost after it was used", point)
				}
			default:
				t.Errorf("point %d: %v, %v", point, u, err)
			}
			for token, times := range w.as.refreshes {
				if times > 1 {
					t.Errorf("point %d, before %v: %s was shown %d times", point, before, token, times)
				}
			}
		}
	}
	if outcomes["good"] == 0 || outcomes["interrupted"] == 0 {
		t.Errorf("not every outcome was seen: %v", outcomes)
	}
}

// A gateway that has its store for itself need not wait to see whether a
// refresh that was announced is still under way: it is not.
func TestAnInterruptedRefreshIsNotWaitedForAlone(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.clock.pass(time.Hour)
	r, err := w.load(t.Context(), ann, "tracker")
	if err != nil {
		t.Fatal(err)
	}
	r.Attempt = w.clock.Now().Add(attemptTime)
	if _, err := w.save(t.Context(), r.record, r.rev); err != nil {
		t.Fatal(err)
	}
	// The control: among others it is waited for.
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.For(soon, ann, "tracker"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("among others: %v", err)
	}
	w.alone = true
	w.start()
	w.needs(ann, Interrupted)
	if len(w.as.refreshes) != 0 {
		t.Errorf("the token was shown: %v", w.as.refreshes)
	}
}

// Where a server leaves refresh tokens as they are, an interrupted refresh is
// simply repeated.
func TestDyingIsHarmlessWhereTokensStay(t *testing.T) {
	w := newWorld(t)
	w.as.stays = true
	w.connect(annHere)
	w.clock.pass(time.Hour)
	w.has(ann, "canary-access-2") // it is known from here on
	for point := 1; point <= 8; point++ {
		w.clock.pass(time.Hour)
		left := point
		w.shelf = func(s journal.Shelf) journal.Shelf { return dying{s, &left, false, &sync.Mutex{}} }
		_, _ = w.another().For(t.Context(), ann, "tracker")
		w.shelf = nil
		w.clock.pass(attemptTime)
		w.start()
		if _, err := w.For(t.Context(), ann, "tracker"); err != nil {
			t.Errorf("point %d: %v", point, err)
		}
	}
}

// flaky is a store that does what it is told and says that it did not answer.
type flaky struct {
	journal.Shelf
	fail *int // how many of the next writes
}

func (f flaky) Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error) {
	next, err := f.Shelf.Put(ctx, key, rev, value, ttl)
	if *f.fail > 0 && err == nil {
		*f.fail--
		return journal.Rev{}, &journal.Error{Reason: journal.Unavailable, Message: "no answer"}
	}
	return next, err
}

func TestAWriteOfUnknownFateIsRepeated(t *testing.T) {
	w := newWorld(t)
	fail := 0
	w.shelf = func(s journal.Shelf) journal.Shelf { return flaky{s, &fail} }
	w.start()
	fail = 1
	w.connect(annHere)
	w.has(ann, "canary-access-1")
	w.as.answers(func(http.ResponseWriter, *http.Request) bool { fail = 1; return false })
	w.clock.pass(time.Hour)
	w.has(ann, "canary-access-2")
	w.start()
	w.has(ann, "canary-access-2")
}

// A grant that is revoked in the middle of its refresh stays revoked, and what
// the refresh brought is given back.
func TestRevokedDuringARefresh(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.clock.pass(time.Hour)
	w.as.answers(func(http.ResponseWriter, *http.Request) bool {
		if _, err := w.Revoke(t.Context(), ann, "tracker"); err != nil {
			t.Error(err)
		}
		w.as.mu.Lock()
		w.as.valid["canary-refresh-1"] = true // the refresh came first
		w.as.mu.Unlock()
		return false
	})
	w.needs(ann, Never)
	w.Close(t.Context())
	w.as.mu.Lock()
	defer w.as.mu.Unlock()
	for _, token := range []string{"canary-refresh-1", "canary-refresh-2", "canary-access-2"} {
		found := false
		for _, r := range w.as.revoked {
			found = found || r == token
		}
		if !found {
			t.Errorf("%s was not given back: %v", token, w.as.revoked)
		}
	}
}
