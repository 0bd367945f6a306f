package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a string that does not show itself: every way of printing,
// logging or marshalling it gives [redacted]. The zero Secret is empty.
// Secrets are compared by what they reveal; == does not compile.
type Secret struct {
	_ [0]func()
	// A pointer, because fmt prints unexported fields of other structs
	// without asking for methods, and would then print the text itself.
	text *string
}

// NewSecret hides s.
func NewSecret(s string) Secret { return Secret{text: &s} }

// Reveal gives the text. Call it only where the secret is used.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String is [redacted].
func (Secret) String() string { return redacted }

// GoString is [redacted].
func (Secret) GoString() string { return redacted }

// Format prints [redacted] for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue is [redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is [redacted], and with it JSON and whatever else asks for text.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalYAML is [redacted].
func (Secret) MarshalYAML() (any, error) { return redacted, nil }
