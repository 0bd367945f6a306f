package testproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"time"
)

// StartEverything runs go-sdk's conformance server, as installed in peers. It
// speaks one era per process: legacy with sessions, modern without. It takes
// no port 0, so a free port is picked for it, and another if that was lost.
// The server knows no other way to end than by the signal, so Stop fails.
func StartEverything(ctx context.Context, peers string, modern bool) (*Server, error) {
	var errs []error
	for range 3 {
		addr, err := freeAddr()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(filepath.Join(peers, "bin", "everything-server"),
			"-http="+addr, fmt.Sprintf("-stateless=%v", modern))
		p, err := start(ctx, cmd, nil, nil)
		if err != nil {
			return nil, err
		}
		if err = accepting(p, addr); err == nil {
			return &Server{p, "http://" + addr + "/mcp"}, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// accepting waits until the process accepts connections at addr.
func accepting(p *Process, addr string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(readyWithin)
	for {
		select {
		case <-p.Done():
			return p.ended()
		case <-late:
			return errors.Join(fmt.Errorf("nothing accepts at %s after %s", addr, readyWithin), p.Stop())
		case <-tick.C:
			c, err := net.Dial("tcp", addr)
			if err == nil {
				return c.Close()
			}
		}
	}
}
