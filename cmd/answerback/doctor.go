package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/observe"
)

// How long the doctor waits: for whatever is reached over the network, and for
// a command, whose first start may have to download it.
const (
	networkTime = 30 * time.Second
	commandTime = 3 * time.Minute
)

func newDoctorCmd() *cobra.Command {
	p := patience{network: networkTime, every: 5 * time.Second}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Reach everything that the configuration names, and tell what is wrong",
		Long: "Reach every backend and tell which protocol it speaks and what it offers; ask the issuers for their keys\n" +
			"and the authorization servers of accounts for their metadata; and look at the data directory and the store.\n" +
			"Where a gateway runs with the same data_dir, its counts are looked at too. Commands are started for this,\n" +
			"which takes a while where they have to be downloaded first: --wait says how long at most.\n" +
			"The status is 0 when nothing is wrong.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return doctor(cmd.Context(), cfg, p, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().DurationVar(&p.command, "wait", commandTime, "how long a command may take until it answers")
	return cmd
}

// patience is how long the doctor waits for what, and how often it says so.
type patience struct {
	network, command, every time.Duration
}

// finding is what the doctor found out about one thing.
type finding struct {
	name, state, details string
	wrong                bool
}

// part is a group of things that are looked at.
type part struct {
	title string // "" for backends, which come first
	what  string // one of the things, for the count
	found []finding
}

func doctor(ctx context.Context, cfg *config.Config, p patience, out, progress io.Writer) error {
	w := newWard(progress, p.every)
	parts := []*part{
		{what: "backend", found: make([]finding, len(cfg.Enabled()))},
		{title: "Issuers", what: "issuer", found: make([]finding, len(cfg.Identity.Issuers))},
		{title: "Authorization servers", what: "authorization server"},
		{title: "Store", what: "store"},
	}
	var wg sync.WaitGroup
	for i, name := range cfg.Enabled() {
		wg.Go(func() { parts[0].found[i] = examine(ctx, name, cfg, p, w) })
	}
	for i, name := range sortedKeys(cfg.Identity.Issuers) {
		wg.Go(func() { parts[1].found[i] = examineIssuer(ctx, name, cfg, p, w) })
	}
	wg.Go(func() { parts[2].found = examineAccounts(ctx, cfg, p, w) })
	wg.Go(func() { parts[3].found = examineStore(ctx, cfg, p) })
	wg.Wait()
	w.close()

	var sick []string
	for _, part := range parts {
		n, err := part.print(out)
		if err != nil {
			return err
		}
		if n > 0 {
			sick = append(sick, part.sick(n))
		}
	}
	asks, err := readStatus(ctx, cfg.DataDir)
	if err != nil {
		return fmt.Errorf("the running gateway did not tell its counts: %w", err)
	}
	for _, a := range asks {
		advise(out, a)
	}
	return wrongWith(sick)
}

// print writes what was found, and counts what is wrong.
func (p *part) print(out io.Writer) (wrong int, err error) {
	if len(p.found) == 0 {
		return 0, nil
	}
	if p.title != "" {
		fmt.Fprintf(out, "\n%s\n", p.title)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, f := range p.found {
		if f.wrong {
			wrong++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.name, f.state, f.details)
	}
	return wrong, table.Flush()
}

func (p *part) sick(n int) string {
	switch p.what {
	case "store":
		return "the store needs attention"
	case "backend":
		return count(n, p.what) + " cannot be reached"
	}
	return count(n, p.what) + " cannot be used"
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
