package page

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/identity"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ada = ask.Principal{Issuer: "https://issuer.example", Subject: "ada"}
	bob = ask.Principal{Issuer: "https://issuer.example", Subject: "bob"}
	now = time.Date(2026, 11, 15, 14, 28, 0, 0, time.UTC)
)

// maxMore is how often people may have more time in these tests.
const maxMore = 10

// script is a desk with given asks that remembers what it was given.
type script struct {
	mu         sync.Mutex
	open       map[string]*ask.Ask
	ended      map[string]bool
	outcomes   map[string]*desk.View // how asks ended, where that is remembered
	extended   []time.Duration
	extendErr  error // what Extend gives, where set
	attempts   int
	attemptErr error  // what Attempted gives, where set
	afterLook  func() // is called once, after the next Look
	submitted  []ask.Answer
	receipt    desk.Receipt
	fail       error // what Submit gives, where set
	lookFail   error
	endedErr   error // what Ended gives
}

func (s *script) look(id string, who desk.Viewer) (*ask.Ask, error) {
	if s.ended[id] {
		return nil, ask.Errorf(ask.TooLate, "too late")
	}
	a := s.open[id]
	switch {
	case a == nil:
		return nil, ask.Errorf(ask.Unknown, "unknown")
	case a.Addressee.Group != "" && slices.Contains(who.Groups, a.Addressee.Group), a.Addressee.Principal == who.Principal:
		return a, nil
	}
	return nil, ask.Errorf(ask.NotYours, "not yours")
}

func (s *script) Look(_ context.Context, id string, who desk.Viewer, surface string) (desk.View, error) {
	s.mu.Lock()
	if then := s.afterLook; then != nil {
		s.afterLook = nil
		defer then()
	}
	defer s.mu.Unlock()
	if s.lookFail != nil {
		return desk.View{}, s.lookFail
	}
	if v := s.outcomes[id]; v != nil && v.Ask.Addressee.Principal == who.Principal {
		return *v, nil
	}
	a, err := s.look(id, who)
	if err != nil {
		return desk.View{}, err
	}
	return desk.View{Ask: *a, Extensions: len(s.extended)}, nil
}

func (s *script) Attempted(id string, who desk.Viewer, surface string) (desk.Attempts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.look(id, who)
	switch {
	case s.attemptErr != nil:
		return desk.Attempts{}, s.attemptErr
	case err != nil:
		return desk.Attempts{}, err
	}
	s.attempts++
	tries := desk.Attempts{Count: s.attempts, Limit: a.Terms.Attempts}
	if tries.Over() {
		s.outcomes[id] = &desk.View{Ask: *a, Outcome: &ask.Outcome{Ending: ask.Abandoned, Err: ask.Errorf(ask.FormInvalidated, "Enough.")}}
	}
	return tries, nil
}

func (s *script) Extend(id string, who desk.Viewer, surface string, by time.Duration, least int) (desk.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.look(id, who)
	switch {
	case s.extendErr != nil:
		return desk.View{}, s.extendErr
	case err != nil:
		return desk.View{}, err
	case a.Terms.NoExtension || len(s.extended) >= max(a.Terms.Extensions, least):
		return desk.View{}, ask.Errorf(ask.NotAllowed, "enough")
	}
	by = cmp.Or(by, a.Terms.Extension)
	s.extended = append(s.extended, by)
	a.Deadline = a.Deadline.Add(by)
	return desk.View{Ask: *a, Extensions: len(s.extended)}, nil
}

// end makes the desk remember how an ask ended.
func (k *kit) end(id string, v desk.View) {
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	v.Ask = *k.desk.open[id]
	k.desk.outcomes[id] = &v
}

func (s *script) Waiting(who desk.Viewer, limit int) []desk.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var views []desk.View
	for id := range s.open {
		if a, err := s.look(id, who); err == nil {
			views = append(views, desk.View{Ask: *a})
		}
	}
	slices.SortFunc(views, func(a, b desk.View) int { return a.Ask.Asked.Compare(b.Ask.Asked) })
	return views[:min(limit, len(views))]
}

