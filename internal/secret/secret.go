// Package secret is a string that cannot print itself: for tokens, keys and
// whatever else an operator configures and nobody may read in a log.
//
// It hides and reveals; it does not encrypt. What is stored is sealed by
// package seal.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what a secret shows of itself.
const Redacted = "[redacted]"

// Text is a string that does not show itself: every way of printing,
// logging or marshalling it gives [redacted]. The zero Text is empty.
// Texts are compared by what they reveal; == does not compile.
type Text struct {
	_ [0]func()
	// A pointer, because fmt prints unexported fields of other structs
	// without asking for methods, and would then print the text itself.
	text *string
}

// New hides s.
func New(s string) Text { return Text{text: &s} }

// Reveal gives the text. Call it only where the secret is used.
func (s Text) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String is [redacted].
func (Text) String() string { return Redacted }

// GoString is [redacted].
func (Text) GoString() string { return Redacted }

// Format prints [redacted] for every verb.
func (Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// LogValue is [redacted].
func (Text) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText is [redacted], and with it JSON and whatever else asks for text.
func (Text) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalYAML is [redacted].
func (Text) MarshalYAML() (any, error) { return Redacted, nil }
