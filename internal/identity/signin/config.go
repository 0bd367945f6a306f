package signin

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// checkConfig fills in the defaults, and gives the origin of the public URL.
func checkConfig(c *Config) (string, error) {
	public, err := checkURL(c.PublicURL)
	if err != nil {
		return "", fmt.Errorf("signin: public URL: %w", err)
	}
	if strings.Trim(public.Path, "/") != "" {
		return "", fmt.Errorf("signin: public URL %q has a path: give the origin alone", c.PublicURL)
	}
	switch {
	case c.Pages == nil:
		return "", fmt.Errorf("signin: Pages is missing")
	case c.Log == nil:
		return "", fmt.Errorf("signin: Log is missing")
	case len(c.Providers) > 0 && (c.HTTP == nil || c.HTTP.Transport == nil):
		return "", fmt.Errorf("signin: HTTP is missing, or has no transport of its own")
	case c.Local && len(c.Providers) > 0:
		return "", fmt.Errorf("signin: local sign-in is for gateways without a provider: configure one of the two")
	case c.Local && !isLoopback(public.Hostname()):
		return "", fmt.Errorf("signin: local sign-in needs a public URL on loopback, which %q is not: configure a provider", c.PublicURL)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	age, idle := 12*time.Hour, time.Hour
	if c.Local {
		age, idle = localAge, localAge
	}
	c.SessionAge = or(c.SessionAge, age)
	c.Idle = min(or(c.Idle, idle), c.SessionAge)
	c.MaxSessions = or(c.MaxSessions, 10_000)
	c.PerPerson = or(c.PerPerson, 16)
	c.MaxFlows = or(c.MaxFlows, 10_000)
	c.Providers, err = checkProviders(c.Providers)
	return originOf(public), err
}

// originOf spells the origin of u as browsers do.
func originOf(u *url.URL) string {
	standard := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), standard)
}

func checkProviders(given []Provider) ([]Provider, error) {
	var checked []Provider
	issuers, names := map[string]bool{}, map[string]bool{}
	for _, p := range given {
		issuer, err := checkURL(p.Issuer)
		if err != nil {
			return nil, fmt.Errorf("signin: issuer: %w", err)
		}
		if p.ClientID == "" {
			return nil, fmt.Errorf("signin: provider %s has no client id", p.Issuer)
		}
		if p.Name == "" {
			p.Name = issuer.Host
		}
		if issuers[p.Issuer] || names[p.Name] {
			return nil, fmt.Errorf("signin: two providers are called %s (%s): each needs its own issuer and name", p.Name, p.Issuer)
		}
		issuers[p.Issuer], names[p.Name] = true, true
		if len(p.Scopes) == 0 {
			p.Scopes = []string{"openid", "profile"}
		}
		if !slices.Contains(p.Scopes, "openid") {
			return nil, fmt.Errorf("signin: the scopes of provider %s lack openid, without which it says nobody's name", p.Issuer)
		}
		checked = append(checked, p)
	}
	return checked, nil
}

// checkURL takes https URLs, and http ones on loopback, where nobody listens
// in. Query, fragment and userinfo have no place in what identifies somebody.
func checkURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not an absolute URL", text)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return nil, fmt.Errorf("%q is neither https nor on loopback", text)
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, fmt.Errorf("%q has more than scheme, host and path", u.Redacted())
	}
	return u, nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

func or[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}
