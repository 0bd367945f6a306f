package plant

import (
	"os"
	"testing"
)

// A build for tests that is told nothing is like every other one.
func TestNothingIsPlantedUnasked(t *testing.T) {
	if os.Getenv("ANSWERBACK_BUG") != "" || os.Getenv("ANSWERBACK_KILL_AT") != "" {
		t.Fatal("the environment asks for something")
	}
	for _, b := range []Bug{AckBeforePersist, SyncOff, DoubleSettle, NoPrincipalCheck, LostTimer, LeakedSecret, UnboundedQueue, LateAnswer, LostAnswer, EarlyShow, SilentRefresh, EarlyUse, SentTwice} {
		if b.On() {
			t.Errorf("%s is planted", b)
		}
	}
	Kill("test") // it goes on
	if Without(LostAnswer, 7) != 7 || Instead(LostAnswer, 1, 2) != 2 {
		t.Error("something goes wrong unasked")
	}
}
