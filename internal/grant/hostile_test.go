package grant

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/egress"
)

// A hostile resource or authorization server gets nobody connected, and no
// code or token that is not its own. Each attack changes one thing of a server
// with which connecting works.
func TestAttackHostileServers(t *testing.T) {
	says := func(key string, value any) func(w *world, s *server) {
		return func(w *world, s *server) { s.metadata = func(m map[string]any) { m[key] = value } }
	}
	named := func(key string, value any) func(w *world, s *server) {
		return func(w *world, s *server) { s.resource = func(m map[string]any) { m[key] = value } }
	}
	answers := func(change func(q url.Values)) func(w *world, s *server) {
		return func(w *world, s *server) { s.callback = change }
	}
	tokens := func(body string) func(w *world, s *server) {
		return func(w *world, s *server) {
			s.answers(func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = io.WriteString(w, body)
				return true
			})
		}
	}
	for name, evil := range map[string]func(w *world, s *server){
		"metadata of another issuer":              says("issuer", "https://honest.example"),
		"metadata whose issuer has a slash more":  func(w *world, s *server) { s.metadata = func(m map[string]any) { m["issuer"] = s.URL + "/" } },
		"no PKCE":                                 says("code_challenge_methods_supported", nil),
		"PKCE without S256":                       says("code_challenge_methods_supported", []string{"plain"}),
		"token endpoint over http":                says("token_endpoint", "http://honest.example/token"),
		"authorization endpoint over http":        says("authorization_endpoint", "http://honest.example/authorize"),
		"authorization endpoint that is a script": says("authorization_endpoint", "javascript:alert(1)"),
		"authorization endpoint with a user":      says("authorization_endpoint", "https://u:p@honest.example/"),
		"token endpoint that is a file":           says("token_endpoint", "file:///etc/passwd"),
		"registration endpoint over http":         says("registration_endpoint", "http://honest.example/register"),
		"no token endpoint":                       says("token_endpoint", ""),
		"no registration and nobody knows us":     says("registration_endpoint", ""),
		"metadata of the wrong shape":             says("scopes_supported", 7),
		"resource metadata of another resource":   named("resource", "https://honest.example/mcp"),
		"resource metadata of a neighbour":        func(w *world, s *server) { s.resource = func(m map[string]any) { m["resource"] = s.URL + "/mc" } },
		"resource metadata without a server":      named("authorization_servers", []string{}),
		"authorization server over http":          named("authorization_servers", []string{"http://honest.example"}),
		"authorization server with a query": func(w *world, s *server) {
			s.resource = func(m map[string]any) { m["authorization_servers"] = []string{s.URL + "?x=1"} }
		},
		"answer of another issuer":                    answers(func(q url.Values) { q.Set("iss", "https://honest.example") }),
		"answer of an issuer with a slash more":       answers(func(q url.Values) { q.Set("iss", q.Get("iss")+"/") }),
		"answer without the issuer that was promised": answers(func(q url.Values) { q.Del("iss") }),
		"answer with two issuers":                     answers(func(q url.Values) { q.Add("iss", "https://honest.example") }),
		"answer with two codes":                       answers(func(q url.Values) { q.Add("code", "x") }),
		"answer with a code and an error":             answers(func(q url.Values) { q.Set("error", "access_denied") }),
		"answer with a huge code":                     answers(func(q url.Values) { q.Set("code", strings.Repeat("x", 5000)) }),
		"answer that is a refusal":                    answers(func(q url.Values) { q.Del("code"); q.Set("error", "server_error") }),
		"code of somebody else":                       answers(func(q url.Values) { q.Set("code", "stolen") }),
		"token that is not a bearer token":            tokens(`{"access_token":"x","token_type":"DPoP"}`),
		"token with a line break":                     tokens(`{"access_token":"x\r\nX-Evil: 1","token_type":"Bearer"}`),
		"no token":                                    tokens(`{"token_type":"Bearer"}`),
		"token answer that is no JSON":                tokens(`access_token=x`),
		"huge token answer":                           tokens(`{"access_token":"` + strings.Repeat("x", 1<<20) + `","token_type":"Bearer"}`),
		"huge metadata":                               says("padding", strings.Repeat("x", 1<<20)),
		"huge resource metadata":                      named("padding", strings.Repeat("x", 1<<20)),
		"token endpoint that redirects": func(w *world, s *server) {
			elsewhere := newServer(w.t)
			s.answers(func(rw http.ResponseWriter, r *http.Request) bool {
				http.Redirect(rw, r, elsewhere.URL+"/token", http.StatusTemporaryRedirect)
				return true
			})
			elsewhere.answers(func(http.ResponseWriter, *http.Request) bool { w.t.Error("a code was sent on"); return false })
		},
		"metadata that redirects": func(w *world, s *server) {
			elsewhere := newServer(w.t)
			moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/.well-known/oauth-authorization-server", http.StatusFound))
			w.t.Cleanup(moved.Close)
			s.resource = func(m map[string]any) { m["authorization_servers"] = []string{moved.URL} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			try := func() error {
				to, err := w.Begin(t.Context(), annHere, "tracker", "")
				if err != nil {
					return err
				}
				_, err = w.Finish(t.Context(), annHere, "tracker", w.as.authorize(to))
				return err
			}
			evil(w, w.as)
			if err := try(); err == nil {
				t.Error("connected")
			} else if e := ask.From(err); strings.Contains(e.Message, "honest") || e.Code == ask.Internal {
				t.Errorf("refused with %v", err)
			}
			w.needs(ann, Never)
			w.as.metadata, w.as.resource, w.as.callback = nil, nil, nil
			w.as.answers(nil)
			if err := try(); err != nil { // the control
				t.Errorf("control: %v\n%s", err, w.log)
			}
		})
	}
}

