package main

import (
	"testing"

	behind "github.com/answerback/answerback/internal/backend/a2a"
	ahead "github.com/answerback/answerback/internal/surface/a2a"
)

// TestBothSidesOfA2ASpeakOfTheSameForms: a gateway is understood by another
// one in front of it. The two adapters may not know each other.
func TestBothSidesOfA2ASpeakOfTheSameForms(t *testing.T) {
	if ahead.FormsExtension != behind.Forms {
		t.Errorf("the surface has %s, the backend %s", ahead.FormsExtension, behind.Forms)
	}
}
