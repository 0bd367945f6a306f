// Command bench measures the gateway beside what one would run instead: no
// gateway at all, and a bare httputil.ReverseProxy, which reads no message,
// routes by no name and correlates nothing.
//
//	bench -gateway bin/answerback -out .out/bench.md
//
// All subjects are measured in one run, interleaved, because the machine is
// shared: a figure means something only beside another of the same run. The
// gateway and the proxy have one CPU, the backend and the load the other. The
// CPU time per call is the steadiest of the figures.
//
// The program is also its own backend, proxy and load: `bench backend`,
// `bench rproxy`, `bench load`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	role, args := "", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		role, args = args[0], args[1:]
	}
	var err error
	switch role {
	case "":
		err = drive(ctx, args)
	case "backend":
		err = serveBackend(ctx)
	case "rproxy":
		err = serveProxy(ctx, args)
	case "load":
		err = runLoad(ctx, args)
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// drive runs the whole comparison and writes the table.
func drive(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bench", flag.ExitOnError)
	bin := fs.String("gateway", "bin/answerback", "the gateway's binary")
	out := fs.String("out", ".out/bench.md", "file for the table")
	tests := fs.String("tests", "echo,mecho,ask,mask", "what to measure: a call and an ask, legacy and modern")
	conc := fs.String("c", "1,16,64", "calls at once")
	rounds := fs.Int("rounds", 3, "how often each subject is measured; the table has the medians")
	length := fs.Duration("d", 1500*time.Millisecond, "length of one measurement")
	if err := fs.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := setUp(ctx, *bin, dir)
	defer s.tearDown()
	if err != nil {
		return err
	}
	var samples []sample
	for round := range *rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
		for test := range strings.SplitSeq(*tests, ",") {
			for _, sub := range s.subjects(test) {
				got, err := s.measure(ctx, sub, test, *conc, *length)
				if err != nil {
					return fmt.Errorf("measuring %s of %s: %w", test, sub.name, err)
				}
				samples = append(samples, got...)
			}
		}
	}
	table := medians(samples)
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(*out, []byte(table.markdown(*rounds, *length)), 0o644); err != nil {
		return err
	}
	fmt.Printf("bench: %s in %s, table in %s\n", table.summary(), time.Since(began).Round(time.Second), *out)
	return nil
}
