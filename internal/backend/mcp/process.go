package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/wire"

	"github.com/answerback/answerback/internal/secret"
)

const (
	// stopGrace is how long a process has to end by itself: first after its
	// input was closed, then after it was asked to terminate.
	stopGrace = 2 * time.Second
	// inputGrace is how long a process that shall end may take to read what
	// was said to it before.
	inputGrace = 250 * time.Millisecond
	// outputGrace is how long output may still come after a process ended:
	// what it started may hold the pipe open.
	outputGrace = 500 * time.Millisecond

	writeQueue   = 64
	maxErrorLine = 2 << 10
	salvageHead  = 4 << 10
)

// inherited are the variables of our own environment that a server gets.
var inherited = []string{
	"HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
	"SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
}

func environment(own map[string]secret.Text) []string {
	env := make([]string, 0, len(inherited)+len(own))
	for _, name := range inherited {
		if _, ours := own[name]; ours {
			continue
		}
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range own {
		env = append(env, name+"="+v.Reveal())
	}
	slices.Sort(env)
	return env
}

// process is a server that we run: it takes lines and gives lines.
type process struct {
	name  string
	log   *slog.Logger
	limit int
	cmd   *exec.Cmd
	stdin io.WriteCloser
	queue chan []byte
	quit  chan struct{} // closed when the process shall end
	once  sync.Once     // closes quit
	gone  chan struct{} // closed when it has, and its output is read
	crew  crew
	noise limiter
	held  func() *budget.Hold
	life  context.Context // ends when nobody waits for output any more
	leave context.CancelFunc
}

// handler takes what a process says, from one goroutine.
type handler interface {
	line(msg []byte)          // a line of output; the bytes are used until it returns
	cut(head []byte, e error) // the head of a line beyond the limit, or beyond the memory there is
	down(p *process, e error) // the process is gone; nothing comes after it
}

// start runs the server's command. attach is given the process before
// anything is read from it, and says who hears of what it does until down.
func (b *Backend) start(attach func(*process) handler) (*process, error) {
	select {
	case b.procs <- struct{}{}:
	default:
		return nil, unreachable(b.cfg.Name, fmt.Sprintf("%d processes of it run already, which is the limit", cap(b.procs)), nil)
	}
	p, err := b.launch(attach)
	if err != nil {
		<-b.procs
		return nil, unreachable(b.cfg.Name, "its command could not be started; check command, dir and PATH", err)
	}
	return p, nil
}

func (b *Backend) launch(attach func(*process) handler) (*process, error) {
	cmd := exec.Command(b.cfg.Command, b.cfg.Args...)
	cmd.Env = environment(b.cfg.Env)
	cmd.Dir = b.cfg.Dir
	ownGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Pipes of our own, so that waiting for the process does not close them
	// before they are read.
	outR, outW, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		closeAll(stdin, outR, outW)
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	err = cmd.Start()
	closeAll(outW, errW)
	if err != nil {
		closeAll(stdin, outR, errR)
		return nil, err
	}
	p := &process{
		name: b.cfg.Name, log: b.log.With("pid", cmd.Process.Pid), limit: b.cfg.Limits.MessageBytes,
		cmd: cmd, stdin: stdin,
		queue: make(chan []byte, writeQueue), quit: make(chan struct{}), gone: make(chan struct{}),
		held: b.held,
	}
	p.life, p.leave = context.WithCancel(context.Background())
	p.log.Info("backend process started")
	b.children.add(p)
	p.run(outR, errR, attach(p), func() {
		b.children.remove(p)
		<-b.procs
	})
	return p, nil
}

// children are the processes of a backend that run.
type children struct {
	mu      sync.Mutex
	running map[*process]struct{}
}

func (c *children) add(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[*process]struct{}{}
	}
	c.running[p] = struct{}{}
}

func (c *children) remove(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, p)
}

// Kill ends the server's processes, and what they started, without giving them
// time. It is for a gateway that ends at once; Close is the proper end.
func (b *Backend) Kill() {
	b.children.mu.Lock()
	defer b.children.mu.Unlock()
	for p := range b.children.running {
		killGroup(p.cmd)
	}
}

func closeAll(files ...io.Closer) {
	for _, f := range files {
		f.Close()
	}
}

// run reads and writes the process's streams until it is gone.
func (p *process) run(stdout, stderr *os.File, h handler, release func()) {
	read := make(chan struct{})
	p.crew.spawn(func() {
		defer close(read)
		p.readOutput(stdout, h)
	})
	p.crew.spawn(func() { p.readErrors(stderr) })
	written := make(chan struct{})
	p.crew.spawn(func() {
		defer close(written)
		p.write()
	})
	p.crew.spawn(func() {
		select {
		case <-p.quit:
		case <-p.gone:
		}
		// A write to a process that does not read ends only with the pipe.
		timer := time.NewTimer(inputGrace)
		select {
		case <-written:
		case <-timer.C:
		}
		timer.Stop()
		p.stdin.Close()
	})
	exited := make(chan error, 1)
	p.crew.spawn(func() { exited <- p.cmd.Wait() })
	p.crew.spawn(func() {
		var err error
		select {
		case err = <-exited:
		case <-read:
			// It closed its output, which is how a server says that it
			// ends.
			p.end()
			err = p.reap(exited)
		case <-p.quit:
			err = p.reap(exited)
		}
		timer := time.NewTimer(outputGrace)
		select {
		case <-read:
		case <-timer.C:
		}
		timer.Stop()
		// What it started ends with it, also where it is not waited for.
		killGroup(p.cmd)
		closeAll(stdout, stderr)
		p.leave()
		<-read
		release()
		p.log.Info("backend process ended", "status", p.cmd.ProcessState)
		h.down(p, err)
		close(p.gone)
	})
}

