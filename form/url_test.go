package form_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/answerback/answerback/form"
)

// F15: hostile addresses, each beside its control: the same address with only
// the hostile part changed.
func TestHostileAddresses(t *testing.T) {
	rules := form.URLRules{Schemes: []string{"https"}}
	for _, c := range []struct{ hostile, constraint, control string }{
		{"http://example.com/", "allowedSchemes", "https://example.com/"},
		{"HTTPS://example.com/", "allowedSchemes", "https://EXAMPLE.com/"},
		{"javascript:alert(1)", "format", "https://example.com/alert(1)"},
		{"javascript://example.com/%0aalert(1)", "allowedSchemes", "https://example.com/%0aalert(1)"},
		{"data:text/html,x", "format", "https://example.com/text/html,x"},
		{"file:///etc/passwd", "allowedSchemes", "https://example.com/etc/passwd"},
		{"https:example.com", "format", "https://example.com"},
		{"https:/example.com", "format", "https://example.com"},
		{"https:///example.com", "format", "https://example.com/"},
		{"//example.com/", "format", "https://example.com//"},
		{"https://", "format", "https://a.example"},

		{"https://user@example.com/", "format", "https://example.com/user@"},
		{"https://user:pass@example.com/", "format", "https://example.com/?user:pass@"},
		{"https://example.com@10.0.0.1/", "format", "https://example.com/@10.0.0.1/"},
		{"https://example.com\\@10.0.0.1/", "format", "https://example.com/%5C@10.0.0.1/"},
		{"https:\\\\example.com\\", "format", "https://example.com/"},
		{"https://example.com/\t", "format", "https://example.com/%09"},
		{"https://exam\nple.com/", "format", "https://example.com/"},
		{"https://example.com/\x00", "format", "https://example.com/%00"},
		{"https://example.com/\u202e", "format", "https://example.com/%E2%80%AE"},
		{"https://example.com/a b", "format", "https://example.com/a%20b"},
		{" https://example.com/", "format", "https://example.com/"},
		{"https://exam%70le.com/", "format", "https://example.com/%70"},

		{"https://localhost/", "blockLocalhost", "https://localhost.example/"},
		{"https://LOCALHOST:8443/", "blockLocalhost", "https://EXAMPLE.com:8443/"},
		{"https://app.localhost/", "blockLocalhost", "https://app.example/"},
		{"https://localhost./", "format", "https://localhost.example/"},
		{"https://localhost.localdomain/", "blockLocalhost", "https://localhost.example.com/"},
		{"https://127.0.0.1/", "blockLocalhost", "https://1.1.1.1/"},
		{"https://127.8.9.10/", "blockLocalhost", "https://8.8.8.8/"},
		{"https://127.0.0.1./", "format", "https://1.1.1.1/"},
		{"https://[::1]/", "blockLocalhost", "https://[2606:4700::1111]/"},
		{"https://[::ffff:127.0.0.1]/", "blockLocalhost", "https://[2606:4700::1111]:8443/"},
		{"https://[::ffff:7f00:1]/", "blockLocalhost", "https://[2606:4700::7f00:1]/"},

		{"https://2130706433/", "format", "https://2130706433.example/"},
		{"https://0x7f000001/", "format", "https://0x7f000001.example/"},
		{"https://0x7f.1/", "format", "https://0x7f.example/"},
		{"https://017700000001/", "format", "https://017700000001.example/"},
		{"https://0177.0.0.1/", "format", "https://177.0.0.1/"},
		{"https://127.1/", "format", "https://127.example/"},
		{"https://127.0.1/", "format", "https://1.0.0.1/"},
		{"https://1.1.1.1.1/", "format", "https://1.1.1.1/"},
		{"https://example.com.1/", "format", "https://example.com.a1/"},
		{"https://example.0x/", "format", "https://example.0y/"},
		{"https://0/", "format", "https://0.example/"},
		{"https://256.256.256.256/", "format", "https://25.25.25.25/"},
		{"https://１２７.０.０.１/", "format", "https://1.0.0.1/"},
		{"https://①②⑦.⓪.⓪.①/", "format", "https://1.0.0.1/"},
		{"https://127。0。0。1/", "format", "https://1.0.0.1/"},
		{"https://ｌocalhost/", "format", "https://localhost.example/"},
		{"https://exаmple.com/", "format", "https://example.com/"},
		{"https://example.com./", "format", "https://example.com/"},

		{"https://10.0.0.1/", "blockPrivateIPs", "https://11.0.0.1/"},
		{"https://172.16.0.1/", "blockPrivateIPs", "https://172.32.0.1/"},
		{"https://172.31.255.255/", "blockPrivateIPs", "https://172.15.255.255/"},
		{"https://192.168.1.1/", "blockPrivateIPs", "https://192.169.1.1/"},
		{"https://169.254.169.254/latest/meta-data/", "blockPrivateIPs", "https://169.253.169.254/latest/meta-data/"},
		{"https://100.64.0.1/", "blockPrivateIPs", "https://100.128.0.1/"},
		{"https://100.100.100.200/", "blockPrivateIPs", "https://100.200.100.200/"},
		{"https://168.63.129.16/", "blockPrivateIPs", "https://168.63.129.17/"},
		{"https://192.0.0.192/", "blockPrivateIPs", "https://192.0.1.192/"},
		{"https://0.0.0.0/", "blockPrivateIPs", "https://1.0.0.0/"},
		{"https://198.18.0.1/", "blockPrivateIPs", "https://198.20.0.1/"},
		{"https://192.0.2.1/", "blockPrivateIPs", "https://192.0.3.1/"},
		{"https://198.51.100.1/", "blockPrivateIPs", "https://198.51.101.1/"},
		{"https://203.0.113.1/", "blockPrivateIPs", "https://203.0.114.1/"},
		{"https://192.88.99.1/", "blockPrivateIPs", "https://192.88.98.1/"},
		{"https://224.0.0.1/", "blockPrivateIPs", "https://223.0.0.1/"},
		{"https://240.0.0.1/", "blockPrivateIPs", "https://223.0.0.2/"},
		{"https://255.255.255.255/", "blockPrivateIPs", "https://223.255.255.255/"},

		{"https://[::]/", "blockPrivateIPs", "https://[2a00::]/"},
		{"https://[::ffff:10.0.0.1]/", "blockPrivateIPs", "https://[2a00::10.0.0.1]/"},
		{"https://[::ffff:8.8.8.8]/", "blockPrivateIPs", "https://8.8.8.8/"},
		{"https://[::127.0.0.1]/", "blockPrivateIPs", "https://[2a00::127.0.0.1]/"},
		{"https://[64:ff9b::10.0.0.1]/", "blockPrivateIPs", "https://[2064:ff9b::1]/"},
		{"https://[64:ff9b:1::1]/", "blockPrivateIPs", "https://[2064:ff9b:1::1]/"},
		{"https://[2002:7f00:1::]/", "blockPrivateIPs", "https://[2003:7f00:1::]/"},
		{"https://[2001:0:7f00:1::]/", "blockPrivateIPs", "https://[2001:4860::1]/"},
		{"https://[2001:db8::1]/", "blockPrivateIPs", "https://[2001:db9::1]/"},
		{"https://[3fff::1]/", "blockPrivateIPs", "https://[3ffe:ffff::1]/"},
		{"https://[5f00::1]/", "blockPrivateIPs", "https://[2f00::1]/"},
		{"https://[100::1]/", "blockPrivateIPs", "https://[2100::1]/"},
		{"https://[fc00::1]/", "blockPrivateIPs", "https://[2c00::1]/"},
		{"https://[fd00:ec2::254]/", "blockPrivateIPs", "https://[2d00:ec2::254]/"},
		{"https://[fe80::1]/", "blockPrivateIPs", "https://[2e80::1]/"},
		{"https://[fec0::1]/", "blockPrivateIPs", "https://[2ec0::1]/"},
		{"https://[ff02::1]/", "blockPrivateIPs", "https://[2f02::1]/"},
		{"https://[fe80::1%25lo]/", "format", "https://[2e80::1]/"},
		{"https://[fe80::1%lo]/", "format", "https://[2e80::1]/"},
		{"https://[2a00::1/", "format", "https://[2a00::1]/"},
		{"https://2a00::1/", "format", "https://[2a00::1]/"},
		{"https://[1.1.1.1]/", "format", "https://1.1.1.1/"},
		{"https://[v1.a]/", "format", "https://v1.a/"},

		{"https://intranet/", "blockPrivateIPs", "https://intranet.example/"},
		{"https://metadata.google.internal/", "blockPrivateIPs", "https://metadata.google.com/"},
		{"https://printer.local/", "blockPrivateIPs", "https://printer.local.example/"},
		{"https://router.lan/", "blockPrivateIPs", "https://router.land/"},
		{"https://1.0.0.127.in-addr.arpa/", "blockPrivateIPs", "https://1.0.0.127.in-addr.example/"},

		{"https://example.com:0/", "format", "https://example.com:1/"},
		{"https://example.com:65536/", "format", "https://example.com:65535/"},
		{"https://example.com:/", "format", "https://example.com/:"},
		{"https://example.com:080/", "format", "https://example.com:80/"},
		{"https://example.com:a/", "format", "https://example.com/:a"},
		{"https://a..example/", "format", "https://a.b.example/"},
		{"https://-a.example/", "format", "https://a-b.example/"},
		{"https://" + strings.Repeat("a", 64) + ".example/", "format", "https://" + strings.Repeat("a", 63) + ".example/"},
		{"https://example.com/" + strings.Repeat("a", 9000), "format", "https://example.com/" + strings.Repeat("a", 8000)},
		{"https://example.com/%zz", "format", "https://example.com/%20"},
	} {
		if faults := rules.Check(c.hostile); len(faults) == 0 || faults[0].Constraint != c.constraint {
			t.Errorf("%.60q: %v, want %s", c.hostile, faults, c.constraint)
		}
		if faults := rules.Check(c.control); len(faults) > 0 {
			t.Errorf("control %.60q: %v", c.control, faults)
		}
	}
}

