//go:build conformance

package conformance

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"testing"
)

// TestControl shows that the runs can fail: a proxy that hides the Host header
// from the server is caught.
func TestControl(t *testing.T) {
	r := newRig(t)
	to, err := url.Parse(r.fixture(t, false))
	if err != nil {
		t.Fatal(err)
	}
	to.Path = ""
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(to) },
		FlushInterval: -1,
	})
	t.Cleanup(proxy.Close)

	res, _, err := r.suite(t, "server", "--url", proxy.URL+"/mcp", "--scenario", "dns-rebinding-protection")
	if err == nil {
		t.Error("the suite ended well behind a broken proxy")
	}
	caught := func(c Check) bool { return c.ID == "localhost-host-rebinding-rejected" && c.Status == "FAILURE" }
	if !slices.ContainsFunc(res, caught) {
		t.Errorf("the broken proxy was not caught: %+v", res)
	}
}
