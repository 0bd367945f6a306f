package catalog

import (
	"fmt"
	"slices"

	"github.com/answerback/answerback/ask"
)

// Route says which backend a tool or prompt of a joined list belongs to, and
// what it is called there.
//
// Where the name alone tells the backend (prefix is set, or there is one part)
// views are not looked at and may be nil: the backend knows best what it has,
// and a list may be older than its tools. Without prefixes it is the first part
// that lists the name, as in Page. A tool that a filter leaves out is unknown.
//
// An error is an *ask.Error: UnknownName, or BackendUnreachable where the name
// may belong to a backend whose view is nil.
func Route(l List, parts []Part, name string, prefix bool) (backend, own string, err error) {
	switch {
	case prefix:
		backend, own, ok := Split(name)
		for _, part := range parts {
			if ok && part.Backend == backend {
				return single(l, part, own, name)
			}
		}
		return "", "", unknown(l, name, nil)
	case len(parts) == 1:
		return single(l, parts[0], name, name)
	}
	var filtered error
	missing := false
	for _, part := range parts {
		switch {
		case part.View == nil:
			missing = missing || part.offers(l, name)
		case !part.View.Has(name):
		case !part.offers(l, name):
			filtered = errFiltered
		default:
			return part.Backend, name, nil
		}
	}
	if missing {
		return "", "", unreachable(l, name)
	}
	return "", "", unknown(l, name, filtered)
}

// Locate says which backend a resource belongs to, given the parts of Resources
// and those of Templates: the first that lists the URI, or lists it as a
// template (which is how completions refer to one); else the one whose template
// matches with most literal characters, the first of equals. Where both lists
// together have one backend it is that one, because servers also serve URIs that
// they do not list.
//
// An error is an *ask.Error: UnknownName, or BackendUnreachable where the URI may
// belong to a backend whose view is nil.
func Locate(resources, templates []Part, uri string) (backend string, err error) {
	parts := slices.Concat(resources, templates)
	if len(parts) > 0 && !slices.ContainsFunc(parts, func(p Part) bool { return p.Backend != parts[0].Backend }) {
		return parts[0].Backend, nil
	}
	missing := false
	for _, part := range parts {
		if part.View == nil {
			missing = true
		} else if part.View.Has(uri) {
			return part.Backend, nil
		}
	}
	best := -1
	for _, part := range templates {
		if part.View == nil {
			continue
		}
		if literals, ok := part.View.match(uri); ok && literals > best {
			backend, best = part.Backend, literals
		}
	}
	switch {
	case best >= 0:
		return backend, nil
	case missing:
		return "", unreachable(Resources, uri)
	}
	return "", unknown(Resources, uri, nil)
}

// single routes to the one backend that can be meant.
func single(l List, part Part, own, name string) (string, string, error) {
	if !part.offers(l, own) {
		return "", "", unknown(l, name, errFiltered)
	}
	return part.Backend, own, nil
}

func unknown(l List, name string, cause error) *ask.Error {
	return ask.Wrap(ask.UnknownName, fmt.Sprintf("Unknown %s: %s.", l.noun(), quote(name)), cause)
}

func unreachable(l List, name string) *ask.Error {
	return ask.Errorf(ask.BackendUnreachable, fmt.Sprintf(
		"The %s %s is not in any list at hand, and some backends cannot be listed at the moment. Try again later.", l.noun(), quote(name)))
}