// Ended gives the asks for somebody whose end is remembered, those that ended
// last first.
func (s *script) Ended(_ context.Context, who desk.Viewer, limit int) ([]desk.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var views []desk.View
	for _, v := range s.outcomes {
		to := v.Ask.Addressee
		if to.Principal == who.Principal || slices.Contains(who.Groups, to.Group) && v.Outcome.By == who.Principal {
			views = append(views, *v)
		}
	}
	slices.SortFunc(views, func(a, b desk.View) int { return b.Outcome.At.Compare(a.Outcome.At) })
	return views[:min(limit, len(views))], s.endedErr
}

func (s *script) Submit(id string, who desk.Viewer, surface string, answer ask.Answer) (desk.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return desk.Receipt{}, s.fail
	}
	if _, err := s.look(id, who); err != nil {
		return desk.Receipt{}, err
	}
	s.submitted = append(s.submitted, answer)
	s.ended[id] = true
	return s.receipt, nil
}

// headerPeople takes the person from a header of the test's own.
type headerPeople struct{}

const asHeader = "X-Test-As"

func (headerPeople) Person(r *http.Request) (identity.Person, bool) {
	subject := r.Header.Get(asHeader)
	return identity.Person{
		Principal: ask.Principal{Issuer: ada.Issuer, Subject: subject}, Name: "Name of " + subject,
		Claims: identity.Claims{"groups": []any{subject + "s"}},
	}, subject != ""
}

func (headerPeople) Session(r *http.Request) (string, bool) {
	subject := r.Header.Get(asHeader)
	return "session of " + subject, subject != "" && subject != "sessionless"
}

func (headerPeople) Challenge(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/signin?return="+url.QueryEscape(r.URL.Path), http.StatusSeeOther)
}

type hashGuard struct{}

func (hashGuard) Token(session, purpose string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + purpose))
	return hex.EncodeToString(sum[:])
}

func (g hashGuard) Check(session, purpose, token string) bool {
	return token == g.Token(session, purpose)
}

// kit is a Handler on a scripted desk.
type kit struct {
	*Handler
	t    testing.TB
	desk *script
	log  strings.Builder
}

func newKit(t testing.TB, asks ...ask.Ask) *kit {
	t.Helper()
	return newKitWith(t, nil, asks...)
}