func TestAddressFaultsComeTogether(t *testing.T) {
	faults := form.URLRules{Schemes: []string{"https"}}.Check("http://192.168.1.1/webhook")
	if len(faults) != 2 || faults[0].Actual != "http" || faults[1].Actual != "192.168.1.1" {
		t.Error(faults)
	}
	faults = form.URLRules{Schemes: []string{"https"}}.Check("https://me:hunter2@example.com/")
	if len(faults) != 1 || faults[0].Actual != "" {
		t.Errorf("a password is repeated: %v", faults)
	}
}

func TestInternationalNames(t *testing.T) {
	rules := form.URLRules{Schemes: []string{"https"}, ToASCII: func(host string) (string, error) {
		switch host {
		case "bücher.example":
			return "xn--bcher-kva.example", nil
		case "１２７.０.０.１":
			return "127.0.0.1", nil
		case "ü":
			return "ü", nil
		}
		return "", errors.New("not a name")
	}}
	for address, want := range map[string]string{
		"https://bücher.example/":         "",
		"https://bücher.example:8443/?a":  "",
		"https://xn--bcher-kva.example/":  "",
		"https://１２７.０.０.１/":              "blockLocalhost",
		"https://ü/":                      "format",
		"https://ö.example/":              "format",
		"https://bücher.example/\u00fc":   "format",
		"https://bücher.example@1.1.1.1/": "format",
	} {
		got := ""
		if faults := rules.Check(address); len(faults) > 0 {
			got = faults[0].Constraint
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestPublicAddr(t *testing.T) {
	for s, want := range map[string]bool{"1.1.1.1": true, "2606:4700::1111": true, "10.0.0.1": false, "::ffff:1.1.1.1": false, "2606:4700::1111%eth0": false} {
		if got := form.PublicAddr(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
	if form.PublicAddr(netip.Addr{}) {
		t.Error("no address is public")
	}
}
