//go:build crash

package crash

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// What becomes of the next call after a kill.
const (
	goesOn = "it goes on"
	asks   = "the person is asked to connect"
)

// runs is the moment at which the backend runs the call, with the new token.
const runs = "the backend runs the call"

// refreshPoints are all the moments of a refresh at which the gateway dies,
// and what becomes of the next call: the person is asked only where the
// refresh token may have been shown and what it brought was not stored. At
// its start a gateway stores the time and its epoch; the third thing is the
// announcement, the fourth what the refresh brought.
var refreshPoints = []struct {
	name  string
	first string // a moment at which another gateway dies before, "" for none
	next  string
}{
	{"grant.announce.before", "", goesOn}, // nobody knows of the refresh
	{"journal.put.before:3", "", goesOn},  // nor does the store yet
	{"journal.put.after:3", "", asks},     // it is announced
	{"grant.announce.after", "", asks},    // and not made
	{onItsWay, "", asks},
	{answered, "", asks},
	{"grant.renew.before", "", asks},   // the gateway has its tokens, the store has not
	{"journal.put.before:4", "", asks}, // nor yet
	{"journal.put.after:4", "", goesOn},
	{"grant.renew.after", "", goesOn}, // they are stored, and nobody has used them
	{runs, "", goesOn},
	{"grant.lose.before", answered, asks}, // it was found that a gateway died
	{"grant.lose.after", answered, asks},  // and that is stored
}

// A gateway dies at every moment of a refresh, with a real provider that takes
// the second use of a refresh token for theft. The next call goes on, or asks
// the person to connect and goes on when they have, and is run once. No
// refresh token is shown twice.
func TestARefreshSurvivesAKillAtEachPoint(t *testing.T) {
	p := newProvider(t)
	for _, point := range refreshPoints {
		t.Run(point.name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, p)
			expired := a.connect()
			if point.first != "" {
				a.dies(expired, point.first)
				a.dies(expired, point.name)
			} else {
				a.dies(expired, point.name)
			}
			before := a.backend.Count("tools/call")
			if (before > 0) != (point.name == runs) {
				t.Errorf("the backend was called %d times before the gateway died", before)
			}

			g := a.site.up(a.site.start())
			m := a.call(g, "")
			next := goesOn
			if m.Result.ResultType == "input_required" {
				next = asks
				m = a.asked(g, m)
			}
			if next != point.next {
				t.Errorf("the gateway died: %s. Of the next call: %s, want %s", point.name, next, point.next)
			}
			if got, _ := m.value(); got != "ran" {
				t.Errorf("the next call: %+v", m)
			}
			if n := a.backend.Count("tools/call") - before; n != 1 {
				t.Errorf("the next call was run %d times", n)
			}
			// What there is now lasts.
			if got, _ := a.call(g, "").value(); got != "ran" {
				t.Error("the call after that does not go on")
			}
			for _, n := range p.uses(a.resource) {
				if n != 1 {
					t.Errorf("a refresh token was shown %d times", n)
				}
			}
		})
	}
}

// account is somebody's at a server behind a gateway.
type account struct {
	t        *testing.T
	site     *site
	provider *provider
	backend  *rig.Backend
	resource string
	http     *http.Client
	client   *client
}

func newAccount(t *testing.T, p *provider) *account {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	a := &account{t: t, provider: p, http: &http.Client{Transport: transport}}
	a.client = &client{http: a.http}
	a.backend = rig.NewBackend(t, map[string]rig.Script{"tools/call work": func(c *rig.Call) {
		p.hook(a.resource, runs)
		c.Result(`{"resultType":"complete","content":[{"type":"text","text":"accept ran"}]}`)
	}})
	a.backend.ModernOnly = true
	a.resource = protected(t, p, a.backend)
	a.site = newSite(t, "backends:\n  one: { url: "+a.resource+", grant: { kind: oauth } }\n")
	return a
}

// connect connects the account, and gives when its token has expired.
func (a *account) connect() time.Time {
	a.t.Helper()
	g := a.site.up(a.site.start())
	a.agree(g, g.base+"/connect/one")
	expired := time.Now().Add(time.Second)
	g.kill()
	return expired
}

// agree connects the account at the page behind a link.
func (a *account) agree(g *gateway, link string) {
	a.t.Helper()
	who, err := g.visit(a.t.Context(), a.http)
	if err == nil {
		err = who.connect(a.t.Context(), link)
	}
	if err != nil {
		a.t.Fatalf("the account could not be connected: %v", err)
	}
}

// dies has a gateway die at a moment of the refresh that a call makes
// necessary.
func (a *account) dies(expired time.Time, moment string) {
	a.t.Helper()
	g := a.site.up(a.site.start("ANSWERBACK_KILL_AT=" + moment))
	a.provider.on(a.resource, func(when string) {
		if when == moment {
			g.kill()
		}
	})
	<-time.After(time.Until(expired)) // the token has to be too old
	if m, err := a.client.modernCall(a.t.Context(), g, "work", "url", `,"arguments":{}`); err == nil {
		a.t.Errorf("the call outlived its gateway: %+v", m)
	}
	a.site.dies(g)
	a.provider.on(a.resource, nil)
}

// call makes the call.
func (a *account) call(g *gateway, rest string) *message {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	m, err := a.client.modernCall(ctx, g, "work", "url", `,"arguments":{}`+rest)
	if err != nil || m.failure() != nil {
		a.t.Fatalf("the call: %v %v", err, m.failure())
	}
	return m
}

// asked does what a call asks for, and comes back for its result.
func (a *account) asked(g *gateway, m *message) *message {
	a.t.Helper()
	for _, input := range m.Result.Inputs {
		var q struct{ Params struct{ URL string } }
		if err := json.Unmarshal(input, &q); err != nil {
			a.t.Fatal(err)
		}
		a.agree(g, q.Params.URL)
	}
	return a.call(g, `,"requestState":"`+m.Result.RequestState+`","inputResponses":{"q1":{"action":"accept"}}`)
}
