package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	requestTime = 15 * time.Second
	maxBody     = 256 << 10
)

// Client speaks to authorization servers. The zero Client is not usable. Safe
// for concurrent use.
type Client struct{ http *http.Client }

// NewClient makes a Client over c, whose transport decides what may be
// reached. Redirects are not followed whatever c says, so that codes, tokens
// and secrets go where metadata names and nowhere else.
func NewClient(c *http.Client) *Client {
	own := *c
	own.Jar = nil
	own.Timeout = requestTime
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{&own}
}

var (
	errTooLarge = errors.New("the answer is too large")
	errNotJSON  = errors.New("the answer is not a JSON object")
)

// statusError is an answer with a status that is not 2xx.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the answer has status %d", e.status) }

// get fetches a JSON object into v.
func (c *Client) get(ctx context.Context, address string, v any) error {
	if _, err := CheckAddress(address); err != nil {
		return fmt.Errorf("address %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errNoAddress
	}
	r.Header.Set("Accept", "application/json")
	status, body, err := c.do(r)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return &statusError{status}
	}
	return decode(body, v)
}

// do sends a request and reads the whole answer, within the limits. Its errors
// show neither address nor answer: an address may hold what is secret.
func (c *Client) do(r *http.Request) (status int, body []byte, err error) {
	r.Header.Set("User-Agent", "answerback")
	resp, err := c.http.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errTooLarge
	}
	return resp.StatusCode, body, err
}

// decode reads one JSON object. Errors of the decoder quote what they read, so
// they are not passed on.
func decode(body []byte, v any) error {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(trimmed, v) != nil {
		return errNotJSON
	}
	return nil
}

// sent notes whether a request went out: while it did not, its server cannot
// have acted on it.
func sent(ctx context.Context) (context.Context, *atomic.Bool) {
	went := new(atomic.Bool)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { went.Store(true) },
	}), went
}
