package era_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func scan(t testing.TB, raw string) *wire.Message {
	t.Helper()
	m, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		t.Fatalf("scanning %s: %v", raw, err)
	}
	return &m
}

// headers makes a header from pairs of name and value.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}
