package era

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/wire"
)

// Era is one of the two eras of the protocol. The zero Era is none.
type Era uint8

// The two eras.
const (
	Legacy Era = iota + 1
	Modern
)

// String gives the era's name as it stands in logs and metrics.
func (e Era) String() string {
	switch e {
	case Legacy:
		return "legacy"
	case Modern:
		return "modern"
	}
	return "unknown"
}

// The newest version of each era.
const (
	Latest       = "2026-07-28"
	LatestLegacy = "2025-11-25"
)

// The versions at which the questions changed.
const (
	elicitationSince = "2025-06-18"
	modesSince       = "2025-11-25" // url mode, and the parts of sampling
)

var legacies = [...]string{LatestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// Of gives the era of a version; false for a version that is not known.
func Of(version string) (Era, bool) {
	if version == Latest {
		return Modern, true
	}
	if slices.Contains(legacies[:], version) {
		return Legacy, true
	}
	return 0, false
}

// Legacies lists the versions of the legacy era, newest first. The caller
// owns the slice.
func Legacies() []string { return slices.Clone(legacies[:]) }

// Supported lists every version, newest first. The caller owns the slice.
func Supported() []string { return append([]string{Latest}, legacies[:]...) }

// Detect decides the era of one client request: modern where its _meta has a
// protocol version, or where its header names a version of that era, be it
// one that we do not know yet; else legacy.
func Detect(m *wire.Message, h http.Header) Era {
	if !m.MetaVersion.IsZero() {
		return Modern
	}
	for _, v := range h.Values(VersionHeader) {
		if looksModern(strings.TrimSpace(v)) {
			return Modern
		}
	}
	return Legacy
}

// looksModern reports whether a version is of the modern era or later: a
// client of a coming version must learn which versions there are, and only
// the modern era has an error for that.
func looksModern(version string) bool {
	_, err := time.Parse(time.DateOnly, version)
	return err == nil && version >= Latest
}
