package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/observe"
)

// auditPath is where the status socket serves the audit.
const auditPath = "/audit"

// auditPageTime bounds how long one part of the audit may take.
const auditPageTime = 2 * time.Minute

func newAuditCmd() *cobra.Command {
	var since, until string
	var filter observe.Filter
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Print the audit of the running gateway as JSON lines",
		Long: "Print what happened to questions as JSON lines, oldest first: who asked, who was asked, where it was\n" +
			"shown, who answered, when, and how it ended. Answers themselves are not in it, only their digest. What\n" +
			"happened to the accounts that people connected is in it too.\n" +
			"The gateway that runs with the same data_dir is asked for it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var errs [2]error
			now := time.Now()
			filter.Since, errs[0] = pointInTime("since", since, now)
			filter.Until, errs[1] = pointInTime("until", until, now)
			if err := errors.Join(errs[:]...); err != nil {
				return err
			}
			cfg, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return printAudit(cmd.Context(), cfg.DataDir, filter, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "from this time on, such as 2026-07-28T09:00:00Z, or 24h or 7d ago")
	cmd.Flags().StringVar(&until, "until", "", "before this time, written in the same ways")
	cmd.Flags().StringVar(&filter.Ask, "ask", "", "of the question with this id")
	cmd.Flags().StringVar(&filter.Backend, "backend", "", "of the questions of this backend")
	return cmd
}

// pointInTime reads a time, or how long ago it was. The zero time stands for
// an empty text.
func pointInTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	ago, err := config.ParseDuration(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--%s %s is neither a time such as 2026-07-28T09:00:00Z nor a duration such as 24h or 7d", flag, text)
	}
	return now.Add(-ago), nil
}

// printAudit writes all of the audit that is wanted, one part after the other.
func printAudit(ctx context.Context, dataDir string, filter observe.Filter, out io.Writer) error {
	query := filter.Query()
	for {
		next, err := printAuditPage(ctx, dataDir, auditPath+"?"+query.Encode(), out)
		if errors.Is(err, errNotRunning) {
			return fmt.Errorf("%w: the audit is read through the gateway, so start one with answerback serve", err)
		}
		if err != nil {
			return fmt.Errorf("the audit cannot be read to its end: %w", err)
		}
		if next == "" {
			return nil
		}
		query.Set("from", next)
	}
}

// printAuditPage writes one part of the audit and gives the position of the
// next one, "" where there is none.
func printAuditPage(ctx context.Context, dataDir, path string, out io.Writer) (next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, auditPageTime)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", statusSocket(dataDir))
	if err != nil {
		return "", errNotRunning
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", cutOff(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return "", fmt.Errorf("the gateway said %s: %s", resp.Status, strings.TrimSpace(string(said)))
	}
	if _, err := io.Copy(out, resp.Body); err != nil {
		return "", cutOff(ctx, err)
	}
	return resp.Trailer.Get(observe.NextHeader), nil
}

// cutOff says why a response has no end.
func cutOff(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the gateway broke it off; its log says why")
	}
	return err
}
