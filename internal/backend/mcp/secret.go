package mcp

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a string that does not show itself when printed, logged or
// marshalled. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt prints the unexported fields of other structs
	// without asking for methods, and would then print the text itself.
	text *string
}

// NewSecret hides s.
func NewSecret(s string) Secret { return Secret{text: &s} }

func (s Secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Format prints [redacted], whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue is [redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is [redacted], and with it JSON, YAML and the like.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