// newKitWith is newKit with a place for files.
func newKitWith(t testing.TB, files Files, asks ...ask.Ask) *kit {
	t.Helper()
	k := &kit{t: t, desk: &script{open: map[string]*ask.Ask{}, ended: map[string]bool{}, outcomes: map[string]*desk.View{}}}
	for _, a := range asks {
		a.Terms = ask.Terms{
			Warn:       cmp.Or(a.Terms.Warn, time.Minute),
			Extension:  cmp.Or(a.Terms.Extension, 5*time.Minute),
			Extensions: cmp.Or(a.Terms.Extensions, 2), NoExtension: a.Terms.NoExtension,
			Attempts: cmp.Or(a.Terms.Attempts, 3),
		}
		k.desk.open[a.ID] = &a
	}
	h, err := New(Config{
		Desk: k.desk, People: headerPeople{}, Guard: hashGuard{},
		Log:        slog.New(slog.NewTextHandler(&k.log, nil)),
		Now:        func() time.Time { return now },
		Keep:       time.Hour,
		Extensions: maxMore,
		Files:      files,
		Groups: func(p identity.Person) []string {
			if p.Claims.Has("groups", "bobs") {
				return []string{"approvers"}
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	k.Handler = h
	return k
}

// formAsk is an ask for ada with these params.
func formAsk(params string) ask.Ask {
	return ask.Ask{
		ID: "ask1", Kind: ask.Form, Method: "elicitation/create", Params: []byte(params),
		Backend: "deploy-server", During: "tools/call", Name: "create_release",
		Addressee: ask.Addressee{Principal: ada},
		Asked:     now.Add(-40 * time.Second), Deadline: now.Add(4*time.Minute + 20*time.Second),
	}
}

func plainAsk() ask.Ask { return formAsk(`{"message":"Delete 14 stale branches?"}`) }

func urlAsk(address string) ask.Ask {
	a := formAsk(`{"mode":"url","message":"Sign in at the tracker","url":` + string(quote(address)) + `}`)
	a.Kind = ask.URL
	return a
}

// withSchema is an ask for ada with a form of these properties.
func withSchema(properties, required string) ask.Ask {
	return formAsk(`{"message":"A few details","requestedSchema":{"type":"object","properties":` + properties + `,"required":` + required + `}}`)
}

// withDefinition is an ask for ada with a form in the form language.
func withDefinition(definition string) ask.Ask {
	return formAsk(`{"formDefinition":` + definition + `}`)
}

// quote gives a string as JSON.
func quote(s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return q
}

// page is a response, parsed.
type page struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	root   *node
}

func (k *kit) do(r *http.Request) *page {
	k.t.Helper()
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	p := &page{t: k.t, status: w.Code, header: w.Header(), body: w.Body.String()}
	if strings.HasPrefix(p.header.Get("Content-Type"), "text/html") && p.status != http.StatusSeeOther {
		p.root = parse(k.t, p.body)
		p.check()
	}
	return p
}

func (k *kit) get(path, as string) *page {
	k.t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set(asHeader, as)
	return k.do(r)
}

func (k *kit) post(path, as string, form url.Values) *page {
	k.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set(asHeader, as)
	return k.do(r)
}

// press loads the page of an ask, fills fields in, and presses a button.
func (k *kit) press(id, as, action string, fields url.Values) *page {
	k.t.Helper()
	p := k.get("/asks/"+id, as)
	p.want(http.StatusOK)
	form := url.Values{}
	for name, values := range p.typed() {
		form[name] = values
	}
	for name, values := range fields {
		form[name] = values
	}
	form.Set("action", action)
	return k.post("/asks/"+id, as, form)
}

func (k *kit) submitted() []ask.Answer {
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	return k.desk.submitted
}

// wantNothingSent fails where an answer reached the desk.
func (k *kit) wantNothingSent() {
	k.t.Helper()
	if got := k.submitted(); len(got) != 0 {
		k.t.Errorf("%d answers reached the desk, want none: %s", len(got), got[0].Result)
	}
}

// wantSent fails unless exactly this answer reached the desk.
func (k *kit) wantSent(action ask.Action, result string) {
	k.t.Helper()
	got := k.submitted()
	if len(got) != 1 || got[0].Action != action || string(got[0].Result) != result || got[0].Error != nil {
		k.t.Errorf("the desk got %d answers %s, want %s %s", len(got), got, action, result)
	}
}

func (p *page) want(status int) {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("status %d, want %d:\n%s", p.status, status, p.body)
	}
}

// says fails unless the page's visible text has each of these.
func (p *page) says(texts ...string) {
	p.t.Helper()
	all := p.root.text()
	for _, s := range texts {
		if !strings.Contains(all, s) {
			p.t.Errorf("the page does not say %q:\n%s", s, all)
		}
	}
}

// buttons are the values of the buttons that answer.
func (p *page) buttons() []string {
	var values []string
	for _, b := range p.root.all("button") {
		if b.attr["name"] == "action" {
			values = append(values, b.attr["value"])
		}
	}
	return values
}

// typed is what a browser would post from the page's form without a button.
func (p *page) typed() url.Values {
	form := url.Values{}
	for _, f := range p.root.all("form") {
		if !strings.HasPrefix(f.attr["action"], "/asks/") {
			continue
		}
		for _, e := range f.all("input") {
			_, checked := e.attr["checked"]
			if _, disabled := e.attr["disabled"]; disabled {
				continue
			}
			if kind := e.attr["type"]; kind != "radio" && kind != "checkbox" || checked {
				form.Add(e.attr["name"], e.attr["value"])
			}
		}
		for _, e := range f.all("textarea") {
			form.Add(e.attr["name"], strings.TrimPrefix(e.text(), "\n"))
		}
		for _, e := range f.all("select") {
			for i, o := range e.all("option") {
				if _, selected := o.attr["selected"]; selected || i == 0 {
					form.Set(e.attr["name"], o.attr["value"])
				}
			}
		}
	}
	return form
}

// LeadTo shows where a page's forms may lead.
func (hashGuard) LeadTo(header http.Header, address string) { header.Set("X-Leads-To", address) }
