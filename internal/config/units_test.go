package config_test

import (
	"testing"
	"time"

	"github.com/answerback/answerback/internal/config"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]config.Size{
		"0": 0, "1": 1, "4096": 4096, "12B": 12, "32MiB": 32 << 20, "32 MiB": 32 << 20,
		"10MB": 10_000_000, "3kB": 3000, "3KB": 3000, "3KiB": 3072, "2GB": 2_000_000_000, "1GiB": 1 << 30,
	} {
		got, err := config.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
		if again, err := config.ParseSize(got.String()); err != nil || again != want {
			t.Errorf("%q is written %q, which is %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "B", "-1", "1.5MB", "1 000", "MiB", "1TiB", "0x10", "9223372036854775808", "9007199254740993GiB"} {
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestDurations(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * day, "1d12h": 36 * time.Hour, "500ms": 500 * time.Millisecond, "-1s": -time.Second,
	} {
		if got, err := config.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "d", "1.5d", "-1d", "1d25h", "1d-1h", "1dd", "1w", "99999d", "1d2d", "1d5"} {
		if got, err := config.ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
