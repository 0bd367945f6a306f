package relay

import (
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/parking"
)

// Of the calls of a restored backup those are taken up that wait for a person
// to answer, and no others. Without a restore all of them are.
func TestWhichCallsOfABackupAreTakenUp(t *testing.T) {
	open := desk.Stored{Ask: ask.Ask{Kind: ask.Form}, Open: true}
	answered := desk.Stored{Ask: ask.Ask{Kind: ask.Form}}
	connect := desk.Stored{Ask: ask.Ask{Kind: ask.Connect}, Open: true}
	told := thread{Place: parking.Place{Parked: "id", Told: true}}
	for name, each := range map[string]struct {
		group   []desk.Stored
		threads []thread
		past    bool
	}{
		"open":                       {[]desk.Stored{open}, []thread{{}}, false},
		"two open":                   {[]desk.Stored{open, open}, []thread{{}, {}}, false},
		"answered":                   {[]desk.Stored{answered}, []thread{{}}, true},
		"one of two answered":        {[]desk.Stored{open, answered}, []thread{{}, {}}, true},
		"waits for an account":       {[]desk.Stored{connect}, []thread{{}}, true},
		"its client was told":        {[]desk.Stored{open}, []thread{told}, true},
		"its client was told of one": {[]desk.Stored{open, open}, []thread{{}, told}, true},
	} {
		if past(each.group, each.threads) {
			t.Errorf("%s: not taken up after a restart", name)
		}
		for i := range each.group {
			each.group[i].Restored = true
		}
		if got := past(each.group, each.threads); got != each.past {
			t.Errorf("%s: %v, want %v", name, got, each.past)
		}
	}
	// An answer that was given after the restore is delivered, although another
	// question of the same call is still as it was in the backup.
	open.Restored = true
	if past([]desk.Stored{open, answered}, []thread{{}, {}}) {
		t.Error("a call with an answer of after the restore is not taken up")
	}
}
