// Command stdiopeer is an MCP server on standard input and output whose every
// byte is chosen by the tool that is called: it asks, crashes, prints garbage
// or half a line, and floods. It is a peer of the tests in test/e2e, and no
// example of a server.
package main

import (
	"bufio"
	"flag"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/answerback/answerback/internal/wire"
)

func main() {
	stubborn := flag.Bool("stubborn", false, "do not end by itself: not at the end of the input, not when told to terminate")
	flag.Parse()
	if *stubborn {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	p := &peer{waiting: make(map[string]chan wire.Message), released: make(chan struct{}), rest: make(chan struct{})}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		p.take(line)
	}
	if *stubborn {
		// Not for ever, so that a test that fails leaves nothing behind.
		time.Sleep(time.Minute)
	}
}

// peer is the server. It serves every request on a goroutine of its own.
type peer struct {
	mu      sync.Mutex // one line of output at a time; guards what follows
	asked   int
	counted int
	waiting map[string]chan wire.Message // answers by the key of the question's id

	released chan struct{} // closed by the tool release
	rest     chan struct{} // closed by the tool join
}

func (p *peer) take(line []byte) {
	msg, err := wire.Scan(line, wire.Limits{})
	if err != nil {
		p.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"unreadable"}}`)
		return
	}
	switch msg.Kind {
	case wire.Request:
		go p.serve(msg)
	case wire.Result, wire.Failure:
		key := wire.IDKey(msg.Field(msg.ID))
		p.mu.Lock()
		ch := p.waiting[key]
		delete(p.waiting, key)
		p.mu.Unlock()
		if ch != nil {
			ch <- msg
		}
	}
}

func (p *peer) serve(msg wire.Message) {
	switch msg.Method() {
	case "initialize":
		version := wire.Get(msg.Raw, msg.Params, "protocolVersion").Of(msg.Raw)
		p.result(&msg, `{"protocolVersion":`+string(version)+`,"capabilities":{"tools":{}},"serverInfo":{"name":"stdiopeer","version":"1"}}`)
	case "tools/list":
		p.result(&msg, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		tool := tools[msg.Text(msg.Name)]
		if tool == nil {
			p.error(&msg, `{"code":-32602,"message":"no such tool"}`)
			return
		}
		tool(p, &msg)
	default:
		p.error(&msg, `{"code":-32601,"message":"no such method"}`)
	}
}

// say writes one line.
func (p *peer) say(line string) { p.raw(line + "\n") }

func (p *peer) raw(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	os.Stdout.WriteString(text)
}

func (p *peer) result(msg *wire.Message, raw string) {
	p.say(`{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,"result":` + raw + `}`)
}

func (p *peer) error(msg *wire.Message, raw string) {
	p.say(`{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,"error":` + raw + `}`)
}
