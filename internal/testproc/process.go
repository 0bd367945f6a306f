// Package testproc starts the programs that the outer tests put together: the
// built gateway, and other people's servers. It knows how each says that it
// is ready, and how it is stopped; what is asked of them is the tests' affair.
package testproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	readyWithin = 20 * time.Second
	stopWithin  = 20 * time.Second
	tailLines   = 20
)

// Process is a running program. Stop must be called, once.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and err is set
	err  error

	mu   sync.Mutex
	tail []string // its last lines of standard error
}

// start runs cmd until Stop, or until ctx ends. Each line of its standard
// error goes to line, if that is not nil, and to log.
func start(ctx context.Context, cmd *exec.Cmd, log io.Writer, line func(string)) (*Process, error) {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	go func() {
		defer close(p.done)
		defer stop()
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.keep(lines.Text())
			if log != nil {
				fmt.Fprintln(log, lines.Text())
			}
			if line != nil {
				line(lines.Text())
			}
		}
		_, _ = io.Copy(io.Discard, stderr)
		p.err = cmd.Wait()
	}()
	return p, nil
}

func (p *Process) keep(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = append(p.tail, line)
	if len(p.tail) > tailLines {
		p.tail = p.tail[1:]
	}
}

// PID is the process's id, for measuring it.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Tail gives the last lines of its standard error.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// Stop asks the process to end and waits until it has. It fails where the
// process had to be killed, or ended with a status that is not 0.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return p.err
	case <-time.After(stopWithin):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return errors.Join(fmt.Errorf("%s did not end within %s of SIGTERM", p.cmd.Path, stopWithin), p.err)
}

// ended describes a process that ended when it should not have.
func (p *Process) ended() error {
	return fmt.Errorf("%s ended early: %v\n%s", p.cmd.Path, p.err, p.Tail())
}

// Env gives the value of an environment variable that `make` sets for the
// outer tests, or says how to get it.
func Env(name string) (string, error) {
	v := os.Getenv(name)
	if v == "" {
		return "", fmt.Errorf("%s is not set; run this through make", name)
	}
	return v, nil
}
