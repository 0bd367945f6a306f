package sitename

import (
	"strings"
	"testing"

	"golang.org/x/net/idna"
)

func TestSiteIsTheRegistrableDomain(t *testing.T) {
	for host, site := range map[string]string{
		"accounts.example.com":                   "example.com",
		"Accounts.Example.COM":                   "Example.COM",
		"google.com.evil.example":                "evil.example",
		"login.bank.co.uk":                       "bank.co.uk",
		"bank.co.uk.login-check.io":              "login-check.io",
		"somebody.github.io":                     "somebody.github.io", // anybody can register there
		"github.io":                              "github.io",
		"localhost":                              "localhost",
		"app.localhost":                          "app.localhost",
		"192.0.2.1":                              "192.0.2.1",
		"2001:db8::1":                            "2001:db8::1",
		"www.xn--mller-kva.de":                   "xn--mller-kva.de",
		"www.xn--80adxhks.xn--p1ai":              "xn--80adxhks.xn--p1ai",
		"example":                                "example",
		strings.Repeat("a.", 60) + "example.org": "example.org",
	} {
		n, err := Read(host)
		if err != nil || n.Site != site || n.Sub+n.Site != host {
			t.Errorf("%s: site %q after %q, want %q (%v)", host, n.Site, n.Sub, site, err)
		}
	}
}

// The names are of attacks that were reported, and of sites that are what they
// say.
func TestLookAlikes(t *testing.T) {
	for _, tt := range []struct {
		letters string
		mixed   string // scripts that a label mixes
		like    string
	}{
		{"аррӏе.com", "", "apple.com"},               // all Cyrillic, 2017
		{"аpple.com", "Cyrillic Latin", "apple.com"}, // one Cyrillic letter
		{"pаypal.com", "Cyrillic Latin", "paypal.com"},
		{"gооgle.com", "Cyrillic Latin", "google.com"},
		{"ѕсоре.com", "", "scope.com"},
		{"binаnсe.com", "Cyrillic Latin", "binance.com"},
		{"ɡoogle.com", "", "google.com"}, // U+0261
		{"icloud.com", "", ""},
		{"ıcloud.com", "", "icloud.com"},
		{"microsοft.com", "Greek Latin", "microsoft.com"},
		{"login.аpple.com", "Cyrillic Latin", "login.apple.com"},
		{"paypaļ.com", "", "paypal.com"},
		{"goog\u033cle.com", "", "google.com"}, // a mark below a letter
		// Names that imitate nothing
		{"münchen.de", "", "munchen.de"},
		{"москва.рф", "", ""},
		{"правительство.рф", "", ""},
		{"日本語.jp", "", ""},
		{"ドメイン名例.jp", "", ""},
		{"qq商城.cn", "", ""},
		{"한국.kr", "", ""},
		{"ευρώπη.eu", "", ""},
		{"مثال.إختبار", "", ""},
	} {
		host, err := idna.Lookup.ToASCII(tt.letters)
		if err != nil {
			t.Fatalf("%s: %v", tt.letters, err)
		}
		n, err := Read(host)
		if err != nil {
			t.Errorf("%s (%s): %v", tt.letters, host, err)
			continue
		}
		want := tt.letters
		if host == tt.letters {
			want = ""
		}
		if n.Letters != want || strings.Join(n.Scripts, " ") != tt.mixed || n.Like != tt.like {
			t.Errorf("%s (%s): in letters %q, mixed %q, like %q; want %q and %q", tt.letters, host, n.Letters, n.Scripts, n.Like, tt.mixed, tt.like)
		}
	}
}

func TestInvalidInternationalNames(t *testing.T) {
	for _, host := range []string{
		"xn--.com", "xn--a.com", "xn--99999999.com", "www.xn--0.example",
		"xn--80ak6aa92e-.com",
	} {
		if n, err := Read(host); err == nil {
			t.Errorf("%s is read as %+v", host, n)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, host := range []string{"a.example", "xn--80ak6aa92e.com", "xn--pple-43d.com", "", ".", "..", "xn--", "co.uk", "A.B"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if n, _ := Read(host); n.Sub+n.Site != host {
			t.Fatalf("%q is shown as %q and %q", host, n.Sub, n.Site)
		}
	})
}
