package egress

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, c Config) *http.Client {
	t.Helper()
	client := ForBackends(c)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestRedirectIsReturnedAndNotFollowed(t *testing.T) {
	followed := false
	mux := http.NewServeMux()
	mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/new", func(http.ResponseWriter, *http.Request) { followed = true })
	srv := httptest.NewServer(mux)
	defer srv.Close()

	resp, err := newClient(t, Config{}).Post(srv.URL+"/old", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect || followed {
		t.Fatalf("status %d, followed %v; want the redirect itself", resp.StatusCode, followed)
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:9")
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:9")
	if proxy := newClient(t, Config{}).Transport.(*http.Transport).Proxy; proxy != nil {
		t.Fatal("the transport has a proxy function")
	}
}

func TestCompressionIsNeitherAskedForNorUndone(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked", r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte("as it stands"))
	}))
	defer srv.Close()
	resp, err := newClient(t, Config{}).Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("X-Asked"); got != "" {
		t.Errorf("asked for encoding %q", got)
	}
	if resp.Uncompressed || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Error("the body was decompressed on the way")
	}
}

func TestResponseHeadersAreBounded(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 8<<10))
	}))
	defer srv.Close()
	resp, err := newClient(t, Config{MaxResponseHeads: 4 << 10}).Get(srv.URL)
	if err == nil {
		resp.Body.Close()
		t.Fatal("headers beyond the limit were accepted")
	}
	resp, err = newClient(t, Config{}).Get(srv.URL)
	if err != nil {
		t.Fatalf("headers within the default limit: %v", err)
	}
	resp.Body.Close()
}

func TestSpeaksHTTP2WhereTheServerDoes(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	client := newClient(t, Config{})
	client.Transport.(*http.Transport).TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	resp, err := client.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("X-Proto"); got != "HTTP/2.0" {
		t.Fatalf("spoke %s, want HTTP/2.0", got)
	}
}
