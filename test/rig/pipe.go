package rig

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
)

// Pipe is a client that started the gateway itself, as `answerback stdio`.
type Pipe struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	msgs chan wire.Message
	log  *logBuffer
	done chan error
}

// StartStdio runs `answerback stdio` with a configuration, to which data_dir
// is added. A line of its output that is no message fails the test, and so
// does an end without success.
func StartStdio(t testing.TB, yaml string) *Pipe {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "answerback.yaml")
	Write(t, file, "data_dir: "+filepath.Join(dir, "data")+"\n"+yaml)
	p := &Pipe{t: t, cmd: command(t, "stdio", "--config", file), msgs: make(chan wire.Message, 64), log: &logBuffer{}, done: make(chan error, 1)}
	p.cmd.Stderr = p.log
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.read(out)
		close(p.msgs)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(p.stop)
	return p
}

func (p *Pipe) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err == nil {
			var msg wire.Message
			if msg, err = wire.Scan(bytes.TrimSuffix(line, []byte("\n")), wire.Limits{}); err == nil {
				p.msgs <- msg
				continue
			}
		}
		if len(line) > 0 {
			p.t.Errorf("what is no message came on standard output: %.300q", line)
		}
		if err == io.EOF {
			return
		}
	}
}

// Send writes one line.
func (p *Pipe) Send(raw string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, raw+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// Next gives the next message; it fails the test when none comes.
func (p *Pipe) Next() wire.Message {
	p.t.Helper()
	select {
	case msg, ok := <-p.msgs:
		if !ok {
			p.t.Fatalf("the output ended\n%s", p.log)
		}
		return msg
	case <-time.After(Patience):
		p.t.Fatalf("no further message came\n%s", p.log)
		return wire.Message{}
	}
}

// Close ends the input and gives what the process ended with, and the
// messages that nobody had taken.
func (p *Pipe) Close() ([]wire.Message, error) {
	p.t.Helper()
	p.in.Close()
	timer := time.AfterFunc(Patience, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	var left []wire.Message
	for msg := range p.msgs {
		left = append(left, msg)
	}
	err := <-p.done
	p.done <- err
	return left, err
}

func (p *Pipe) stop() {
	if _, err := p.Close(); err != nil || strings.Contains(p.log.String(), "DATA RACE") {
		p.t.Errorf("the gateway did not end well: %v\n%s", err, p.log)
	} else if p.t.Failed() {
		p.t.Logf("the gateway's log:\n%s", p.log)
	}
}
