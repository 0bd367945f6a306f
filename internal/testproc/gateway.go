package testproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Server is a running program that serves at a URL.
type Server struct {
	*Process
	URL string
}

// serving is the line on standard error with which the gateway says that it
// accepts connections. The programs of bench say it the same way.
var serving = regexp.MustCompile(`\bmsg="?serving"?\s.*\burl="?([^\s"]+)`)

// Serve runs cmd and waits until it says at which URL it serves. What it
// writes to standard error goes to log as well, unless that is nil.
func Serve(ctx context.Context, cmd *exec.Cmd, log io.Writer) (*Server, error) {
	url := make(chan string, 1)
	found := false
	p, err := start(ctx, cmd, log, func(line string) {
		if found {
			return // looking at every line would cost what is measured its time
		}
		if m := serving.FindStringSubmatch(line); m != nil {
			found = true
			url <- m[1]
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case u := <-url:
		return &Server{p, u}, nil
	case <-p.Done():
		return nil, p.ended()
	case <-time.After(readyWithin):
		return nil, errors.Join(fmt.Errorf("%s did not serve within %s:\n%s", cmd.Path, readyWithin, p.Tail()), p.Stop())
	}
}

// StartGateway runs the gateway on a free port, with the configuration that
// WriteConfig makes. The URL is that of its joined endpoint.
func StartGateway(ctx context.Context, bin, dir, config string, log io.Writer) (*Server, error) {
	file, err := WriteConfig(dir, config)
	if err != nil {
		return nil, err
	}
	return Serve(ctx, exec.Command(bin, "serve", "--config", file), log)
}

// WriteConfig writes a configuration file into dir and gives its name. config
// is YAML without listen and data_dir, which are set to a free port and to a
// place in dir; where it has no limits, the gateway drains quickly.
func WriteConfig(dir, config string) (string, error) {
	text := "listen: 127.0.0.1:0\ndata_dir: " + filepath.Join(dir, "data") + "\n" + config
	if !strings.Contains(config, "limits:") {
		text += "limits: { drain: 1s }\n"
	}
	file := filepath.Join(dir, "answerback.yaml")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// Backends is configuration for WriteConfig: servers by name, at addresses.
func Backends(urls map[string]string) string {
	var b strings.Builder
	b.WriteString("backends:\n")
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		fmt.Fprintf(&b, "  %s: { url: %q }\n", name, urls[name])
	}
	return b.String()
}
