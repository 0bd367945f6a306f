package page

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/webguard"
)

const public = "http://127.0.0.1:8080"

// gateway is the pages with the real desk, sign-in and guard around them.
type gateway struct {
	http.Handler
	t       *testing.T
	desk    *desk.Desk
	signin  *signin.Signin
	audit   []desk.Record
	cookies []*http.Cookie
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{t: t}
	log := slog.New(slog.DiscardHandler)
	pages := NewPages(log)
	var minted atomic.Int64
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 20, MaxAudit: 10})
	if err != nil {
		t.Fatal(err)
	}
	g.desk, err = desk.New(desk.Config{
		Now: time.Now, Log: log,
		Mint:  func(ask.Addressee) string { return fmt.Sprintf("ask-%d", minted.Add(1)) },
		Shard: func(ask.Addressee) uint16 { return 0 },
		Key: func(id string) (journal.Key, error) {
			if !strings.HasPrefix(id, "ask-") {
				return journal.Key{}, ask.Errorf(ask.Unknown, "There is no such question.")
			}
			return journal.Key{Home: "home", ID: id}, nil
		},
		Journal: store, Keep: time.Hour, Digest: func([]byte) []byte { return nil },
		Seal:       func(_ string, plain []byte) []byte { return plain },
		Unseal:     func(_ string, sealed []byte) ([]byte, error) { return sealed, nil },
		MaxTimeout: time.Hour, Terms: ask.Terms{Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		Timeout: func(ask.Kind) time.Duration { return 5 * time.Minute },
		MaxOpen: 10, MaxOpenPerSession: 10, MaxOpenPerPrincipal: 10, RatePerMinute: 100, Burst: 100,
		Audit: func(r desk.Record) { g.audit = append(g.audit, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.desk.Close(t.Context()); err != nil {
			t.Log(err)
		}
	})
	g.signin, err = signin.New(signin.Config{PublicURL: public, Local: true, Pages: pages, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := webguard.New(webguard.Config{
		PublicURL: public, Log: log, RefusePage: pages.Refuse,
		Refuse: func(w http.ResponseWriter, status int, e *ask.Error) { http.Error(w, e.Message, status) },
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(Config{
		Desk: g.desk, People: g.signin, Guard: guard, Log: log, Now: time.Now,
		Groups: identity.Groups(nil).Of,
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/signin", g.signin.Handler())
	mux.Handle("/signin/", g.signin.Handler())
	mux.Handle("/signout", g.signin.Handler())
	mux.Handle("/", h)
	g.Handler = guard.Browser(mux)
	return g
}

// visit is one request of the browser, which keeps its cookies.
func (g *gateway) visit(method, path string, form url.Values) *page {
	g.t.Helper()
	r := httptest.NewRequest(method, public+path, strings.NewReader(form.Encode()))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", public)
	}
	for _, c := range g.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		g.cookies = set
	}
	p := &page{t: g.t, status: w.Code, header: w.Header(), body: w.Body.String()}
	if strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
		p.root = parse(g.t, p.body)
		p.check()
		if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
			g.t.Errorf("content security policy %q", csp)
		}
	}
	return p
}

func TestPersonSignsInAndAnswers(t *testing.T) {
	g := newGateway(t)
	outcomes := make(chan ask.Outcome, 4)
	asker := desk.Asker{Settled: func(o ask.Outcome) error { outcomes <- o; return nil }}
	mine := g.desk.Ask(ask.Ask{
		Kind: ask.Form, Method: "elicitation/create", Backend: "deploy-server", Addressee: ask.Addressee{Principal: identity.Local},
		Params: []byte(`{"message":"Where to?","requestedSchema":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}}`),
	}, desk.Ways{Client: shown{}}, asker)
	theirs := g.desk.Ask(ask.Ask{
		Kind: ask.Form, Method: "elicitation/create", Backend: "deploy-server",
		Addressee: ask.Addressee{Principal: ask.Principal{Issuer: identity.KeyIssuer, Subject: "robot"}}, Params: []byte(`{"message":"Secret?"}`),
	}, desk.Ways{Client: shown{}}, asker)

	p := g.visit(http.MethodGet, "/asks/"+mine, nil)
	p.want(303)
	if to := p.header.Get("Location"); !strings.HasPrefix(to, "/signin?") {
		t.Fatalf("a stranger is sent to %s", to)
	}
	p = g.visit(http.MethodGet, strings.TrimPrefix(g.signin.LocalLink(), public), nil)
	p.want(200)
	p.says("Sign in on this computer?")
	g.visit(http.MethodPost, "/signin/local", url.Values{"token": {p.root.all("form")[0].all("input")[0].attr["value"]}}).want(303)

	g.visit(http.MethodGet, "/", nil).says("1 question is waiting for you", "Where to?")
	never := g.visit(http.MethodGet, "/asks/never-was", nil)
	p = g.visit(http.MethodGet, "/asks/"+theirs, nil)
	p.want(404)
	if strip(p) != strip(never) {
		t.Error("somebody else's question can be told from none")
	}
	found := false
	for _, r := range g.audit {
		found = found || r.Ask == theirs && r.Transition == "not_yours" && r.By == identity.Local && r.Surface == "page"
	}
	if !found {
		t.Errorf("who looked at somebody else's question is not on record: %+v", g.audit)
	}

	form := g.visit(http.MethodGet, "/asks/"+mine, nil).typed()
	form.Set("action", "accept")
	p = g.visit(http.MethodPost, "/asks/"+mine, form)
	p.want(422)
	form = p.typed()
	form.Set("action", "accept")
	form.Set("f0", "Ireland")
	g.visit(http.MethodPost, "/asks/"+mine, form).want(200)
	if o := <-outcomes; string(o.Answer.Result) != `{"action":"accept","content":{"to":"Ireland"}}` || o.By != identity.Local || o.Surface != "page" {
		t.Errorf("outcome %+v", o)
	}
	p = g.visit(http.MethodPost, "/asks/"+mine, form)
	p.want(410)
	p.says("You have answered this question")

	out := g.visit(http.MethodPost, "/signout", nil)
	out.want(200)
	out.says("You are signed out")
	g.visit(http.MethodPost, "/asks/"+theirs, form).want(401)
	g.visit(http.MethodGet, "/", nil).want(303)
}

// strip takes out the token, which says when it was made.
func strip(p *page) string {
	for _, in := range p.root.all("input") {
		if in.attr["name"] == TokenField {
			return strings.ReplaceAll(p.body, in.attr["value"], "")
		}
	}
	return p.body
}

type shown struct{}

func (shown) Show(*ask.Ask) error         { return nil }
func (shown) Withdraw(string, *ask.Error) {}
