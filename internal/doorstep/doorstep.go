// Package doorstep is where a call waits whose person has yet to connect an
// account: it asks them to, and when they have, the same call goes on.
//
// It is a line before the line: to the relay it looks like any session of a
// backend, and its question like any question of one, so that the ways in
// which a question reaches a person are the same. It keeps no credentials and
// knows nothing of how one is got; that is package grant's.
package doorstep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
)

// Accounts are the accounts that people have connected to one backend. Safe
// for concurrent use.
type Accounts interface {
	// Want says that somebody has to connect an account, why being the
	// *ask.Error with the code NotConnected. The channel is closed when they
	// have.
	Want(who ask.Principal, why error) <-chan struct{}
	// Link is the page at which somebody connects their account without
	// having been asked.
	Link() string
}

// Config is what a Doorstep needs. All but NoPause is required.
type Config struct {
	Backend  string
	Accounts Accounts
	// NoPause lets calls fail with the address at which to connect, where
	// their client can be told one so, and not wait.
	NoPause bool
	Log     *slog.Logger
}

// Doorstep opens lines to one backend. It implements contract.Doorstep and is
// safe for concurrent use.
type Doorstep struct{ cfg Config }

var _ contract.Doorstep = (*Doorstep)(nil)

// New makes a Doorstep.
func New(cfg Config) (*Doorstep, error) {
	if cfg.Backend == "" || cfg.Accounts == nil || cfg.Log == nil {
		return nil, errors.New("doorstep: Backend, Accounts and Log are all required")
	}
	return &Doorstep{cfg: cfg}, nil
}

// Open gives a line for hello. It is the backend's own as soon as there is an
// account, and until then one that answers what can be answered without.
func (d *Doorstep) Open(ctx context.Context, hello contract.Hello, open contract.Opener) (contract.Line, error) {
	inner, err := open(ctx, hello)
	if err != nil && ask.CodeOf(err) != ask.NotConnected {
		return nil, err
	}
	l := &line{step: d, hello: hello, open: open, inner: inner, done: make(chan struct{}), quit: make(chan struct{})}
	if err == nil {
		l.welcome = inner.Welcome()
		l.watch(inner)
		return l, nil
	}
	if l.welcome, err = welcome(d.cfg.Backend, hello.Params); err != nil {
		return nil, err
	}
	d.cfg.Log.Info("session opened before an account is connected", "backend", d.cfg.Backend, "principal", hello.Principal)
	return l, nil
}

// declined, cancelled and unheard are why a call does not go on.
func (d *Doorstep) declined() *ask.Error {
	return ask.Errorf(ask.NotConnected, fmt.Sprintf("The person declined to connect an account to %s. Do not try again unless they ask for it.", d.cfg.Backend))
}

func (d *Doorstep) cancelled() *ask.Error {
	return ask.Errorf(ask.NotConnected, fmt.Sprintf("The person put off connecting an account to %s. Ask them before trying again.", d.cfg.Backend))
}

func (d *Doorstep) unheard(said string) *ask.Error {
	return ask.Errorf(ask.NotConnected, fmt.Sprintf("No account is connected to %s, and nobody connected one: %s\n\n"+
		"Show the person this address, at which they connect it: %s\n\nDo not call again until they say that it is done.",
		d.cfg.Backend, said, d.cfg.Accounts.Link()))
}

func (d *Doorstep) still() *ask.Error {
	return ask.Errorf(ask.NotConnected, fmt.Sprintf("An account was connected to %s, and %s still refuses it. Tell the person; do not try again.", d.cfg.Backend, d.cfg.Backend))
}
