package a2a

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// quiet is the client's end of a request whose progress nobody follows.
type quiet struct{}

func (quiet) Notify([]byte)               {}
func (quiet) Mark() []byte                { return nil }
func (quiet) Withdraw(string, *ask.Error) {}
func (quiet) Show(*ask.Ask) error {
	return ask.Errorf(ask.NoClient, "No client is available: agents are asked between the rounds of a call, not in the middle of one.")
}

// round is the client's end of one round of a task's call. The task stays
// while somebody is being asked.
type round struct {
	quiet
	task  *task
	asked []string
}

var _ contract.Patient = (*round)(nil)

// Asked are the keys of the questions that were shown already.
func (r *round) Asked() []string { return r.asked }

// Back ends the round when the task has an answer, or the surface closes.
func (r *round) Back() <-chan struct{} { return r.task.wake }

// Notify tells of progress.
func (r *round) Notify(raw []byte) {
	m, err := wire.Scan(raw, r.task.surface.scan())
	if err != nil || m.Method() != "notifications/progress" {
		return
	}
	of := func(key string) string { return string(wire.Get(raw, m.Params, key).Of(raw)) }
	words, _ := wire.Unquote(wire.Get(raw, m.Params, "message").Of(raw))
	if words == "" {
		words = of("progress")
		if total := of("total"); total != "" {
			words += " of " + total
		}
	}
	r.task.progress(cut(words, maxWords))
}
