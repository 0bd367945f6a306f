package signin

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	fetchTimeout = 10 * time.Second
	maxBody      = 512 << 10
	maxCause     = 300
)

var errTooLarge = errors.New("the provider's answer is too large")

// bounded is the client with a limit on how long a request takes and on how
// much comes back. It follows no redirect: codes and secrets go where the
// provider's metadata says, and nowhere else.
func bounded(client *http.Client) *http.Client {
	b := *client
	b.Transport = boundedTransport{client.Transport}
	b.Timeout = fetchTimeout
	b.Jar = nil
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &b
}

type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{body: response.Body, left: maxBody}
	return response, nil
}

type boundedBody struct {
	body io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if n > b.left {
		n, err = b.left, errTooLarge
	}
	b.left -= n
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }

// clip is err as one short line: libraries put whole answers into theirs.
func clip(err error) error {
	text := err.Error()
	if len(text) > maxCause {
		text = text[:maxCause] + "..."
	}
	quoted := strconv.Quote(text)
	return errors.New(quoted[1 : len(quoted)-1])
}
