//go:build conformance

package conformance

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// clientScenarios are the suite's client scenarios without authorization, and
// the checks in each: 71 in all.
var clientScenarios = []struct {
	name   string
	passed int
}{
	{"initialize", 1},
	{"tools_call", 2},
	{"elicitation-sep1034-client-defaults", 5},
	{"sse-retry", 3},
	{"request-metadata", 7},
	{"sep-2322-client-request-state", 5},
	{"http-standard-headers", 9},
	{"http-custom-headers", 18},
	{"http-invalid-tool-headers", 12},
	{"json-schema-ref-no-deref", 1},
	{"json-schema-2020-12-preservation", 9},
}

// TestClient has the suite play the server behind the gateway, once per
// scenario, and go-sdk's client call through it.
func TestClient(t *testing.T) {
	r := newRig(t)
	wrapper := filepath.Join(t.TempDir(), "wrapper")
	if text, err := exec.Command("go", "build", "-o", wrapper, "./wrapper").CombinedOutput(); err != nil {
		t.Fatalf("building the wrapper: %v\n%s", err, text)
	}
	for _, s := range clientScenarios {
		t.Run(s.name, func(t *testing.T) {
			res, text, err := r.suite(t, "client", "--command", wrapper, "--scenario", s.name)
			if diff := res.Expect(s.passed); diff != "" || err != nil {
				t.Errorf("%s\nthe suite ended with %v:\n%s", diff, err, text)
			}
		})
	}
}
