package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/surface/terminal"
)

// maxLocal is the largest response of the status socket that a command reads.
const maxLocal = 256 << 20

// askRunning sends a request to the status socket of the gateway that runs with
// the configuration's data_dir, and reads its JSON response. what says what is
// done through the gateway, for the error where none runs.
func askRunning(cmd *cobra.Command, method, path, what string, result any) error {
	cfg, _, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), requestTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://answerback"+path, nil)
	if err != nil {
		return err
	}
	resp, err := sendLocal(cfg.DataDir)(r)
	if errors.Is(err, errNotRunning) {
		return fmt.Errorf("%w: %s through the gateway, so start one with answerback serve", errNotRunning, what)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLocal))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(terminal.Line(strings.TrimSpace(string(body)), 500))
	}
	return json.Unmarshal(body, result)
}
