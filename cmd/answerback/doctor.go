package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/backend/a2a"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/observe"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/surface/terminal"
	"github.com/answerback/answerback/internal/wire"
)

func newDoctorCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Reach every backend and tell what it speaks, and what is wrong",
		Long: "Reach every backend and tell which protocol it speaks and what it offers.\n" +
			"Where a gateway runs with the same data_dir, its counts are looked at too.\n" +
			"The status is 0 when every backend was reached.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
			defer cancel()
			return doctor(ctx, cfg, cmd.OutOrStdout())
		},
	}
}

// finding is what the doctor found out about one backend.
type finding struct {
	name, era, offers string
	err               error
}

func doctor(ctx context.Context, cfg *config.Config, out io.Writer) error {
	names := cfg.Enabled()
	found := make([]finding, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { found[i] = examine(ctx, name, cfg) })
	}
	wg.Wait()

	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	sick := 0
	for _, f := range found {
		if f.err != nil {
			sick++
			fmt.Fprintf(table, "%s\tcannot be reached\t%s\n", f.name, ask.From(f.err).Message)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.name, f.era, f.offers)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	asks, err := readStatus(ctx, cfg.DataDir)
	if err != nil {
		return fmt.Errorf("the running gateway did not tell its counts: %w", err)
	}
	for _, a := range asks {
		advise(out, a)
	}
	if sick > 0 {
		return fmt.Errorf("%s cannot be reached", count(sick, "backend"))
	}
	return nil
}

// advise says what the counts of a backend mean for its operator.
func advise(out io.Writer, a observe.Asks) {
	if a.Withdrawn > 0 {
		fmt.Fprintf(out, "%s took back %s of %d before anybody answered: its own timeout is shorter than people are. Raise it at the server; many SDKs give up after 60 seconds.\n",
			a.Backend, count(int(a.Withdrawn), "question"), a.Asked)
	}
	if a.Expired > 0 {
		fmt.Fprintf(out, "%s had %s of %d expire without an answer. Raise asks.timeout if people need longer.\n", a.Backend, count(int(a.Expired), "question"), a.Asked)
	}
}

// examine reaches one backend in both eras.
func examine(ctx context.Context, name string, cfg *config.Config) finding {
	f := finding{name: name}
	// Nothing that is sealed here is opened again.
	b, err := newBackend(name, cfg.Backends[name], cfg, nil, nil, seal.Random(), 0, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		f.err = err
		return f
	}
	defer b.Close(context.WithoutCancel(ctx))
	if agent, ok := b.(*a2a.Backend); ok {
		return f.agent(agent.Describe(ctx))
	}
	var speaks []string
	caps := wire.Message{}
	if m, err := discover(ctx, b); err != nil {
		f.err = err
	} else if m.Kind == wire.Result {
		speaks, caps = append(speaks, "modern "+era.Latest), m
	}
	if m, err := greet(ctx, b); err == nil {
		version, _ := wire.Unquote(wire.Get(m.Raw, m.Result, "protocolVersion").Of(m.Raw))
		speaks, caps = append(speaks, "legacy "+version), m
	} else if f.err == nil && len(speaks) == 0 {
		f.err = err
	}
	if len(speaks) > 0 {
		f.err = nil
	}
	f.era, f.offers = strings.Join(speaks, ", "), offers(caps)
	return f
}

// agent tells what an A2A agent says of itself.
func (f finding) agent(card a2a.Card, err error) finding {
	f.err = err
	f.era = "A2A 1.0 agent, " + card.Protocol
	named := terminal.Line(strings.TrimSpace(card.Name+" "+card.Version), 80)
	f.offers = named + ", " + count(len(card.Tools), "skill") + ": " + terminal.Line(strings.Join(card.Tools, " "), 300)
	return f
}

// discover asks a backend in the modern way, not for long: a server that only
// knows the other may stay silent.
func discover(ctx context.Context, b backend) (wire.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	m, err := b.Discover(ctx, identity.Local)
	if errors.Is(err, context.DeadlineExceeded) {
		return wire.Message{}, nil
	}
	return m, err
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
