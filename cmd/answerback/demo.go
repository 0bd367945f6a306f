package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/demo"
	"github.com/answerback/answerback/internal/egress"
)

func newDemoCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a question answered in a browser",
		Long: "Run a gateway with one server behind it that asks, and call that server: the question waits on a page\n" +
			"whose link is printed, and the call goes on with what is answered there. Nothing is left behind at the end.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), cmd.OutOrStdout()) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "server",
		Short: "Serve the demo's MCP server on standard input and output",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return demo.Serve(cmd.InOrStdin(), cmd.OutOrStdout()) },
	})
	return cmd
}

// demoConfig is the demo's configuration, but for its addresses and places.
// The client is held because nobody repeats its call, and for longer than the
// question lives: timer says that it waits, which is known of no client that
// the gateway has no entry for.
const demoConfig = `listen: %s
data_dir: %s
log: { level: error }
limits: { drain: 1s }
asks: { timeout: 30m }
clients: [ { name: ` + demo.Client + `, hold: 45m, timer: 1h } ]
backends:
  demo: { command: %s, args: [demo, server] }
`

// demoFile is the demo's configuration file.
func demoFile(listen, dir, self string) []byte {
	return fmt.Appendf(nil, demoConfig, listen, quoted(dir), quoted(self))
}

// runDemo serves the demo until ctx ends.
func runDemo(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "answerback-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "answerback.yaml")
	text := demoFile(demoAddress(), dir, self)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	cfg, _, err := config.Load(file, os.LookupEnv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	return serve(ctx, cfg, file, newLogger(cfg.Log, os.Stderr), func(d *doors, _ *gateway) {
		fmt.Fprintf(out, "A server has just been called that asks before it orders lunch. The call waits for your answer.\n"+
			"Open this link, press Sign in, and answer (Ctrl-C ends the demo):\n\n  %s\n\n", d.signin.LocalLink())
		wg.Go(func() { callDemo(ctx, out, d.public+resourcePath) })
	})
}

// callDemo calls the server and tells what came of it.
func callDemo(ctx context.Context, out io.Writer, endpoint string) {
	client := egress.ForBackends(egress.Config{IdlePerHost: 1})
	defer client.CloseIdleConnections()
	words, err := demo.Call(ctx, client, endpoint)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		fmt.Fprintf(out, "The call failed: %v\n\n", err)
	default:
		fmt.Fprintf(out, "The call went on, and returned:\n\n  %s\n\n", words)
	}
	fmt.Fprintf(out, "The gateway runs on: let your own MCP client call %s at %s.\nA client that has forms shows the question itself.\n", demo.Tool, endpoint)
}

// demoAddress is the gateway's usual address, or a free one where something
// else has that.
func demoAddress() string {
	usual := config.Default().Listen
	ln, err := net.Listen("tcp", usual)
	if err != nil {
		return "127.0.0.1:0"
	}
	ln.Close()
	return usual
}

// quoted gives a text as YAML takes it, whatever is in it.
func quoted(s string) string {
	q, _ := json.Marshal(s) // a string has an encoding
	return string(q)
}
