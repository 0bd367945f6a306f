package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/backend/a2a"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/surface/terminal"
	"github.com/answerback/answerback/internal/wire"
)

// examine reaches one backend in both eras.
func examine(ctx context.Context, name string, cfg *config.Config, p patience, w *ward) finding {
	c := cfg.Backends[name]
	limit, what, words := p.network, "an answer", (*lastWords)(nil)
	log := slog.New(slog.DiscardHandler)
	if c.Command != "" {
		limit, what, words = p.command, "its command to answer, which may have to be downloaded first", &lastWords{}
		log = slog.New(words)
	}
	defer w.waits(name, what, words)()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// Nothing that is sealed here is opened again.
	b, err := newBackend(name, c, cfg, nil, nil, seal.Random(), 0, log)
	if err != nil {
		return finding{name: name, state: "cannot be reached", details: ask.From(err).Message, wrong: true}
	}
	f, err := meet(ctx, name, b, c.Command != "")
	// It ends with the examination, also where it does not want to; and then
	// it has said all that it will.
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer stop()
	if k, ok := b.(killer); ok && err != nil {
		k.Kill()
	}
	b.Close(end)
	if err != nil {
		return ill(name, c, limit, words, err)
	}
	return f
}

// meet asks a backend what it speaks and offers.
func meet(ctx context.Context, name string, b backend, command bool) (finding, error) {
	if agent, ok := b.(*a2a.Backend); ok {
		card, err := agent.Describe(ctx)
		return agentFinding(name, card), err
	}
	question := both
	if command {
		question = inTurn
	}
	modern, legacy := question(ctx, b)
	var speaks []string
	var caps wire.Message
	if modern.err == nil && modern.msg.Kind == wire.Result {
		speaks, caps = append(speaks, "modern "+era.Latest), modern.msg
	}
	if legacy.err == nil {
		version, _ := wire.Unquote(wire.Get(legacy.msg.Raw, legacy.msg.Result, "protocolVersion").Of(legacy.msg.Raw))
		speaks, caps = append(speaks, "legacy "+version), legacy.msg
	}
	if len(speaks) == 0 {
		// What it says to the older question is what most servers mean.
		return finding{}, legacy.err
	}
	return finding{name: name, state: strings.Join(speaks, ", "), details: offers(caps)}, nil
}

// heard is what a backend answered.
type heard struct {
	msg wire.Message
	err error
}

// otherTime is how long the second answer may take after the first: a server
// that knows one era alone may stay silent to the other.
const otherTime = 5 * time.Second

// both asks in both eras at the same time.
func both(ctx context.Context, b backend) (modern, legacy heard) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first, second := make(chan heard, 1), make(chan heard, 1)
	go func() {
		m, err := b.Discover(ctx, identity.Local)
		first <- heard{m, err}
	}()
	go func() {
		m, err := greet(ctx, b)
		second <- heard{m, err}
	}()
	hurry := func(h heard) *time.Timer {
		if h.err != nil {
			return nil // the other may still know better
		}
		return time.AfterFunc(otherTime, cancel)
	}
	var timer *time.Timer
	select {
	case modern = <-first:
		if modern.msg.Kind == wire.Result {
			timer = hurry(modern)
		}
		legacy = <-second
	case legacy = <-second:
		timer = hurry(legacy)
		modern = <-first
	}
	if timer != nil {
		timer.Stop()
	}
	return modern, legacy
}

// inTurn asks in one era after the other: a command that is downloaded at its
// first start does not like to be started twice then.
func inTurn(ctx context.Context, b backend) (modern, legacy heard) {
	legacy.msg, legacy.err = greet(ctx, b)
	switch ask.CodeOf(legacy.err) {
	case ask.BackendLost, ask.BackendUnreachable:
		return modern, legacy // it does not run
	}
	if ctx.Err() != nil {
		return modern, legacy
	}
	if legacy.err == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, otherTime)
		defer cancel()
	}
	modern.msg, modern.err = b.Discover(ctx, identity.Local)
	return modern, legacy
}

