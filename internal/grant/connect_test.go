package grant

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/secret"
)

// C6, C8: who connects has the grant, and nobody else.
func TestConnectingGivesWhatToSend(t *testing.T) {
	w := newWorld(t)
	w.needs(ann, Never)
	wanted := w.Wanted(ann, "tracker")
	w.connect(annHere)
	<-wanted
	u := w.has(ann, "canary-access-1")
	h := http.Header{}
	u.Apply(h)
	if h.Get("Authorization") != "Bearer canary-access-1" {
		t.Errorf("the header is %v", h)
	}
	w.needs(bob, Never)
	q := w.as.asked[0]
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "client-1", "redirect_uri": "https://gateway.example/connect/tracker/callback",
		"resource": w.as.URL + "/mcp", "code_challenge_method": "S256",
	} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	<-w.Wanted(ann, "tracker") // it is there already
	if u, err := w.For(t.Context(), ann, "other"); err != nil || u.Header != "" {
		t.Errorf("a backend without grants: %v, %v", u, err)
	}
}

func TestAKeyIsEnteredOnce(t *testing.T) {
	w := newWorld(t)
	if _, err := w.EnterKey(t.Context(), annHere, "keyed", "", secret.New("line\nbreak")); ask.CodeOf(err) != ask.BadMessage {
		t.Errorf("a key with a line break: %v", err)
	}
	if _, err := w.EnterKey(t.Context(), annHere, "tracker", "", secret.New("k")); ask.CodeOf(err) != ask.UnknownBackend {
		t.Errorf("a key for a backend that takes none: %v", err)
	}
	done, err := w.EnterKey(t.Context(), annHere, "keyed", "ask-7", secret.New(" canary-key \n"))
	if err != nil || done.Ask != "ask-7" {
		t.Fatal(done, err)
	}
	u, err := w.For(t.Context(), ann, "keyed")
	if err != nil || u.Header != "X-Api-Key" || u.Value.Reveal() != "k canary-key" {
		t.Fatalf("%s, %v", u.Header, err)
	}
	if w.Refused(t.Context(), ann, "keyed", u, challenge("")) {
		t.Error("a key that was refused is worth sending again")
	}
	if _, err := w.For(t.Context(), ann, "keyed"); err == nil || err.(*Needed).Why != Rejected {
		t.Errorf("after the refusal: %v", err)
	}
}

// C8: a connection belongs to who began it, where they began it. Each attack
// fails, and beside it the same step of the right person succeeds.
func TestAttackSomebodyElsesConnection(t *testing.T) {
	for name, attack := range map[string]func(w *world) (Visit, string, string){
		"the answer opened by another person": func(w *world) (Visit, string, string) {
			return bobHere, "tracker", w.as.authorize(w.begin(annHere))
		},
		"begun by the attacker, opened by the victim": func(w *world) (Visit, string, string) {
			return annHere, "tracker", w.as.authorize(w.begin(bobHere))
		},
		"in another browser session": func(w *world) (Visit, string, string) {
			return annThere, "tracker", w.as.authorize(w.begin(annHere))
		},
		"at the callback of another backend": func(w *world) (Visit, string, string) {
			return annHere, "other", w.as.authorize(w.begin(annHere))
		},
		"with a state that was never made": func(w *world) (Visit, string, string) {
			q, _ := url.ParseQuery(w.as.authorize(w.begin(annHere)))
			q.Set("state", strings.Repeat("A", 43))
			return annHere, "tracker", q.Encode()
		},
		"a second time": func(w *world) (Visit, string, string) {
			q := w.as.authorize(w.begin(annHere))
			if _, err := w.Finish(w.t.Context(), annHere, "tracker", q); err != nil {
				w.t.Fatal(err)
			}
			if _, err := w.Revoke(w.t.Context(), ann, "tracker"); err != nil {
				w.t.Fatal(err)
			}
			return annHere, "tracker", q
		},
		"too late": func(w *world) (Visit, string, string) {
			q := w.as.authorize(w.begin(annHere))
			w.clock.pass(10 * time.Minute)
			return annHere, "tracker", q
		},
		"without a session": func(w *world) (Visit, string, string) {
			return Visit{Who: ann}, "tracker", w.as.authorize(w.begin(annHere))
		},
		"nobody": func(w *world) (Visit, string, string) {
			return Visit{Session: "x"}, "tracker", w.as.authorize(w.begin(annHere))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.config = nil
			other := Backend{Name: "other", URL: w.as.URL + "/mcp", Kind: OAuth, HTTP: w.backend("tracker").HTTP}
			if err := w.SetBackends([]Backend{w.backend("tracker").Backend, other}); err != nil {
				t.Fatal(err)
			}
			v, backend, query := attack(w)
			exchanged := w.as.issued
			if _, err := w.Finish(t.Context(), v, backend, query); ask.CodeOf(err) != ask.BadState && ask.CodeOf(err) != ask.UnknownBackend {
				t.Errorf("got %v", err)
			}
			for _, who := range []ask.Principal{ann, bob, {}} {
				for _, b := range []string{"tracker", "other"} {
					if u, err := w.For(t.Context(), who, b); err == nil {
						t.Errorf("%v has %v for %s", who, u, b)
					}
				}
			}
			if w.as.issued != exchanged {
				t.Error("the code was shown to the server")
			}
			w.connect(annHere) // the control
			w.has(ann, "canary-access-"+string(rune('0'+w.as.issued)))
		})
	}
}

