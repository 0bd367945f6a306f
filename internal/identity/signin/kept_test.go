package signin_test

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/identity/signin"
)

// A session that outlived a change of the configuration is worth what the new
// one says: nothing where whoever vouched for it is not asked any more.
func TestKeptSessionIsHeldToTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{kept: map[string][]byte{}}
		use := func(c *signin.Config) { c.Store = store }
		before := newRig(t, use)
		b := before.browser()
		b.signIn()
		elsewhere := func(change func(*signin.Config)) bool {
			t.Helper()
			g := newRig(t, use, change)
			other := g.browser()
			other.cookies = b.cookies
			_, ok := other.person()
			return ok
		}
		if !elsewhere(func(*signin.Config) {}) {
			t.Fatal("control: the same configuration does not know it")
		}
		if elsewhere(func(c *signin.Config) { c.Providers = c.Providers[1:] }) {
			t.Error("signed in by a provider that is gone")
		}
		time.Sleep(30 * time.Minute)
		if elsewhere(func(c *signin.Config) { c.SessionAge = 20 * time.Minute }) {
			t.Error("signed in for longer than is configured now")
		}
	})
}

// Nobody stays the local person where people have to sign in.
func TestLocalSessionEndsWhereProvidersAreConfigured(t *testing.T) {
	store := &shelf{kept: map[string][]byte{}}
	local := newLocalRig(t, func(c *signin.Config) { c.Store = store })
	b := local.browser()
	b.post("/signin/local", url.Values{"token": {tokenOf(local)}})
	if _, ok := b.person(); !ok {
		t.Fatal("control: nobody is signed in")
	}
	g := newRig(t, func(c *signin.Config) { c.Store = store })
	other := g.browser()
	other.cookies = b.cookies
	if who, ok := other.person(); ok {
		t.Errorf("%v is signed in", who.Principal)
	}
}

// The local sign-in lasts for 30 days, used or not.
func TestLocalSessionLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLocalRig(t)
		b := g.browser()
		b.post("/signin/local", url.Values{"token": {tokenOf(g)}})
		time.Sleep(30*24*time.Hour - time.Second)
		if _, ok := b.person(); !ok {
			t.Error("ended before its time")
		}
		time.Sleep(time.Second)
		if _, ok := b.person(); ok {
			t.Error("goes on after its time")
		}
	})
}

// Who posts without being signed in hears what to do, and comes back.
func TestLocalPostWithoutASession(t *testing.T) {
	g := newLocalRig(t)
	b := g.browser()
	r := b.send(b.request("GET", "/signin?return=%2Fasks%2F1", nil))
	if p := pageOf(t, r); !strings.Contains(p.Message, "answerback signin") {
		t.Errorf("%+v", p)
	}
	if to := b.location(b.post("/signin/local", url.Values{"token": {tokenOf(g)}})); to != "/asks/1" {
		t.Errorf("sent to %s", to)
	}
	if to := b.location(b.post("/signin/local", url.Values{"token": {tokenOf(g)}})); to != "/" {
		t.Errorf("sent to %s the second time", to)
	}
}
