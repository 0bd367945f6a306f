package catalog

import (
	"strconv"
	"strings"
)

// separator stands between a backend's name and an item's. Names of backends
// have no underscore, so the first separator is always ours.
const separator = "__"

const maxBackendName = 24

// ValidBackend reports whether name can be a backend's name: 1 to 24 of a-z,
// 0-9 and "-".
func ValidBackend(name string) bool {
	if name == "" || len(name) > maxBackendName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Join is the name in a joined list of an item that its backend calls name.
// The backend's name must be valid.
func Join(backend, name string) string { return backend + separator + name }

// Split undoes Join. It is not ok for what Join cannot have made from a valid
// backend and a name that is not empty.
func Split(name string) (backend, rest string, ok bool) {
	backend, rest, ok = strings.Cut(name, separator)
	if !ok || rest == "" || !ValidBackend(backend) {
		return "", "", false
	}
	return backend, rest, true
}

// quote puts a name that somebody sent into a message, at a length that fits one.
func quote(name string) string {
	const most = 100
	if len(name) > most {
		return strconv.Quote(strings.ToValidUTF8(name[:most], "")) + " (cut off)"
	}
	return strconv.Quote(name)
}