// An issuer mix-up between two servers that do not say who they are: the code
// of the honest one, brought back in the flow of the evil one, is shown to
// neither, because each backend has a callback of its own.
func TestAttackMixUpOfSilentServers(t *testing.T) {
	w := newWorld(t)
	evil := newServer(t)
	silent := func(m map[string]any) { delete(m, "authorization_response_iss_parameter_supported") }
	drop := func(q url.Values) { q.Del("iss") }
	w.as.metadata, w.as.callback, evil.metadata, evil.callback = silent, drop, silent, drop
	client := egress.ForNamed(w.as.URL)
	t.Cleanup(client.CloseIdleConnections)
	if err := w.SetBackends([]Backend{
		{Name: "tracker", URL: w.as.URL + "/mcp", Kind: OAuth, HTTP: client},
		{Name: "evil", URL: evil.URL + "/mcp", Kind: OAuth, HTTP: client},
	}); err != nil {
		t.Fatal(err)
	}
	honest := w.as.authorize(w.begin(annHere))
	to, err := w.Begin(t.Context(), annHere, "evil", "")
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(to)
	q, _ := url.ParseQuery(honest)
	q.Set("state", u.Query().Get("state"))
	evil.answers(func(_ http.ResponseWriter, r *http.Request) bool {
		t.Errorf("the evil server got the code %q", r.PostForm.Get("code"))
		return false
	})
	// The honest server sends the browser to the callback that it knows.
	if _, err := w.Finish(t.Context(), annHere, "tracker", q.Encode()); ask.CodeOf(err) != ask.BadState {
		t.Errorf("got %v", err)
	}
	if _, err := w.Finish(t.Context(), annHere, "tracker", honest); err != nil { // the control
		t.Error(err)
	}
}

// Servers cannot make the gateway fetch what is private: a backend elsewhere
// that names addresses of this machine or network is refused at the dial.
func TestAttackMetadataPointsToPrivateAddresses(t *testing.T) {
	w := newWorld(t)
	reached := func(name string, change func(m map[string]any), resource bool) {
		inside := newServer(t)
		inside.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s: the private server was reached", name) })
		// The backend is trusted by its address alone, as one elsewhere is.
		client := egress.ForNamed()
		t.Cleanup(client.CloseIdleConnections)
		trusted := client.Transport.(*http.Transport)
		dial, backendAt := trusted.DialContext, strings.TrimPrefix(w.as.URL, "http://")
		plain := egress.ForIssuers()
		t.Cleanup(plain.CloseIdleConnections)
		trusted.DialContext = func(ctx context.Context, network, address string) (c net.Conn, err error) {
			if address == backendAt {
				return plain.Transport.(*http.Transport).DialContext(ctx, network, address)
			}
			return dial(ctx, network, address)
		}
		set := func(m map[string]any) {
			change(m)
			for k, v := range m {
				if s, ok := v.(string); ok {
					m[k] = strings.ReplaceAll(s, "INSIDE", inside.URL)
				}
				if l, ok := v.([]string); ok && len(l) == 1 {
					m[k] = []string{strings.ReplaceAll(l[0], "INSIDE", inside.URL)}
				}
			}
		}
		if err := w.SetBackends([]Backend{{Name: "tracker", URL: w.as.URL + "/mcp", Kind: OAuth, HTTP: client}}); err != nil {
			t.Fatal(err)
		}
		if resource {
			w.as.resource = set
		} else {
			w.as.metadata = set
		}
		to, err := w.Begin(t.Context(), annHere, "tracker", "")
		if err == nil {
			_, err = w.Finish(t.Context(), annHere, "tracker", w.as.authorize(to))
		}
		if err == nil {
			t.Errorf("%s: connected", name)
		}
		w.as.resource, w.as.metadata = nil, nil
		w.connect(annHere) // the control
		if _, err := w.Revoke(t.Context(), ann, "tracker"); err != nil {
			t.Error(err)
		}
	}
	reached("authorization server", func(m map[string]any) { m["authorization_servers"] = []string{"INSIDE"} }, true)
	reached("token endpoint", func(m map[string]any) { m["token_endpoint"] = "INSIDE/token" }, false)
}
