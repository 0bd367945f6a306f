//go:build conformance

package conformance

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// connectScenarios are the suite's authorization scenarios that a revision
// requires of a client, and the checks in each: 25 for 2026-07-28, the first
// 14 of which are all for 2025-11-25.
//
// The rest do not apply: client-credentials-*, enterprise-managed-authorization,
// dpop*, and wif-jwt-bearer are extensions, and of grants that are nobody's
// person; oauth-metadata-backcompat and oauth-endpoint-fallback are of
// 2025-03-26, whose servers name no resource, so that a token would not be
// bound to one.
var connectScenarios = []struct {
	name           string
	modern, legacy int
}{
	{"metadata-default", 19, 20},
	{"metadata-var1", 19, 20},
	{"metadata-var2", 19, 20},
	{"metadata-var3", 19, 20},
	{"basic-cimd", 13, 15},
	{"scope-from-www-authenticate", 15, 16},
	{"scope-from-scopes-supported", 15, 16},
	{"scope-omitted-when-undefined", 15, 16},
	{"scope-step-up", 26, 24},
	{"scope-retry-limit", 19, 18},
	{"token-endpoint-auth-basic", 20, 21},
	{"token-endpoint-auth-post", 20, 21},
	{"token-endpoint-auth-none", 20, 21},
	{"pre-registration", 13, 15},
	{"resource-mismatch", 2, 0},
	{"offline-access-scope", 13, 0},
	{"offline-access-not-supported", 15, 0},
	{"authorization-server-migration", 28, 0},
	{"iss-supported", 15, 0},
	{"iss-not-advertised", 15, 0},
	{"iss-supported-missing", 8, 0},
	{"iss-wrong-issuer", 8, 0},
	{"iss-unexpected", 8, 0},
	{"iss-normalized", 8, 0},
	{"metadata-issuer-mismatch", 3, 0},
}

// TestConnect has the suite play a server that wants a token, and its
// authorization server, for the gateway's own OAuth client.
func TestConnect(t *testing.T) {
	r := rig{peers: env(t, "ANSWERBACK_PEERS")}
	connector := filepath.Join(t.TempDir(), "connector")
	if text, err := exec.Command("go", "build", "-o", connector, "./connector").CombinedOutput(); err != nil {
		t.Fatalf("building the connector: %v\n%s", err, text)
	}
	for _, s := range connectScenarios {
		for version, passed := range map[string]int{"2026-07-28": s.modern, "2025-11-25": s.legacy} {
			if passed == 0 {
				continue
			}
			t.Run(version+"/"+s.name, func(t *testing.T) {
				res, text, err := r.suite(t, "client", "--command", connector, "--scenario", "auth/"+s.name, "--spec-version", version)
				if diff := res.Expect(passed); diff != "" || err != nil {
					t.Errorf("%s\nthe suite ended with %v:\n%s", diff, err, text)
				}
			})
		}
	}
}