// agentFinding tells what an A2A agent says of itself.
func agentFinding(name string, card a2a.Card) finding {
	named := terminal.Line(strings.TrimSpace(card.Name+" "+card.Version), 80)
	return finding{
		name: name, state: "A2A 1.0 agent, " + card.Protocol,
		details: named + ", " + count(len(card.Tools), "skill") + ": " + terminal.Line(strings.Join(card.Tools, " "), 300),
	}
}

// ill says what is wrong with a backend that did not answer.
func ill(name string, c config.Backend, limit time.Duration, words *lastWords, err error) finding {
	f := finding{name: name, state: "cannot be reached", details: ask.From(err).Message, wrong: true}
	if ask.CodeOf(err) == ask.Internal {
		// The words for clients say nothing; the operator may see the cause.
		f.state, f.details = "makes no sense", "it answers, and not as an MCP server does: "+terminal.Line(err.Error(), 300)
		if up, ok := errors.AsType[*contract.UpstreamError](err); ok {
			m := up.Reply.Msg
			words, _ := wire.Unquote(wire.Get(m.Raw, m.Error, "message").Of(m.Raw))
			f.details = "it answers initialize with an error: " + terminal.Line(words, 300)
		}
	}
	status, _ := ask.From(err).Data["status"].(int)
	switch {
	case status == http.StatusUnauthorized && !c.Grant.IsZero() || ask.CodeOf(err) == ask.NotConnected:
		// That is how it should be: nobody in particular asked.
		f.state, f.wrong = "needs an account", false
		f.details = "it answers, and each person connects an account of their own (grant: " + c.Grant.Kind + ")"
	case status == http.StatusUnauthorized:
		f.state = "wants credentials"
		f.details = "it answers with HTTP status 401: give headers for it, or grant where each person has an account of their own"
	case words != nil:
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			f.state, f.details = "does not answer", fmt.Sprintf("its command was started and did not answer within %s; raise --wait if it needs longer", limit)
		}
		if said := words.all(); said != "" {
			f.details = strings.TrimSuffix(f.details, ".") + "; it wrote: " + said
		}
	case errors.Is(err, context.DeadlineExceeded):
		f.state, f.details = "does not answer", fmt.Sprintf("no answer within %s from %s", limit, hostOf(c.URL))
	default:
		if why := dialProblem(err); why != "" {
			f.details = why
		}
	}
	return f
}

// dialProblem says why no connection could be made, with the address: the
// operator may know it, and clients hear less.
func dialProblem(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "the name " + terminal.Line(dns.Name, 200) + " does not exist (DNS); check the url"
		}
		return "the name " + terminal.Line(dns.Name, 200) + " could not be looked up (DNS): " + terminal.Line(dns.Err, 200)
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Addr == nil {
		return ""
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return op.Addr.String() + " refused the connection: nothing listens there; check that it runs, and the port"
	case op.Timeout():
		return op.Addr.String() + " did not answer; check that it runs, and firewalls on the way"
	}
	return "the connection to " + op.Addr.String() + " failed: " + terminal.Line(op.Err.Error(), 200)
}

// hostOf is the host of an address, without what may be secret in it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its url"
	}
	return u.Host
}

// greet performs the legacy handshake.
func greet(ctx context.Context, b backend) (wire.Message, error) {
	line, err := b.Open(ctx, contract.Hello{
		Principal: identity.Local,
		Params:    []byte(`{"protocolVersion":"` + era.LatestLegacy + `","capabilities":{},"clientInfo":{"name":"answerback","version":"doctor"}}`),
		Events:    nobody{},
	})
	if err != nil {
		return wire.Message{}, err
	}
	defer line.Close(context.WithoutCancel(ctx))
	return line.Welcome(), nil
}

// offers lists the capabilities of a server.
func offers(m wire.Message) string {
	var names []string
	for member := range wire.Members(m.Raw, wire.Get(m.Raw, m.Result, "capabilities")) {
		name, _ := wire.Unquote(member.Key.Of(m.Raw))
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// nobody takes what a backend sends while it is examined.
type nobody struct{}

func (nobody) Notify(*wire.Message) {}

func (nobody) Question(q *contract.Question) {
	_ = q.Reply(q.Gone, nil, era.ErrorObject(ask.Errorf(ask.NoClient, "No client is available: this is only an examination."), era.Legacy))
}

func (nobody) Lost(*ask.Error) {}
