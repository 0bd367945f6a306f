package entry

import "time"

// SetDefault gives a limit that was left out its usual value.
func SetDefault[T int | time.Duration](limit *T, usual T) {
	if *limit <= 0 {
		*limit = usual
	}
}
