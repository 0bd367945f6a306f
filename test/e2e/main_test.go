// Package e2e tests the whole gateway: the real binary between a client and
// servers. What is here runs with peers that speak raw bytes; the files with
// the build tag e2e run with real SDKs.
package e2e

import (
	"os"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

func TestMain(m *testing.M) {
	rig.InMemory = true
	code := m.Run()
	rig.Cleanup()
	os.Exit(code)
}

// door is one way into the gateway: an endpoint, and what names look like
// there.
type door struct {
	URL    string
	Prefix string
}

// doors runs a test at the untouched endpoint of a backend and at the joined
// one, where a second backend makes names prefixed.
func doors(t *testing.T, b *rig.Backend, config string, test func(t *testing.T, d door, g *rig.Gateway)) {
	t.Helper()
	other := rig.NewBackend(t, nil)
	g := rig.Start(t, config+"backends:\n  one: { url: "+b.URL+" }\n  two: { url: "+other.URL+" }\n")
	t.Run("solo", func(t *testing.T) { test(t, door{URL: g.URL + "/one"}, g) })
	t.Run("joined", func(t *testing.T) { test(t, door{URL: g.URL, Prefix: "one__"}, g) })
}

// text gives the member of a raw object as it stands.
func member(m wire.Message, obj wire.Span, key string) string {
	return string(wire.Get(m.Raw, obj, key).Of(m.Raw))
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// errorOf gives code and data.reason of an error response.
func errorOf(m wire.Message) (code, reason string) {
	data := wire.Get(m.Raw, m.Error, "data")
	return member(m, m.Error, "code"), member(m, data, "reason")
}

func wantError(t *testing.T, what string, m wire.Message, code, reason string) {
	t.Helper()
	c, r := errorOf(m)
	if m.Kind != wire.Failure || c != code || r != `"`+reason+`"` {
		t.Errorf("%s: got %s, want error %s with reason %s", what, m.Raw, code, reason)
	}
}
