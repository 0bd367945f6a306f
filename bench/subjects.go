package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/testproc"
)

// The CPUs of the two sides.
const (
	gatewayCPU = "0"
	loadCPU    = "1"
)

// setup is everything that runs during the comparison.
type setup struct {
	self     string
	backend  *testproc.Server
	proxy    *testproc.Server
	gateways map[string]*testproc.Server // by era
}

// subject is one way from the load to the backend.
type subject struct {
	name   string
	url    string
	prefix string // before the names of tools
	pid    int    // whose CPU time is measured, 0 for nobody's
}

// setUp starts the backend, the proxy, and a gateway for each era. A gateway
// has two backends, so that it joins lists and rewrites names. What was
// started is in the setup also where it fails.
func setUp(ctx context.Context, bin, dir string) (*setup, error) {
	s := &setup{gateways: map[string]*testproc.Server{}}
	var err error
	if s.self, err = os.Executable(); err != nil {
		return s, err
	}
	if s.backend, err = testproc.Serve(ctx, pinned(loadCPU, s.self, "backend"), nil); err != nil {
		return s, err
	}
	if s.proxy, err = testproc.Serve(ctx, pinned(gatewayCPU, s.self, "rproxy", "-to", s.backend.URL), nil); err != nil {
		return s, err
	}
	for _, era := range []string{"legacy", "modern"} {
		url := s.backend.URL + "/" + era
		home := filepath.Join(dir, era)
		if err := os.Mkdir(home, 0o700); err != nil {
			return s, err
		}
		file, err := testproc.WriteConfig(home, testproc.Backends(map[string]string{"one": url, "two": url})+
			"asks: { max_open: 100000, rate_per_minute: 1000000, burst: 1000000 }\n")
		if err != nil {
			return s, err
		}
		if s.gateways[era], err = testproc.Serve(ctx, pinned(gatewayCPU, bin, "serve", "--config", file), nil); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *setup) tearDown() {
	for _, p := range []*testproc.Server{s.gateways["legacy"], s.gateways["modern"], s.proxy, s.backend} {
		if p != nil {
			_ = p.Stop()
		}
	}
}

// subjects gives the ways to the backend for a test, the measure first.
func (s *setup) subjects(test string) []subject {
	era := "legacy"
	if isModern(test) {
		era = "modern"
	}
	g := s.gateways[era]
	return []subject{
		{name: "rproxy", url: s.proxy.URL + "/" + era, pid: s.proxy.PID()},
		{name: "answerback", url: g.URL, prefix: "one__", pid: g.PID()},
		{name: "direct", url: s.backend.URL + "/" + era},
	}
}

// measure runs the load against a subject.
func (s *setup) measure(ctx context.Context, sub subject, test, conc string, length time.Duration) ([]sample, error) {
	cmd := pinned(loadCPU, s.self, "load", "-url", sub.url, "-prefix", sub.prefix, "-pid", strconv.Itoa(sub.pid),
		"-test", test, "-c", conc, "-d", length.String())
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return nil, errors.Join(err, errors.New(strings.TrimSpace(said.String())))
	}
	var samples []sample
	for dec := json.NewDecoder(&out); dec.More(); {
		var m sample
		if err := dec.Decode(&m); err != nil {
			return nil, err
		}
		m.Subject = sub.name
		samples = append(samples, m)
	}
	return samples, nil
}

// pinned is a command that has one CPU, where the machine has two.
func pinned(cpu, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	if taskset, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > 1 {
		cmd = exec.Command(taskset, append([]string{"-c", cpu, name}, args...)...)
	}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return cmd
}
