package egress

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// Addresses of servers of the internet are public, everything else is not,
// also where it is written into another kind of address.
func TestOnlyTheInternetIsPublic(t *testing.T) {
	for _, a := range []string{"1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8"} {
		if !IsPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as private", a)
		}
	}
	for _, a := range []string{
		"127.0.0.1", "127.255.0.1", "0.0.0.0", "10.1.2.3", "100.64.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.168.1.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
		"255.255.255.255", "168.63.129.16", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1",
		"64:ff9b:1::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1", "3fff::1", "fc00::1", "fd00::1", "fe80::1", "fe80::1%lo",
		"fec0::1", "ff02::1", "5f00::1", "100::1",
	} {
		if IsPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as public", a)
		}
	}
}

func TestNamedAddressesMustBePublic(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	get := func(address string, trusted ...string) error {
		client := ForNamed(trusted...)
		defer client.CloseIdleConnections()
		resp, err := client.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address string
		trusted []string
		reached bool
	}{
		{srv.URL, []string{srv.URL + "/mcp"}, true},                                       // the operator wrote it
		{srv.URL, []string{"http://localhost:1/mcp"}, true},                               // named by a server of this machine
		{srv.URL, []string{"https://mcp.example.com/mcp"}, false},                         // named by a server elsewhere
		{"http://localhost:" + port, []string{"https://mcp.example.com"}, false},          // by a name
		{"http://[::ffff:127.0.0.1]:" + port, []string{"https://mcp.example.com"}, false}, // in other clothes
		{srv.URL, nil, false},
	} {
		if err := get(c.address, c.trusted...); (err == nil) != c.reached {
			t.Errorf("%s, trusting %v: %v", c.address, c.trusted, err)
		} else if err != nil && !strings.Contains(err.Error(), "is not a public address") {
			t.Errorf("%s is refused with %v", c.address, err)
		}
	}
	// A server of this machine opens this machine alone.
	if err := get("http://169.254.169.254/", srv.URL); err == nil || !strings.Contains(err.Error(), "is not a public address") {
		t.Errorf("a link-local address: %v", err)
	}
}
