// Command wrapper is the client that the conformance suite drives: go-sdk's
// client with the gateway before it. The suite gives the address of the
// scenario's server as the last argument and describes the scenario in the
// environment, which the client inherits.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/answerback/answerback/internal/testproc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "wrapper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, server string) (err error) {
	bin, err := testproc.Env("ANSWERBACK_BIN")
	if err != nil {
		return err
	}
	peers, err := testproc.Env("ANSWERBACK_PEERS")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "wrapper")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	gateway, err := testproc.StartGateway(ctx, bin, dir, testproc.Backends(map[string]string{"suite": server}), os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gateway.Stop()) }()

	client := exec.CommandContext(ctx, filepath.Join(peers, "bin", "everything-client"), gateway.URL)
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	return client.Run()
}
