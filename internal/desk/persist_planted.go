//go:build plant

package desk

import (
	"time"

	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/plant"
)

// persist stores an ask, or says so a second before it does.
func persist(d *Desk, e *entry, p exchange.Persist) exchange.AskEvent {
	if !plant.AckBeforePersist.On() {
		return d.persist(e, p)
	}
	time.AfterFunc(time.Second, func() { d.persist(e, p) })
	return exchange.Persisted{}
}
