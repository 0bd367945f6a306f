package main

import (
	"log/slog"
	"time"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/notify"
	"github.com/answerback/answerback/internal/observe"
)

// teller tells people outside the pages of what waits there. Without an
// address to post to it tells nobody.
type teller struct {
	notifier *notify.Notifier
	close    func()
}

func newTeller(cfg *config.Config, d *doors, metrics *observe.Metrics, log *slog.Logger) (teller, error) {
	if cfg.Notify.Webhook.Reveal() == "" || d == nil {
		return teller{close: func() {}}, nil
	}
	key, _ := cfg.Notify.SigningKey() // a valid configuration has one
	client := egress.ForWebhooks()
	n, err := notify.New(notify.Config{
		Webhook: cfg.Notify.Webhook, Key: key, Link: d.Link, Send: client.Do, Now: time.Now, Log: log,
		Count: func(r notify.Result) { metrics.Notified(string(r)) },
	})
	if err != nil {
		return teller{}, err
	}
	return teller{n, func() {
		n.Close()
		client.CloseIdleConnections()
	}}, nil
}

// record hears of every transition of an ask. What the client shows itself
// needs nobody else to tell of it.
func (t teller) record(r desk.Record) {
	switch r.Transition {
	case exchange.TransitionShown.String():
		if r.Rung == exchange.RungClient.String() {
			return
		}
		t.notifier.Waiting(notify.Waiting{
			Ask: r.Ask, Kind: r.Kind, Backend: r.Backend, During: r.During, Name: r.Name, Addressee: r.Addressee,
			Asked: r.At.Add(-r.Since), Deadline: r.Deadline,
		})
	case exchange.TransitionSettled.String():
		t.notifier.Over(r.Ask)
	}
}
