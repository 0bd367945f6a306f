package desk

import (
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// bodyFormat is raised when what is stored about an ask changes its meaning.
const bodyFormat = 1

// body is what is stored about an ask, before it is sealed.
type body struct {
	Format int
	ID     string
	Kind   ask.Kind
	Method string
	Params []byte

	Backend, During, Name, Client, Session string
	Addressee                              ask.Addressee
	Asked                                  time.Time
	Terms                                  ask.Terms
	Group                                  string `json:",omitempty"`
	Resume                                 []byte `json:",omitempty"`

	Deadline    time.Time
	Warn        time.Duration `json:",omitempty"`
	Phase       exchange.Phase
	Extensions  int32             `json:",omitempty"`
	Attempts    int32             `json:",omitempty"`
	Outcome     *outcome          `json:",omitempty"`
	Delivery    exchange.Delivery `json:",omitempty"`
	Undelivered *reason           `json:",omitempty"`
}

// outcome is an ask.Outcome in the store.
type outcome struct {
	Ending  ask.Ending
	Action  ask.Action `json:",omitempty"`
	Result  []byte     `json:",omitempty"`
	Error   []byte     `json:",omitempty"`
	Err     *reason    `json:",omitempty"`
	By      ask.Principal
	Surface string `json:",omitempty"`
	At      time.Time
}

// reason is an ask.Error in the store: its cause stays in the log.
type reason struct {
	Code    ask.Code
	Message string
}

func bodyOf(a *ask.Ask, k exchange.Kept, group string, resume []byte) body {
	b := body{
		Format: bodyFormat,
		ID:     a.ID, Kind: a.Kind, Method: a.Method, Params: a.Params,
		Backend: a.Backend, During: a.During, Name: a.Name, Client: a.Client, Session: a.Session,
		Addressee: a.Addressee, Asked: a.Asked, Terms: a.Terms, Group: group, Resume: resume,
		Deadline: k.Deadline, Warn: k.Warn, Phase: k.Phase, Extensions: k.Extensions, Attempts: k.Attempts,
		Delivery: k.Delivery, Undelivered: reasonOf(k.Undelivered),
	}
	if out := k.Outcome; out != nil {
		b.Outcome = &outcome{
			Ending: out.Ending, Action: out.Answer.Action, Result: out.Answer.Result, Error: out.Answer.Error,
			Err: reasonOf(out.Err), By: out.By, Surface: out.Surface, At: out.At,
		}
		if b.Delivery == exchange.DeliveryDone {
			// The asker has the values: nobody else needs them.
			b.Outcome.Result, b.Outcome.Error, b.Params = nil, nil, nil
		}
	}
	return b
}

func (b *body) ask() ask.Ask {
	return ask.Ask{
		ID: b.ID, Kind: b.Kind, Method: b.Method, Params: b.Params,
		Backend: b.Backend, During: b.During, Name: b.Name, Client: b.Client, Session: b.Session,
		Addressee: b.Addressee, Asked: b.Asked, Deadline: b.Deadline, Terms: b.Terms,
	}
}

func (b *body) kept() exchange.Kept {
	k := exchange.Kept{
		Deadline: b.Deadline, Warn: b.Warn, Phase: b.Phase, Extensions: b.Extensions, Attempts: b.Attempts,
		Delivery: b.Delivery, Undelivered: b.Undelivered.err(),
	}
	if out := b.Outcome; out != nil {
		k.Outcome = &ask.Outcome{
			Ending: out.Ending, Answer: ask.Answer{Action: out.Action, Result: out.Result, Error: out.Error},
			Err: out.Err.err(), By: out.By, Surface: out.Surface, At: out.At,
		}
	}
	return k
}

func reasonOf(e *ask.Error) *reason {
	if e == nil {
		return nil
	}
	return &reason{e.Code, e.Message}
}

func (r *reason) err() *ask.Error {
	if r == nil {
		return nil
	}
	return ask.Errorf(r.Code, r.Message)
}
