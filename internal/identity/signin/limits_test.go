package signin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/identity/signin"
)

// door is a way to a provider that can be closed, or left without an answer.
type door struct {
	next http.RoundTripper
	mu   sync.Mutex
	shut bool
	hang bool
	came int
}

func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	d.came++
	shut, hang := d.shut, d.hang
	d.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if shut {
		return nil, errors.New("connection refused")
	}
	return d.next.RoundTrip(r)
}

func (d *door) set(shut, hang bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut, d.hang, d.came = shut, hang, 0
}

func (d *door) visits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.came
}

func newDoorRig(t testing.TB) (*rig, *door) {
	d := &door{}
	g := newRig(t, func(c *signin.Config) {
		d.next = c.HTTP.Transport
		c.HTTP = &http.Client{Transport: d}
	})
	return g, d
}

func TestProviderIsFoundWhenItComesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDoorRig(t)
		if d.visits() != 0 {
			t.Error("the start asked the provider")
		}
		d.set(true, false)
		for range 10 {
			if r := g.browser().get("/signin?provider=one"); r.StatusCode != http.StatusBadGateway {
				t.Errorf("status %d", r.StatusCode)
			}
		}
		if d.visits() != 1 {
			t.Errorf("a provider that is down was asked %d times at once", d.visits())
		}
		if e := g.seen.last(); e.Reason != signin.ProviderFailed || e.Issuer != issuerOne {
			t.Errorf("%+v", e)
		}
		d.set(false, false)
		time.Sleep(5 * time.Second)
		g.browser().signIn()
		g.browser().signIn()
		if n := g.one.discoveries.Load(); n != 1 {
			t.Errorf("found %d times", n)
		}
		if n := g.one.keyFetches.Load(); n != 1 {
			t.Errorf("keys fetched %d times", n)
		}
	})
}

func TestManyWaitForOneDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, d := newDoorRig(t)
		d.set(false, true)
		begun := time.Now()
		for range 50 {
			go func() {
				if r := g.browser().get("/signin?provider=one"); r.StatusCode != http.StatusBadGateway {
					t.Errorf("status %d", r.StatusCode)
				}
			}()
		}
		// Somebody who goes away does not keep waiting, nor end it for the rest.
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b := g.browser()
		b.send(b.request("GET", "/signin?provider=one", nil).WithContext(ctx))
		if waited := time.Since(begun); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if d.visits() != 1 {
			t.Errorf("asked %d times", d.visits())
		}
	})
}

func TestDiscoveryOutlivesWhoBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(c *signin.Config) { c.HTTP = &http.Client{Transport: slow{c.HTTP.Transport}} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			b := g.browser()
			b.send(b.request("GET", "/signin?provider=one", nil).WithContext(ctx))
		}()
		synctest.Wait()
		g.browser().begin("/")
		if n := g.one.discoveries.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// slow takes two seconds, unless given up before.
type slow struct{ next http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(2 * time.Second):
		return s.next.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestExchangeAndKeysEndInTime(t *testing.T) {
	for _, part := range []string{"/token", "/jwks"} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, func(c *signin.Config) {
				c.HTTP = &http.Client{Transport: hangAt{next: c.HTTP.Transport, path: part}}
			})
			b := g.browser()
			back := b.answer()
			begun := time.Now()
			if r := b.get(back); r.StatusCode < 400 || time.Since(begun) != 10*time.Second {
				t.Errorf("%s: status %d after %v", part, r.StatusCode, time.Since(begun))
			}
		})
	}
}

type hangAt struct {
	next http.RoundTripper
	path string
}

func (h hangAt) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == h.path {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return h.next.RoundTrip(r)
}

func TestSignInsUnderWayAreBounded(t *testing.T) {
	g := newRig(t, func(c *signin.Config) { c.MaxFlows = 3 })
	first, second := g.browser(), g.browser()
	pushedOut, kept := first.answer(), second.answer()
	g.browser().begin("/")
	g.browser().begin("/")
	first.get(pushedOut)
	if e := g.seen.last(); e.Reason != signin.UnknownFlow {
		t.Errorf("%+v", e)
	}
	second.get(kept)
	if _, ok := second.person(); !ok {
		t.Error("a sign-in within the limit was refused")
	}
}

func TestSessionsOfOnePersonPushOutTheirOwnLongestUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(c *signin.Config) { c.PerPerson = 2 })
		g.one.subject = "bob"
		bob := g.browser()
		bob.signIn()
		g.one.subject = "alice"
		var alice [3]*browser
		for i := range alice {
			time.Sleep(2 * time.Minute)
			alice[i] = g.browser()
			if i == 2 {
				alice[0].person() // used again, so the second is now the older
				time.Sleep(time.Second)
			}
			alice[i].signIn()
		}
		for b, want := range map[*browser]bool{bob: true, alice[0]: true, alice[1]: false, alice[2]: true} {
			if _, ok := b.person(); ok != want {
				t.Errorf("signed in: %v, want %v", ok, want)
			}
		}
	})
}

func TestSessionsAreBoundedAndEndedOnesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(c *signin.Config) { c.MaxSessions = 2 })
		signIn := func(who string) *http.Response {
			g.one.subject = who
			b := g.browser()
			return b.get(b.answer())
		}
		signIn("a")
		signIn("b")
		r := signIn("c")
		if p := pageOf(t, r); r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(p.Message, "Too many") {
			t.Errorf("status %d, %+v", r.StatusCode, p)
		}
		if e := g.seen.last(); e.Reason != signin.TooMany || e.Issuer != issuerOne {
			t.Errorf("%+v", e)
		}
		time.Sleep(time.Hour)
		if r := signIn("c"); r.StatusCode != http.StatusSeeOther {
			t.Errorf("after the others ended: status %d", r.StatusCode)
		}
	})
}

