package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
)

// maxResponse is how many bytes of a response a Client reads.
const maxResponse = 64 << 20

// Client asks a gateway. It is safe for concurrent use where Send is.
//
// An error is a *Refusal where the gateway refused. Every other error of
// Answer and Extend leaves open whether the gateway did it.
type Client struct {
	// Base is where the gateway is, without a path.
	Base string
	// Token says who asks; "" where nobody has to.
	Token string
	// Send sends a request, as the Do of an http.Client does. It must not
	// follow redirects: they would carry the token with them.
	Send func(*http.Request) (*http.Response, error)
}

// Refusal is a gateway's no.
type Refusal struct {
	Problem
	Status int // of HTTP
}

func (r *Refusal) Error() string { return r.Message }

// List gives at most limit of what waits.
func (c *Client) List(ctx context.Context, limit int) (Page, error) {
	var p Page
	err := c.do(ctx, http.MethodGet, "?limit="+strconv.Itoa(limit), nil, &p)
	return p, err
}

// Show gives one question.
func (c *Client) Show(ctx context.Context, id string) (Ask, error) {
	var a Ask
	err := c.do(ctx, http.MethodGet, "/"+url.PathEscape(id), nil, &a)
	return a, err
}

// Answer says what somebody did with a question. Content is sent as it is,
// with the accept of a form, and is nil otherwise.
func (c *Client) Answer(ctx context.Context, id string, action ask.Action, content []byte) (Receipt, error) {
	body := []byte(`{"action":"` + action.String() + `"`)
	if content != nil {
		body = append(append(body, `,"content":`...), content...)
	}
	var r Receipt
	err := c.do(ctx, http.MethodPost, "/"+url.PathEscape(id)+"/answer", append(body, '}'), &r)
	return r, err
}

// Extend asks for more time: for the usual time where by is 0.
func (c *Client) Extend(ctx context.Context, id string, by time.Duration) (Extension, error) {
	body := []byte("{}")
	if by != 0 {
		body = fmt.Appendf(nil, `{"seconds":%d}`, int64(by/time.Second))
	}
	var e Extension
	err := c.do(ctx, http.MethodPost, "/"+url.PathEscape(id)+"/extend", body, &e)
	return e, err
}

// Upload gives a file for a field of a question.
func (c *Client) Upload(ctx context.Context, id, field, name string, content io.Reader) (File, error) {
	var f File
	query := url.Values{"field": {field}, "name": {name}}
	err := c.send(ctx, http.MethodPost, "/"+url.PathEscape(id)+"/files?"+query.Encode(), "application/octet-stream", content, &f)
	return f, err
}

func (c *Client) do(ctx context.Context, method, rest string, body []byte, to any) error {
	kind := ""
	if body != nil {
		kind = "application/json"
	}
	return c.send(ctx, method, rest, kind, bytes.NewReader(body), to)
}

func (c *Client) send(ctx context.Context, method, rest, kind string, body io.Reader, to any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.Base+"/v1/asks"+rest, body)
	if err != nil {
		return err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.Send(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return err
	case len(raw) > maxResponse:
		return errors.New("the gateway's response is too large")
	case resp.StatusCode != http.StatusOK:
		return refusalOf(resp.StatusCode, raw)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("the gateway's response cannot be read: %w", err)
	}
	return nil
}

func refusalOf(status int, raw []byte) error {
	var body struct{ Error Problem }
	if json.Unmarshal(raw, &body) != nil || body.Error.Code == "" {
		return fmt.Errorf("there is no gateway that takes questions at this address: it answered with status %d", status)
	}
	return &Refusal{Problem: body.Error, Status: status}
}
