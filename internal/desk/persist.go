//go:build !plant

package desk

import "github.com/answerback/answerback/internal/exchange"

// persist stores an ask before anything else is done about it.
func persist(d *Desk, e *entry, p exchange.Persist) exchange.AskEvent { return d.persist(e, p) }