// An attack does not use the flow up: the person it belongs to goes on.
func TestAttackDoesNotSpoilTheConnection(t *testing.T) {
	w := newWorld(t)
	q := w.as.authorize(w.begin(annHere))
	for _, v := range []Visit{bobHere, annThere} {
		if _, err := w.Finish(t.Context(), v, "tracker", q); ask.CodeOf(err) != ask.BadState {
			t.Fatalf("%v: %v", v, err)
		}
	}
	done, err := w.Finish(t.Context(), annHere, "tracker", q)
	if err != nil || done.Ask != "ask-1" {
		t.Fatal(done, err)
	}
}

// 100 redeem one answer at once: one succeeds, one code is shown.
func TestManyFinishOneConnection(t *testing.T) {
	w := newWorld(t)
	q := w.as.authorize(w.begin(annHere))
	var wg sync.WaitGroup
	results := make(chan error, 100)
	for range 100 {
		wg.Go(func() {
			_, err := w.Finish(t.Context(), annHere, "tracker", q)
			results <- err
		})
	}
	wg.Wait()
	close(results)
	n := 0
	for err := range results {
		if err == nil {
			n++
		} else if ask.CodeOf(err) != ask.BadState {
			t.Error(err)
		}
	}
	if n != 1 || w.as.issued != 1 {
		t.Errorf("%d succeeded, %d tokens were issued", n, w.as.issued)
	}
}

func TestConnectionsUnderWayAreBounded(t *testing.T) {
	w := newWorld(t)
	for range maxFlows {
		w.begin(annHere)
	}
	if _, err := w.Begin(t.Context(), annHere, "tracker", ""); ask.CodeOf(err) != ask.TooManyOpen {
		t.Errorf("one more: %v", err)
	}
	w.begin(bobHere) // somebody else is not in the way
}

