package page

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/answerback/answerback/internal/sitename"
)

// maxAddress is how long an address may be: longer ones nobody reads before
// they agree to go there.
const maxAddress = 2048

// address is where a server wants a person to go, taken apart for the eye.
// Before, Site and After joined are the address in full. Href is empty where
// it must not be followed; Why then says the reason.
type address struct {
	Before, Site, After string
	Host                string // with its port
	Href                string
	Why                 string
	Letters             string // the host in its own letters, "" where it is in ASCII
	Scripts             string // the scripts that one label of it mixes, in words
	Like                string // the ASCII name that it looks like
	Own                 bool   // it is on the person's own machine
}

// hostName is what a host may be written as. Everything else is read
// differently by different programs, so that what is shown might not be
// where a browser goes.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// readAddress judges an address. It never fetches or resolves anything.
func readAddress(raw string) address {
	shown := line(raw, maxAddress)
	refuse := func(why string) address { return address{Before: shown, Why: why} }
	if len(raw) > maxAddress {
		return refuse("It is too long to be checked by eye.")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || shown != raw:
		return refuse("It is not a well-formed web address.")
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("It is not a web address (https).")
	case u.Host == "" || u.Opaque != "":
		return refuse("It does not say plainly to which site it leads.")
	case u.User != nil:
		return refuse("It has a user name before the site's name, which is a way to make an address look like another's.")
	}
	ip, notIP := netip.ParseAddr(u.Hostname())
	if notIP != nil && !hostName.MatchString(u.Hostname()) || ip.Zone() != "" {
		return refuse("Its site name has letters that browsers read in different ways.")
	}
	own := notIP == nil && ip.IsLoopback() || isLocalhost(u.Hostname())
	if u.Scheme == "http" && !own {
		return refuse("It is not protected (http): whoever is on the way could read and change what you do there.")
	}
	name, err := sitename.Read(u.Hostname())
	if err != nil {
		return refuse("Its site name is spelled with xn--, and is not the name of any site.")
	}
	href := u.String()
	before := u.Scheme + "://" + name.Sub
	site := name.Site
	if notIP == nil { // with its brackets
		site = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return address{
		Before: before, Site: site, After: strings.TrimPrefix(href, before+site), Host: u.Host, Href: href,
		Letters: name.Letters, Scripts: strings.Join(name.Scripts, " and "), Like: name.Like,
		Own: own,
	}
}

func isLocalhost(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