// reap ends a process that shall end: gently, then less so.
func (p *process) reap(exited <-chan error) error {
	for _, harder := range []func(*exec.Cmd){termGroup, killGroup} {
		timer := time.NewTimer(stopGrace)
		select {
		case err := <-exited:
			timer.Stop()
			return err
		case <-timer.C:
			harder(p.cmd)
		}
	}
	return <-exited
}

func (p *process) end() { p.once.Do(func() { close(p.quit) }) }

// stop ends the process and waits until it is gone or ctx ends; its end goes
// on in either case.
func (p *process) stop(ctx context.Context) {
	p.end()
	select {
	case <-p.gone:
	case <-ctx.Done():
	}
	p.crew.dismiss(ctx)
}

// send queues one message for the process.
func (p *process) send(ctx context.Context, msg []byte) error {
	if bytes.IndexByte(msg, '\n') >= 0 || bytes.IndexByte(msg, '\r') >= 0 {
		msg = wire.Compact(make([]byte, 0, len(msg)), msg)
	}
	select {
	case p.queue <- msg:
		return nil
	case <-ctx.Done():
		return unreachable(p.name, "its process does not read its input", context.Cause(ctx))
	case <-p.quit:
	case <-p.gone:
	}
	return unreachable(p.name, "its process has ended", nil)
}

// write brings queued messages to the process, and at its end those that are
// queued still: the last may be that a call was cancelled.
func (p *process) write() {
	for {
		select {
		case msg := <-p.queue:
			if !p.put(msg) {
				return
			}
		case <-p.quit:
			for {
				select {
				case msg := <-p.queue:
					if !p.put(msg) {
						return
					}
				default:
					return
				}
			}
		case <-p.gone:
			return
		}
	}
}

// put writes one message. It is false where the process takes no more.
func (p *process) put(msg []byte) bool {
	line := make([]byte, 0, len(msg)+1)
	_, err := p.stdin.Write(append(append(line, msg...), '\n'))
	if err != nil {
		p.log.Debug("backend process takes no more input", "err", err)
	}
	return err == nil
}

// readOutput reads the process's messages, a line each.
func (p *process) readOutput(r io.Reader, h handler) {
	br := bufio.NewReaderSize(r, 64<<10)
	hold := p.held()
	defer hold.Release()
	var long []byte // a line that did not fit the buffer
	drop := func() {
		hold.Shrink(int64(cap(long)))
		long = nil
	}
	for {
		part, err := br.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		var fault error
		switch {
		case len(long)+len(part) > p.limit+1:
			fault = errTooLarge
		case more || long != nil:
			if long, fault = p.lengthen(hold, long, part); fault == nil {
				part = nil
			}
		}
		switch {
		case fault != nil:
			head := append(bytes.Clone(long[:min(len(long), salvageHead)]), part[:min(len(part), salvageHead)]...)
			drop()
			h.cut(head[:min(len(head), salvageHead)], fault)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = br.ReadSlice('\n')
			}
		case more:
			continue
		default:
			if long != nil {
				part = long
			}
			if msg := bytes.TrimSpace(part); len(msg) > 0 && err == nil {
				h.line(msg)
			}
			drop()
		}
		if err != nil {
			return
		}
	}
}

// lengthen adds a part to a line, in memory that is taken before.
func (p *process) lengthen(hold *budget.Hold, line, part []byte) ([]byte, error) {
	if need := len(line) + len(part); need > cap(line) {
		size := max(need, min(2*cap(line), p.limit+1))
		if err := hold.Wait(p.life, int64(size)); err != nil {
			return line, err
		}
		next := make([]byte, len(line), size)
		copy(next, line)
		hold.Shrink(int64(cap(line)))
		line = next
	}
	return append(line, part...), nil
}

// readErrors logs what the process writes to its standard error.
func (p *process) readErrors(r io.Reader) {
	br := bufio.NewReaderSize(r, maxErrorLine)
	skipping, dropped := false, 0
	for {
		part, err := br.ReadSlice('\n')
		if text := bytes.TrimSpace(part); len(text) > 0 && !skipping {
			if p.noise.allow() {
				p.log.Info("backend says", "stderr", string(bytes.ToValidUTF8(text, []byte("?"))), "dropped", dropped)
				dropped = 0
			} else {
				dropped++
			}
		}
		skipping = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !skipping {
			return
		}
	}
}

// exitReason says why a process ended, for the people who call.
func exitReason(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "its process ended"
	case errors.As(err, &exit):
		return "its process ended (" + exit.ProcessState.String() + ")"
	}
	return "its process could not be waited for"
}
