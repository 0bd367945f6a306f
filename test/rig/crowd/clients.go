package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

// atOnce is how many clients do something at one time; all of them wait at
// one time.
const atOnce = 32

// clients are all sessions that were opened, and the questions that wait.
type clients struct {
	http     *http.Client
	sessions []*session
	fresh    int // sessions from here on have not called yet
	pending  []*pending
	numbers  int
}

type session struct {
	url, tool, id string
}

// pending is a call in which a question came.
type pending struct {
	of     *session
	number int
	ask    string // the question's id, as it came
	body   io.Closer
	events *sse.Reader
}

// command does what the lines of in say, until they end.
func command(in io.Reader, out io.Writer) error {
	c := &clients{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce, DisableCompression: true}}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := c.do(lines.Text()); err != nil {
			fmt.Fprintln(out, strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Fprintf(out, "done: %d sessions, %d questions\n", len(c.sessions), len(c.pending))
	}
	return lines.Err()
}

func (c *clients) do(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	var n int
	var url, tool string
	fmt.Sscan(rest, &n, &url, &tool)
	switch word {
	case "open":
		return c.open(n, url, tool)
	case "ask":
		return c.ask(n)
	case "answer":
		pending := c.pending
		c.pending = nil
		return each(pending, c.answer)
	case "close":
		sessions := c.sessions
		c.sessions, c.fresh = nil, 0
		err := each(sessions, c.close)
		c.http.CloseIdleConnections()
		return err
	}
	return fmt.Errorf("%q is no command", word)
}

// each does something with all of them, some at a time, and gives the first
// error.
func each[T any](all []T, do func(T) error) (first error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, one := range all {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if err := do(one); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = err
				}
			}
		})
	}
	wg.Wait()
	return first
}

func (c *clients) open(n int, url, tool string) error {
	before := len(c.sessions)
	for range n {
		c.sessions = append(c.sessions, &session{url: url, tool: tool})
	}
	return each(c.sessions[before:], func(s *session) error {
		resp, err := c.post(s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"crowd","version":"1"}}}`, http.StatusOK)
		if err != nil {
			return err
		}
		if err := finish(resp); err != nil {
			return err
		}
		s.id = resp.Header.Get("Mcp-Session-Id")
		return c.send(s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	})
}

func (c *clients) ask(times int) error {
	var calls []*pending
	for range times {
		for _, s := range c.sessions[c.fresh:] {
			c.numbers++
			calls = append(calls, &pending{of: s, number: c.numbers})
		}
	}
	c.fresh = len(c.sessions)
	c.pending = append(c.pending, calls...)
	return each(calls, c.call)
}

// call calls the tool and waits for its question.
func (c *clients) call(p *pending) error {
	resp, err := c.post(p.of, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{"number":%d}}}`, p.number, p.of.tool, p.number), http.StatusOK)
	if err != nil {
		return err
	}
	p.body, p.events = resp.Body, sse.NewReader(resp.Body, wire.DefaultMaxBytes)
	m, err := p.next()
	if err != nil {
		return fmt.Errorf("call %d: no question came: %w", p.number, err)
	}
	if want := fmt.Sprintf("Number %d,", p.number); m.Kind != wire.Request || !bytes.Contains(m.Raw, []byte(want)) {
		return fmt.Errorf("call %d: another question came: %s", p.number, m.Raw)
	}
	p.ask = string(m.Field(m.ID))
	return nil
}

// next gives the next message of the call's stream.
func (p *pending) next() (wire.Message, error) {
	for {
		ev, err := p.events.Next()
		if err != nil {
			return wire.Message{}, err
		}
		if len(ev.Data) > 0 {
			return wire.Scan(bytes.Clone(ev.Data), wire.Limits{})
		}
	}
}

// answer answers a question with the number of its call, and reads the result
// of the call, which must name the same one twice.
func (c *clients) answer(p *pending) error {
	defer p.body.Close()
	content := fmt.Sprintf(`{"action":"accept","content":{"number":%d}}`, p.number)
	if err := c.send(p.of, `{"jsonrpc":"2.0","id":`+p.ask+`,"result":`+content+`}`); err != nil {
		return err
	}
	m, err := p.next()
	if err != nil {
		return fmt.Errorf("call %d: no result came: %w", p.number, err)
	}
	want := fmt.Sprintf(`{"content":[],"asked":%d,"got":%s}`, p.number, content)
	if got := string(m.Field(m.Result)); m.Kind != wire.Result || got != want {
		return fmt.Errorf("call %d: the result is %s, want %s", p.number, m.Raw, want)
	}
	_, _ = p.next() // to the end of the stream
	return nil
}

func (c *clients) close(s *session) error {
	req, err := http.NewRequest(http.MethodDelete, s.url, nil)
	if err != nil {
		return err
	}
	resp, err := c.request(s, req, http.StatusNoContent)
	if err != nil {
		return err
	}
	return finish(resp)
}

// send posts what gets no response.
func (c *clients) send(s *session, raw string) error {
	resp, err := c.post(s, raw, http.StatusAccepted)
	if err != nil {
		return err
	}
	return finish(resp)
}

func (c *clients) post(s *session, raw string, want int) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return c.request(s, req, want)
}

func (c *clients) request(s *session, req *http.Request, want int) (*http.Response, error) {
	req.Header.Set("Accept", "application/json, text/event-stream")
	if s.id != "" {
		req.Header.Set("Mcp-Session-Id", s.id)
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		resp.Body.Close()
		return nil, fmt.Errorf("%s was answered with %s: %s", req.Method, resp.Status, text)
	}
	return resp, nil
}

// finish reads a response to its end.
func finish(resp *http.Response) error {
	defer resp.Body.Close()
	_, err := io.Copy(io.Discard, resp.Body)
	return err
}