func TestEndedSessionsMakeRoomBesideOlderOnesInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(c *signin.Config) { c.MaxSessions = 2 })
		older := g.browser()
		older.signIn()
		time.Sleep(time.Minute)
		g.browser().signIn()
		time.Sleep(49 * time.Minute)
		older.person()
		time.Sleep(12 * time.Minute)
		g.browser().signIn()
		if _, ok := older.person(); !ok {
			t.Error("the session in use made room")
		}
	})
}

func TestUseKeepsASessionOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.browser()
		b.signIn()
		for range 23 {
			time.Sleep(30 * time.Minute)
			if _, ok := b.person(); !ok {
				t.Fatalf("ended after %v", 30*time.Minute)
			}
		}
		time.Sleep(30*time.Minute - time.Second)
		if _, ok := b.person(); !ok {
			t.Error("ended before its age")
		}
		time.Sleep(time.Second)
		if _, ok := b.person(); ok {
			t.Error("goes on after its age")
		}
	})
}

// shelf is a Store that keeps JSON, can be closed, and can be slow to read.
type shelf struct {
	mu     sync.Mutex
	kept   map[string][]byte
	broken error
	onGet  func()
}

func (s *shelf) Put(_ context.Context, key string, r signin.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(r)
	if err == nil && s.broken == nil {
		s.kept[key] = text
	}
	return errors.Join(err, s.broken)
}

func (s *shelf) Get(_ context.Context, key string) (r signin.Record, ok bool, err error) {
	s.mu.Lock()
	text, ok := s.kept[key]
	err = s.broken
	s.mu.Unlock()
	if ok {
		err = errors.Join(err, json.Unmarshal(text, &r))
	}
	if s.onGet != nil {
		s.onGet()
	}
	return r, ok, err
}

func (s *shelf) Touch(ctx context.Context, key string, seen time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r signin.Record
	if text, ok := s.kept[key]; ok && s.broken == nil {
		_ = json.Unmarshal(text, &r)
		r.Seen = seen
		s.kept[key], _ = json.Marshal(r)
	}
	return s.broken
}

func (s *shelf) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		delete(s.kept, key)
	}
	return s.broken
}

func TestStoreMayBeElsewhereAndFailsClosed(t *testing.T) {
	store := &shelf{kept: map[string][]byte{}}
	g := newRig(t, func(c *signin.Config) { c.Store = store })
	b := g.browser()
	b.signIn()
	who, ok := b.person()
	if !ok || !who.Claims.Has("groups", "ops") {
		t.Fatalf("%+v, %v", who, ok)
	}
	for key, text := range store.kept {
		if strings.Contains(key+string(text), b.cookies[sessionCookie]) {
			t.Error("the store has the cookie")
		}
	}
	store.broken = errors.New("disk on fire")
	if _, ok := b.person(); ok {
		t.Error("signed in although the store cannot be read")
	}
	if r := b.copyOf().get(b.answer()); r.StatusCode != http.StatusServiceUnavailable || g.seen.last().Reason != signin.StoreFailed {
		t.Errorf("status %d, %+v", r.StatusCode, g.seen.last())
	}
	store.broken = nil
	store.onGet = func() { store.broken = errors.New("disk on fire") }
	if r := b.post("/signout", nil); r.StatusCode != http.StatusServiceUnavailable || b.cookies[sessionCookie] == "" {
		t.Errorf("told to be signed out: status %d", r.StatusCode)
	}
	store.onGet, store.broken = nil, nil
	for key := range store.kept {
		var r signin.Record
		if err := json.Unmarshal(store.kept[key], &r); err != nil {
			t.Fatal(err)
		}
		r.Claims = json.RawMessage(`"not an object"`)
		store.kept[key], _ = json.Marshal(r)
	}
	if _, ok := b.person(); ok {
		t.Error("signed in with claims that cannot be read")
	}
}

func TestUseDoesNotBringBackASessionThatWasSignedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.browser()
		b.signIn()
		time.Sleep(2 * time.Minute)
		stolen := b.copyOf()
		if n := race(50, func() bool { stolen.person(); b.copyOf().post("/signout", nil); return true }); n != 50 {
			t.Fatal(n)
		}
		if _, ok := stolen.person(); ok {
			t.Error("signed in again")
		}
	})
}

func TestSignOutWithoutSessionTouchesNoCookie(t *testing.T) {
	g := newRig(t)
	w := httptest.NewRecorder()
	g.s.Handler().ServeHTTP(w, g.browser().request("POST", "/signout", nil))
	if body, _ := io.ReadAll(w.Result().Body); w.Code != 200 || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), body)
	}
}

func TestServesLimitsWherePeopleAreSentBackTo(t *testing.T) {
	g := newRig(t, func(c *signin.Config) { c.Serves = func(p string) bool { return p == "/" || p == "/asks/1" } })
	for target, want := range map[string]string{"/asks/1?x=y": "/asks/1?x=y", "/mcp": "/"} {
		b := g.browser()
		if to := b.location(b.get(path(t, g.one.authorize(b.begin(target))))); to != want {
			t.Errorf("%s sends to %s", target, to)
		}
	}
}
