//go:build e2e

package e2e

import (
	"testing"

	"github.com/answerback/answerback/internal/plant"
	"github.com/answerback/answerback/test/rig"
)

// TestPlantedLeakIsFound: where the gateway is made to leak a password, the
// search of TestCanaryPassword finds it.
func TestPlantedLeakIsFound(t *testing.T) {
	secrets := canaries{"password": typedPassword}
	leaky := signInThrough(t, func(t testing.TB, yaml string) *rig.Gateway {
		return rig.StartPlanted(t, string(plant.LeakedSecret), yaml)
	})
	for _, where := range []string{"audit", "data directory"} {
		if found := secrets.find(leaky[where]); len(found) != 1 {
			t.Errorf("control: the planted leak was not found in the %s", where)
		}
	}
}
