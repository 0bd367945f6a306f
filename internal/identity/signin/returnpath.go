package signin

import (
	"regexp"
	"strings"
)

const maxReturn = 512

// wellFormed takes what this gateway's own pages have for addresses: plain
// segments without escapes, and a plain query. Browsers, proxies and Go read
// that in one way only, which cannot be said of what is left out.
var wellFormed = regexp.MustCompile(`^(/|(?:/[A-Za-z0-9._~-]+)+/?)(?:\?[A-Za-z0-9._~=&%+-]*)?$`)

// returnPath gives the target if it is a path of this gateway's pages that
// somebody can be sent to after signing in, and the front page otherwise.
func (s *Signin) returnPath(target string) string {
	const front = "/"
	if len(target) > maxReturn {
		return front
	}
	m := wellFormed.FindStringSubmatch(target)
	if m == nil {
		return front
	}
	path := m[1]
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return front
		}
	}
	if path == signinPath || strings.HasPrefix(path, signinPath+"/") || path == signoutPath {
		return front // would go in circles
	}
	if s.cfg.Serves != nil && !s.cfg.Serves(path) {
		return front
	}
	return target
}
