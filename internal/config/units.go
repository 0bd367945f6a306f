package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

// Binary multiples of a byte.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

const day = 24 * time.Hour

// sizeUnits is tried in order: a unit stands before those it ends with.
var sizeUnits = []struct {
	name  string
	bytes Size
}{
	{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB},
	{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3}, {"B", 1},
}

var (
	errSize     = errors.New("is not a size; write a number of bytes, or one with a unit such as 32MiB or 10MB")
	errDuration = errors.New("is not a duration; write a number with a unit, such as 30s, 5m, 1h30m or 7d")
)

// ParseSize reads a size such as 32MiB, 10MB or 4096.
func ParseSize(s string) (Size, error) {
	digits, unit := s, Size(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || Size(n) > math.MaxInt64/unit {
		return 0, errSize
	}
	return Size(n) * unit, nil
}

// String gives the size in the largest binary unit that divides it, so that
// ParseSize reads the same size from it.
func (s Size) String() string {
	for _, u := range sizeUnits[:3] {
		if s >= u.bytes && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// ParseDuration reads a duration as Go writes it, optionally with days in
// front: 30s, 1h30m, 7d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, hasDays := strings.Cut(s, "d")
	if !hasDays {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, errDuration
		}
		return d, nil
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, errDuration
	}
	total := time.Duration(n) * day
	if rest == "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d >= day {
		return 0, errDuration
	}
	return total + d, nil
}

// formatDuration writes d as ParseDuration reads it, without empty units.
func formatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
