package relay

import (
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// clock keeps the time of one call. A plain call is one timer; at its first
// question the call enters the exchange, which decides from then on.
type clock struct {
	fire func(why *ask.Error) // called once, when time is up

	mu      sync.Mutex
	timer   *time.Timer
	started time.Time
	limits  exchange.Limits
	call    exchange.Call // new until the first question
	over    bool
}

// start lets the clock run.
func (k *clock) start(limits exchange.Limits, fire func(*ask.Error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fire, k.limits, k.started = fire, limits, time.Now()
	k.timer = time.AfterFunc(min(limits.Work, limits.Total), k.ring)
}

// relimit replaces the work time of a call that has not been asked in yet.
func (k *clock) relimit(work time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || k.call.Phase != exchange.CallNew {
		return
	}
	k.limits.Work = work
	k.timer.Reset(min(work, k.limits.Total) - time.Since(k.started))
}

// pause stands the clock still for one more question.
func (k *clock) pause() { k.step(exchange.AskOpened{}) }

// resume ends one question's pause.
func (k *clock) resume() { k.step(exchange.AskSettled{}) }

// stop ends the clock without firing.
func (k *clock) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	k.timer.Stop()
}

// spent gives the time that the call has worked, and that in which somebody
// was asked.
func (k *clock) spent() (work, people time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	total := now.Sub(k.started)
	if k.call.Phase == exchange.CallNew {
		return total, 0
	}
	work = min(total, k.limits.Work-k.call.Work.Remaining(now))
	return work, total - work
}

// ring looks whether time is really up.
func (k *clock) ring() { k.step(exchange.Tick{}) }

// step runs the exchange and performs what it says about time.
func (k *clock) step(ev exchange.CallEvent) {
	k.mu.Lock()
	now := time.Now()
	var effects []exchange.CallEffect
	if !k.over {
		if k.call.Phase == exchange.CallNew {
			k.call, _ = exchange.StepCall(k.call, now, exchange.Began{Started: k.started, Limits: k.limits})
		}
		k.call, effects = exchange.StepCall(k.call, now, ev)
	}
	var why *ask.Error
	for _, e := range effects {
		switch e := e.(type) {
		case exchange.Arm:
			k.timer.Reset(e.At.Sub(now))
		case exchange.CancelUpstream:
			why = e.Why
		}
	}
	if why != nil {
		k.over = true
		k.timer.Stop()
	}
	k.mu.Unlock()
	if why != nil {
		k.fire(why)
	}
}
