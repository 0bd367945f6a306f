package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/webguard"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const public = "http://127.0.0.1:8080"

var ada = ask.Principal{Issuer: "https://issuer.example", Subject: "ada"}

// kit is the API with a real desk behind it and the real guard before it.
type kit struct {
	http.Handler
	t    testing.TB
	desk *desk.Desk
	doc  *openAPI

	minted    atomic.Int64
	mu        sync.Mutex
	log       strings.Builder
	heard     map[string][]ask.Outcome // what askers were told
	deaf      error                    // what askers say to that
	fail      error                    // what the desk answers, where set
	uncounted error                    // what it answers to attempts, where set
}

func newKit(t testing.TB) *kit { return newKitWith(t, func(*Config) {}) }

func newKitWith(t testing.TB, change func(*Config)) *kit {
	t.Helper()
	k := &kit{t: t, doc: described(t), heard: map[string][]ask.Outcome{}}
	log := slog.New(slog.NewTextHandler(k, nil))
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 30, MaxAudit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	k.desk, err = desk.New(desk.Config{
		Now: time.Now, Log: log,
		Mint:  func(a ask.Addressee) string { return fmt.Sprintf("ask-%d-%d", shardOf(a), k.minted.Add(1)) },
		Shard: shardOf,
		Key: func(id string) (journal.Key, error) {
			shard, _, ok := strings.Cut(strings.TrimPrefix(id, "ask-"), "-")
			n, err := strconv.Atoi(shard)
			if !ok || err != nil || !strings.HasPrefix(id, "ask-") {
				return journal.Key{}, errors.New("no id")
			}
			return journal.Key{Home: "home", Shard: uint16(n), ID: id}, nil
		},
		Journal: store, Keep: time.Hour,
		Seal:       func(_ string, plain []byte) []byte { return plain },
		Unseal:     func(_ string, sealed []byte) ([]byte, error) { return sealed, nil },
		MaxTimeout: time.Hour, Terms: ask.Terms{Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		Timeout: func(ask.Kind) time.Duration { return 5 * time.Minute },
		MaxOpen: 10_000, MaxOpenPerSession: 10_000, MaxOpenPerPrincipal: 10_000, RatePerMinute: 10_000, Burst: 10_000,
		Digest: func(answer []byte) []byte { return answer[:min(len(answer), 8)] },
		Audit:  func(desk.Record) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	forms, err := office.New(k.desk, form.NewCache(nil, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Desk: failing{k}, Forms: forms, Who: whoOf, Log: log}
	change(&cfg)
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := webguard.New(webguard.Config{PublicURL: public, Log: log, Refuse: Refuse})
	if err != nil {
		t.Fatal(err)
	}
	k.Handler = guard.API(h)
	t.Cleanup(func() {
		_ = k.desk.Close(context.Background()) // says which asks are open
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return k
}

// shardOf tells the addressees of these tests apart.
func shardOf(a ask.Addressee) uint16 {
	n := uint16(0)
	for _, c := range a.Principal.Subject + "/" + a.Group {
		n = n*31 + uint16(c)
	}
	return n
}

// failing is the kit's desk, or its failure.
type failing struct{ k *kit }

func (f failing) Look(ctx context.Context, id string, who desk.Viewer, surface string) (desk.View, error) {
	if f.k.fail != nil {
		return desk.View{}, f.k.fail
	}
	return f.k.desk.Look(ctx, id, who, surface)
}

func (f failing) Waiting(who desk.Viewer, limit int) []desk.View { return f.k.desk.Waiting(who, limit) }

func (f failing) Submit(id string, who desk.Viewer, surface string, a ask.Answer) (desk.Receipt, error) {
	if f.k.fail != nil {
		return desk.Receipt{}, f.k.fail
	}
	return f.k.desk.Submit(id, who, surface, a)
}

func (f failing) Attempted(id string, who desk.Viewer, surface string) (desk.Attempts, error) {
	if f.k.uncounted != nil {
		return desk.Attempts{}, f.k.uncounted
	}
	return f.k.desk.Attempted(id, who, surface)
}

func (f failing) Extend(id string, who desk.Viewer, surface string, by time.Duration, least int) (desk.View, error) {
	if f.k.fail != nil {
		return desk.View{}, f.k.fail
	}
	return f.k.desk.Extend(id, who, surface, by, least)
}

// expired is a credential's refusal that says how to answer it.
type expired struct{}

func (expired) Error() string            { return "expired" }
func (expired) Challenge() (int, string) { return 401, `Bearer error="invalid_token"` }

// whoOf takes "ada" or "bob@approvers" for a token.
func whoOf(r *http.Request) (desk.Viewer, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return desk.Viewer{}, errors.New("no token")
	case token == "expired":
		return desk.Viewer{}, expired{}
	case token == "nobody":
		return desk.Viewer{}, nil
	}
	name, group, _ := strings.Cut(token, "@")
	v := desk.Viewer{Principal: ask.Principal{Issuer: ada.Issuer, Subject: name}}
	if group != "" {
		v.Groups = []string{group}
	}
	return v, nil
}

func (k *kit) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Write(p)
}

func (k *kit) logged() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.String()
}

// put asks a question that waits on no client.
func (k *kit) put(a ask.Ask) (id string) {
	return k.desk.Ask(a, desk.Ways{Page: true}, desk.Asker{Settled: func(out ask.Outcome) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.heard[string(a.Params)] = append(k.heard[string(a.Params)], out)
		return k.deaf
	}})
}

// answers are what the askers were told, as the results that they got.
func (k *kit) answers() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, outs := range k.heard {
		for _, out := range outs {
			all = append(all, string(out.Answer.Result))
		}
	}
	slices.Sort(all)
	return all
}

func (k *kit) wantHeard(want ...string) {
	k.t.Helper()
	slices.Sort(want)
	if got := k.answers(); !slices.Equal(got, want) {
		k.t.Errorf("askers heard %q, want %q", got, want)
	}
}

// formAsk is a question to ada with these params.
func formAsk(params string) ask.Ask {
	return ask.Ask{
		Kind: ask.Form, Method: "elicitation/create", Params: []byte(params),
		Backend: "deploy", During: "tools/call", Name: "release", Client: "editor", Addressee: ask.Addressee{Principal: ada},
	}
}

// asking is a question to ada for these properties.
func asking(properties, required string) ask.Ask {
	return formAsk(`{"message":"A few details","requestedSchema":{"type":"object","properties":` + properties + `,"required":` + required + `}}`)
}

func urlAsk() ask.Ask {
	a := formAsk(`{"mode":"url","message":"Sign in","url":"https://tracker.example/in"}`)
	a.Kind = ask.URL
	return a
}

// response is what came back, checked against the document.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

func (k *kit) send(r *http.Request) *response {
	k.t.Helper()
	sent := ""
	if r.Body != nil {
		raw, _ := io.ReadAll(r.Body)
		sent = string(raw)
		r.Body = io.NopCloser(strings.NewReader(sent))
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	got := &response{k.t, w.Code, w.Header(), w.Body.String()}
	if err := k.doc.check(r, sent, got); err != nil {
		k.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	return got
}

func request(method, path, as, body string) *http.Request {
	r := httptest.NewRequest(method, public+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+as)
	}
	return r
}

func (k *kit) get(path, as string) *response {
	k.t.Helper()
	return k.send(request(http.MethodGet, path, as, ""))
}

func (k *kit) post(path, as, body string) *response {
	k.t.Helper()
	return k.send(request(http.MethodPost, path, as, body))
}

func (r *response) want(status int, parts ...string) *response {
	r.t.Helper()
	if r.status != status {
		r.t.Errorf("status %d, want %d: %s", r.status, status, r.body)
	}
	for _, p := range parts {
		if !strings.Contains(r.body, p) {
			r.t.Errorf("the response does not have %s: %s", p, r.body)
		}
	}
	return r
}