// Scopes: what the backend wants, else what its metadata lists; with all that
// was asked for before.
func TestScopesAddUp(t *testing.T) {
	w := newWorld(t)
	w.as.resource = func(m map[string]any) { m["scopes_supported"] = []string{"listed"} }
	w.begin(annHere)
	_ = w.as.authorize(w.begin(annHere))
	if got := w.as.asked[0].Get("scope"); got != "listed" {
		t.Errorf("at first %q is asked for", got)
	}
	if w.Refused(t.Context(), ann, "tracker", Use{}, challenge(`Bearer scope="read", resource_metadata="`+w.as.URL+`/.well-known/oauth-protected-resource/mcp"`)) {
		t.Error("without a grant there is nothing to send again")
	}
	w.connect(annHere)
	if got := w.as.asked[1].Get("scope"); got != "read" {
		t.Errorf("after the challenge %q is asked for", got)
	}
	u := w.has(ann, "canary-access-1")
	wanted := w.Wanted(ann, "tracker")
	<-wanted // it is connected
	if w.Refused(t.Context(), ann, "tracker", u, challenge(`Bearer error="insufficient_scope", scope="write"`)) {
		t.Error("the same token is worth sending again")
	}
	wanted = w.Wanted(ann, "tracker")
	w.has(ann, "canary-access-1") // it is good for other calls
	plan, err := w.Plan(t.Context(), annHere, "tracker")
	if err != nil || plan.Why != MoreScopes || !slices.Equal(plan.Scopes, []string{"read", "write"}) || plan.Address != w.as.URL+"/authorize" {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	select {
	case <-wanted:
		t.Error("more access is there before anybody gave it")
	default:
	}
	w.connect(annHere)
	<-wanted
	if got := w.as.asked[2].Get("scope"); got != "read write" {
		t.Errorf("to step up %q is asked for", got)
	}
	w.has(ann, "canary-access-2")
}

// The gateway registers once with a server, and not with what another server
// gave it.
func TestRegistrationIsKeptAndBelongsToItsServer(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.connect(bobHere)
	if w.as.registered != 1 {
		t.Errorf("registered %d times", w.as.registered)
	}
	second := newServer(t)
	w.as.resource = func(m map[string]any) { m["authorization_servers"] = []string{second.URL} }
	u := w.has(ann, "canary-access-1")
	if w.Refused(t.Context(), ann, "tracker", u, challenge("Bearer")) {
		t.Error("the token of the old server is worth sending again")
	}
	w.needs(ann, Moved)
	if n := w.as.refreshes["canary-refresh-1"]; n != 0 {
		t.Errorf("the old server was asked %d times", n)
	}
	to := w.begin(annHere)
	if !strings.HasPrefix(to, second.URL+"/authorize?") || second.registered != 1 {
		t.Errorf("sent to %s, registered %d times there", to, second.registered)
	}
}

func TestAConfiguredClientGoesFirst(t *testing.T) {
	w := newWorld(t)
	w.config = func(b *Backend) { b.ClientID, b.ClientSecret = "configured", secret.New("canary-configured") }
	w.start()
	w.connect(annHere)
	if got := w.as.asked[0].Get("client_id"); got != "configured" || w.as.registered != 0 {
		t.Errorf("known as %q, registered %d times", got, w.as.registered)
	}
	w.config = func(b *Backend) { b.ClientID = "renamed" }
	w.start()
	w.clock.pass(2 * time.Hour)
	w.needs(ann, Moved)
}

func TestTheMetadataDocumentGoesBeforeRegistration(t *testing.T) {
	w := newWorld(t)
	w.as.metadata = func(m map[string]any) { m["client_id_metadata_document_supported"] = true }
	w.connect(annHere)
	const at = "https://gateway.example/connect/tracker/client.json"
	if got := w.as.asked[0].Get("client_id"); got != at || w.as.registered != 0 {
		t.Errorf("known as %q, registered %d times", got, w.as.registered)
	}
	d, ok := w.Document("tracker")
	if !ok || d.ClientID != at || !slices.Equal(d.Redirects, []string{"https://gateway.example/connect/tracker/callback"}) || !slices.Contains(d.GrantTypes, "refresh_token") {
		t.Errorf("the document is %+v, %v", d, ok)
	}
	if _, ok := w.Document("keyed"); ok {
		t.Error("there is a document for a backend that takes keys")
	}
}

// A backend that nobody called yet is asked what it wants, and where it
// describes itself.
func TestABackendIsAskedWhatItWants(t *testing.T) {
	w := newWorld(t)
	w.as.challenge = `Bearer resource_metadata="HERE/elsewhere/metadata", scope="only-said-here"`
	w.as.resource = func(m map[string]any) { m["resource"] = "https://honest.example" } // the usual place is of no use
	w.connect(annHere)
	if got := w.as.asked[0].Get("scope"); got != "only-said-here" {
		t.Errorf("%q is asked for", got)
	}
	w.as.challenge = ""
	if _, err := w.Begin(t.Context(), bobHere, "tracker", ""); ask.CodeOf(err) != ask.BackendBroken {
		t.Errorf("without the challenge: %v", err)
	}
}
