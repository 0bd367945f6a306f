package parking

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
)

// The result of a call whose client was told to call again is not in what a
// restore stores; the result of a call that is named by its id is.
func TestAStepBackGivesOutNoToldResult(t *testing.T) {
	value, err := json.Marshal(uncollected{Backend: "one", Message: []byte(`{}`), Reply: []byte("the result"), ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := StepBack("told.home.id", value)
	if err != nil {
		t.Fatal(err)
	}
	var u uncollected
	if err := json.Unmarshal(got, &u); err != nil || u.Reply != nil || u.Code != ask.OutcomeUnknown || !strings.Contains(u.Why, "restored from a backup") || u.ID != "id" || u.Backend != "one" {
		t.Errorf("%s %v", got, err)
	}
	if same, err := StepBack("id", value); err != nil || string(same) != string(value) {
		t.Errorf("%s %v", same, err)
	}
	if _, err := StepBack("told.home.id", []byte("garbage")); err == nil {
		t.Error("garbage is a result")
	}
}
