package parking

import (
	"encoding/json"
	"strings"

	"github.com/answerback/answerback/ask"
)

// StepBack gives what was kept of a call under an id, as a backup is restored
// with. The response of a call whose client was told to call again may have
// been given out after the backup, and the next call of the same kind would get
// it again. So that call gets an error, once. Other responses are given to a
// client that names their call, as often as it asks, and stay.
func StepBack(id string, value []byte) ([]byte, error) {
	if !strings.HasPrefix(id, toldPrefix) {
		return value, nil
	}
	var u uncollected
	if err := json.Unmarshal(value, &u); err != nil {
		return nil, err
	}
	u.Reply, u.Working = nil, false
	u.Code, u.Why = ask.OutcomeUnknown, "The gateway was restored from a backup. It is not known what became of this call after the backup was taken, or whether its result was given out. A further call starts anew."
	return json.Marshal(u)
}
