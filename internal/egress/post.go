package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxPosted bounds how much of a receiver's answer is read, for its connection
// to be used again.
const maxPosted = 4 << 10

// Post makes one attempt to tell a receiver something in JSON, through send,
// which follows no redirect. final says that another attempt would not help.
// The error never holds the address, which may be a key.
func Post(ctx context.Context, send func(*http.Request) (*http.Response, error), address string, body []byte, sign func(http.Header)) (final bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return true, errors.New("the address cannot be posted to")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "answerback")
	sign(r.Header)
	resp, err := send(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return false, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxPosted)) // so that the connection can be used again
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return true, nil
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return false, fmt.Errorf("the receiver answered with status %d", code)
	default:
		return true, fmt.Errorf("the receiver answered with status %d", code)
	}
}
