//go:build !plant

package plant

import "time"

// Kill does nothing in this build.
func Kill(string) {}

// On is false in this build.
func (Bug) On() bool { return false }

// Without gives v in this build.
func Without[T any](_ Bug, v T) T { return v }

// Instead gives right in this build.
func Instead[T any](_ Bug, _, right T) T { return right }

// Scale is 1 in this build.
const Scale time.Duration = 1

// ScaleAll does nothing in this build.
func ScaleAll(any) {}
