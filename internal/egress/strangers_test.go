package egress

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestStrangersReachPublicAddressesOnly: what a caller named is not reached
// inside, by its address or by a name that leads there; what the operator
// trusts is, and nothing else beside it.
func TestStrangersReachPublicAddressesOnly(t *testing.T) {
	reached := 0
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ })
	trusted, other := httptest.NewServer(handler), httptest.NewServer(handler)
	defer trusted.Close()
	defer other.Close()
	s := ForStrangers(trusted.URL)
	defer s.CloseIdleConnections()
	do := func(address string) error {
		r, err := http.NewRequest(http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := do(trusted.URL + "/hook"); err != nil || reached != 1 {
		t.Errorf("the trusted receiver: %v", err)
	}
	u, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		other.URL, "https://" + u.Host, "https://localhost:" + u.Port(), "https://localhost.:" + u.Port(), "https://[::ffff:127.0.0.1]:" + u.Port(),
		"http://example.com/", "https://user@example.com/", "ftp://example.com/", "https:///path", "",
	} {
		if err := do(address); err == nil || reached != 1 {
			t.Errorf("%q was reached: %v", address, err)
		}
	}
	// What a name leads to is only known when it is dialled.
	resp, err := s.client.Post("https://localhost:"+u.Port(), "application/json", strings.NewReader("{}"))
	if err == nil {
		resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "not a public address") {
		t.Errorf("a name that leads inside: %v", err)
	}
	if err := s.Check("https://example.com/hook"); err != nil {
		t.Errorf("a public address: %v", err)
	}
}
