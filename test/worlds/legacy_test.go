//go:build worlds

package worlds

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// legacy is a call of a legacy client.
func (c *call) legacy(ctx context.Context) (string, error) {
	path := c.door("/mcp")
	for try := 0; ; try++ {
		session, err := c.client.session(ctx, path)
		if err != nil {
			return "", err
		}
		headers := []string{"Mcp-Session-Id", session, "MCP-Protocol-Version", "2025-11-25"}
		id := c.client.id()
		s, err := newStream(c.client.request(ctx, http.MethodPost, path, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, c.tool(), c.args), headers...))
		if err == statusError(http.StatusNotFound) && try == 0 {
			c.client.forget(path, session) // it ended with its gateway; the call was not sent
			continue
		}
		if err != nil {
			return "", err
		}
		return c.follow(ctx, s, path, id, headers)
	}
}

// follow reads the stream of a legacy call to its end, and resumes it at the
// next gateway where it breaks.
func (c *call) follow(ctx context.Context, s *stream, path string, id int, headers []string) (string, error) {
	life := c.client.world.site.life()
	last := ""
	for {
		m, err := c.read(ctx, s, path, id, headers)
		s.body.Close()
		if s.last != "" {
			last = s.last
		}
		if err == nil {
			return c.endLegacy(m), nil
		}
		if last == "" || err == errUnsent || ctx.Err() != nil {
			return "", errUnsent
		}
		if life, err = c.client.world.site.next(ctx, life); err != nil {
			return "", err
		}
		s, err = newStream(c.client.request(ctx, http.MethodGet, path, "", append(headers, "Last-Event-ID", last)...))
		if err != nil {
			if _, refused := err.(statusError); refused {
				c.client.forget(path, headers[1])
				c.refused(err)
				return "", err
			}
			s = &stream{body: http.NoBody}
			life-- // this gateway is going, or not there yet: look again
			if c.client.world.pause(ctx) != nil {
				return "", ctx.Err()
			}
		}
	}
}

// read reads one stream up to the response, and answers what the client is to
// answer itself.
func (c *call) read(ctx context.Context, s *stream, path string, id int, headers []string) (*message, error) {
	type got struct {
		m   *message
		err error
	}
	messages := make(chan got)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(messages)
		for {
			m, err := s.next()
			select {
			case messages <- got{m, err}:
			case <-ctx.Done():
				return
			}
			if err != nil || m.final() {
				return
			}
		}
	}()
	defer func() {
		s.body.Close() // which ends the reader
		stop()
		for range messages {
		}
	}()
	var asked *message
	var own <-chan string // nil while there is nothing to answer
	for {
		select {
		case g, open := <-messages:
			if !open {
				return nil, ctx.Err()
			}
			if g.err != nil || g.m.final() {
				return g.m, g.err
			}
			if g.m.Method == "elicitation/create" {
				asked = g.m
				own = c.own
				c.shown(g.m.Params.Message, g.m.Params.URL, strings.Trim(string(g.m.ID), `"`))
			}
		case answer := <-own:
			var body string
			if answer == cancelCall {
				body = fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"no more"}}`, id)
			} else {
				body = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID, c.result(answer))
			}
			resp, err := c.client.request(ctx, http.MethodPost, path, body, headers...)
			if err == nil {
				resp.Body.Close()
			}
			if answer == cancelCall {
				return nil, errUnsent
			}
		}
	}
}

// result is what the client says for its person.
func (c *call) result(answer string) string {
	if answer == "decline" {
		return `{"action":"decline"}`
	}
	return fmt.Sprintf(`{"action":"accept","content":{"value":%q}}`, answer)
}

// shown notes the question that the client was shown. A link is a promise that
// the question waits.
func (c *call) shown(text, link, askID string) {
	key := keyIn(text)
	if link != "" {
		askID = idIn(link)
		if key != "" {
			c.client.world.book.keep(key)
		}
	}
	c.know(key, askID, link)
	c.client.world.trace("call %d is shown %q (ask %s)", c.n, text, askID)
	c.client.world.book.change(func() {})
}

// endLegacy reads the response of a legacy call. A client that can show
// nothing may be told to call again.
func (c *call) endLegacy(m *message) string {
	outcome := m.outcome()
	if m.Result.IsError && strings.Contains(outcome, "Do not call again until the person says that it is done") {
		c.shown(outcome, idLink(outcome), "")
		c.mu.Lock()
		c.told = true
		c.mu.Unlock()
		return ""
	}
	return outcome
}

// idLink gives the link to a question, or to the page of an account, in a text.
func idLink(text string) string {
	if m := pageLink.FindString(text); m != "" {
		return m
	}
	return ""
}

// refused notes that a client could not come back to its call. A client is
// promised that as long as its question waits.
func (c *call) refused(err error) {
	key, _, _ := c.known()
	book := c.client.world.book
	book.change(func() {
		book.lapseLocked()
		if q := book.questions[key]; q != nil && q.kept && !q.done() {
			book.faultLocked("P1: the %s client of question %s, which waits, could not come back: %v", c.client.kind, key, err)
		}
	})
}
