// Command tap stands before an MCP server that counts nothing itself, and
// counts the calls that reach it: in files, one for each "key" among the
// arguments of a call, which grows by a byte for each call; and in KEY.cancelled
// for each notification that cancels one. It changes nothing of what passes.
//
//	tap -runs DIR -http URL          before a server over HTTP; prints its own address
//	tap -runs DIR COMMAND [ARG...]   before a server on standard input and output
//
// It is for tests, with servers of the legacy era.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

func main() {
	runs := flag.String("runs", "", "directory to count in")
	upstream := flag.String("http", "", "address of the server")
	flag.Parse()
	c := &counter{dir: *runs, keys: make(map[call]string)}
	if err := run(c, *upstream, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(c *counter, upstream string, command []string) error {
	if upstream != "" {
		return serve(c, upstream)
	}
	if len(command) == 0 {
		return errors.New("neither -http nor a command to run")
	}
	return pipe(c, command)
}

// serve passes HTTP on.
func serve(c *counter, upstream string) error {
	to, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = to.Host
		},
		FlushInterval: -1, // events are wanted as they come
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	fmt.Printf("http://%s%s\n", l.Addr(), to.Path)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if err := c.see(r.Header.Get("Mcp-Session-Id"), body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
}

// grace is how long a server may take to end when nothing comes in any more.
const grace = time.Second

// pipe passes lines on, until there are no more or the server ends. A signal
// to end goes on to the server, too: nobody else knows of it.
func pipe(c *counter, command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- feed(c, in) }()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s)
		case err := <-over:
			if err != nil {
				log.Print(err)
			}
			time.AfterFunc(grace, func() { _ = cmd.Process.Kill() })
		case err := <-ended:
			return err
		}
	}
}

// feed counts and passes on what comes in.
func feed(c *counter, to io.WriteCloser) error {
	defer to.Close()
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err := c.see("", line); err != nil {
			return err
		}
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
}

// call names a call of one session.
type call struct{ session, id string }

type counter struct {
	dir string

	mu   sync.Mutex
	keys map[call]string
}

// see counts a message, if it is one to count.
func (c *counter) see(session string, raw []byte) error {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments struct{ Key string }
			RequestID json.RawMessage
		}
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil // not ours to refuse
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Method {
	case "tools/call":
		if m.Params.Arguments.Key == "" {
			return nil
		}
		c.keys[call{session, string(m.ID)}] = m.Params.Arguments.Key
		return c.count(m.Params.Arguments.Key)
	case "notifications/cancelled":
		if key, ok := c.keys[call{session, string(m.Params.RequestID)}]; ok {
			return c.count(key + ".cancelled")
		}
	}
	return nil
}

func (c *counter) count(key string) error {
	f, err := os.OpenFile(filepath.Join(c.dir, filepath.Base(key)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(".")
	return errors.Join(err, f.Close())
}
