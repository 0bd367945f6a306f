package doorstep

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
)

// asks reports whether somebody can be asked in the middle of a request.
func asks(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// grace is how long a question stays that has been met: whoever connected the
// account for it is about to answer it, and the audit then says who that was.
const grace = 250 * time.Millisecond

// answered is what came back for our question.
type answered struct{ result, fault []byte }

// asked is a question of ours: what its backend would have kept of it.
type asked struct {
	*contract.Question
	answers chan answered
	over    chan struct{} // closed when its end is stored
	end     context.CancelCauseFunc
}

// newAsked makes the question for an account. It goes with ctx.
func (l *line) newAsked(ctx context.Context) *asked {
	a := &asked{answers: make(chan answered, 1), over: make(chan struct{})}
	gone, end := context.WithCancelCause(ctx)
	a.end = end
	a.Question = &contract.Question{
		Kind: ask.Connect, Method: "elicitation/create", Params: l.question(), Gone: gone,
		Over: sync.OnceFunc(func() { close(a.over) }),
		Reply: func(_ context.Context, result, fault []byte) error {
			select {
			case a.answers <- answered{result, fault}:
			default: // the first counts
			}
			return nil
		},
	}
	return a
}

// connect asks for an account, and waits until there is one. It is nil when
// the request is worth sending again.
func (l *line) connect(ctx context.Context, sink contract.Sink, out *contract.Outgoing, why error) error {
	a := l.newAsked(ctx)
	defer a.end(nil)
	a.Resume = l.handle(out)
	connected := l.step.cfg.Accounts.Want(l.hello.Principal, why)
	sink.Question(a.Question)
	return l.await(ctx, a, connected)
}

// await waits until the account that a question asks for is connected. The
// question has ended then, and that is stored: whoever finds it open after a
// crash knows that the request was not sent.
func (l *line) await(ctx context.Context, a *asked, connected <-chan struct{}) error {
	select {
	case <-connected:
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-a.answers:
			return nil
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		a.end(ask.Errorf(ask.BackendWithdrew, "The account has been connected."))
		select {
		case <-a.answers:
		case <-a.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return nil
	case said := <-a.answers:
		return l.outcome(said)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// question is ours, in the words of the protocol. The address is not in it:
// it leads to the page of the ask, which only its addressee can open.
func (l *line) question() []byte {
	params, _ := json.Marshal(map[string]string{ // strings can always be written
		"mode":    "url",
		"message": "To go on, connect your account with " + l.step.cfg.Backend + ".",
	})
	return params
}

// outcome reads what became of the question. That somebody accepted means
// that they connected the account: nothing else answers such a question with
// a yes.
func (l *line) outcome(a answered) error {
	var said struct {
		Action  string `json:"action"`
		Message string `json:"message"`
	}
	if a.fault != nil {
		if json.Unmarshal(a.fault, &said) != nil || said.Message == "" {
			said.Message = "nobody could be asked."
		}
		return l.step.unheard(said.Message)
	}
	if err := json.Unmarshal(a.result, &said); err != nil {
		return l.step.unheard("the answer cannot be read.")
	}
	switch said.Action {
	case "accept":
		return nil
	case "decline":
		return l.step.declined()
	}
	return l.step.cancelled()
}
