package notify

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/egress"
)

// post is one message on its way.
type post struct {
	ask      string
	id       string // of the message
	raw      []byte
	deadline time.Time
	due      time.Time
	tried    int
	sending  bool
	over     bool
}

// sent is what became of one attempt.
type sent struct {
	post  *post
	err   error
	final bool // another attempt would not help
}

// run owns all posts: nothing else touches them.
func (n *Notifier) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var senders sync.WaitGroup
	defer func() {
		cancel()
		senders.Wait()
	}()
	pending := map[string]*post{} // by ask
	sending := 0
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		for _, p := range pending {
			if sending == maxSending {
				break
			}
			if !p.sending && !n.cfg.Now().Before(p.due) {
				p.sending, p.tried = true, p.tried+1
				sending++
				senders.Go(func() { n.done <- n.send(ctx, p) })
			}
		}
		timer.Reset(n.until(pending, sending))
		select {
		case <-n.closing:
			if len(pending) > 0 {
				n.cfg.Log.Warn("not everybody was notified before the end", "asks", len(pending))
			}
			return
		case <-timer.C:
		case e := <-n.incoming:
			n.hear(pending, e)
		case s := <-n.done:
			sending--
			n.settle(pending, s)
		}
	}
}

// hear takes in what the owner is told.
func (n *Notifier) hear(pending map[string]*post, e event) {
	if e.waiting == nil {
		if p := pending[e.over]; p != nil {
			p.over = true
			if !p.sending {
				delete(pending, e.over)
			}
		}
		return
	}
	w := e.waiting
	switch {
	case pending[w.Ask] != nil: // it is being told already
	case len(pending) >= maxPending:
		n.drop(w.Ask, "too many wait to be told")
	default:
		pending[w.Ask] = &post{
			ask: w.Ask, id: "msg_" + rand.Text(), raw: encode(w, n.cfg.Link(w.Ask)), deadline: w.Deadline, due: n.cfg.Now(),
		}
	}
}

// settle decides what comes after an attempt.
func (n *Notifier) settle(pending map[string]*post, s sent) {
	p := s.post
	p.sending = false
	pause := firstPause << (2 * (p.tried - 1))
	p.due = n.cfg.Now().Add(pause)
	switch {
	case s.err == nil:
		n.cfg.Count(Sent)
	case p.over: // nobody needs to be told any more
	case s.final || p.tried >= attempts:
		n.cfg.Count(Failed)
		n.cfg.Log.Warn("nobody was notified", "ask", p.ask, "attempts", p.tried, "err", s.err)
	case !p.deadline.IsZero() && p.due.After(p.deadline):
		n.drop(p.ask, "its time is up before the next attempt: "+s.err.Error())
	default:
		n.cfg.Log.Info("notification failed, and is tried again", "ask", p.ask, "attempts", p.tried, "in", pause, "err", s.err)
		return
	}
	delete(pending, p.ask)
}

// until is how long there is nothing to do. Where all senders are busy, the
// next that is done wakes the owner.
func (n *Notifier) until(pending map[string]*post, sending int) time.Duration {
	next := time.Hour
	if sending == maxSending {
		return next
	}
	for _, p := range pending {
		if !p.sending {
			next = min(next, p.due.Sub(n.cfg.Now()))
		}
	}
	return max(0, next)
}

// send makes one attempt.
func (n *Notifier) send(ctx context.Context, p *post) sent {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	final, err := egress.Post(ctx, n.cfg.Send, n.cfg.Webhook.Reveal(), p.raw, func(h http.Header) {
		sign(h, n.cfg.Key, p.id, n.cfg.Now(), p.raw)
	})
	return sent{p, err, final}
}
