package a2a

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
)

const (
	cardPath = "/.well-known/agent-card.json"
	cardTime = 10 * time.Second // to read a card

	// How long a card is good for: what it says itself, within bounds.
	cardAge    = 5 * time.Minute
	minCardAge = 30 * time.Second
	maxCardAge = time.Hour
	// maxStale is how long a card is used that cannot be read again.
	maxStale = time.Hour
	// retryCard is how long after a failure the card is not read again.
	retryCard = 2 * time.Second
)

// cards keeps the agent's card. Safe for concurrent use.
type cards struct {
	b       *Backend
	url     string
	origins []string
	gate    chan struct{} // held while the card is being read

	mu      sync.Mutex
	now     *card // nil before the first was read
	read    time.Time
	due     time.Time // when it is to be read again
	failed  *ask.Error
	changed chan struct{} // closed, and replaced, when the tools change
}

func newCards(b *Backend, u *url.URL, origins []string) *cards {
	at := *u
	at.Fragment = ""
	if !strings.HasSuffix(at.Path, ".json") {
		at = *at.JoinPath(cardPath)
	}
	return &cards{b: b, url: at.String(), origins: origins, gate: make(chan struct{}, 1), changed: make(chan struct{})}
}

// get gives the card, read anew where it is too old. One that cannot be read
// again is used for a while longer.
func (k *cards) get(ctx context.Context) (*card, error) {
	if c, err := k.fresh(); c != nil || err != nil {
		return c, err
	}
	select {
	case k.gate <- struct{}{}:
		defer func() { <-k.gate }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c, err := k.fresh(); c != nil || err != nil {
		return c, err // somebody else read it meanwhile
	}
	c, age, err := k.fetch(ctx)
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	return k.keep(c, age, err)
}

// fresh gives the card where it need not be read, or why it was not to be read
// a moment ago.
func (k *cards) fresh() (*card, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Now().After(k.due) {
		return nil, nil
	}
	if k.now == nil && k.failed != nil {
		return nil, k.failed
	}
	return k.now, nil
}

// keep takes what became of reading the card.
func (k *cards) keep(c *card, age time.Duration, err *ask.Error) (*card, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if err != nil {
		k.due, k.failed = now.Add(retryCard), err
		if k.now != nil && now.Sub(k.read) < maxStale {
			k.b.log.Warn("the agent card cannot be read again; the old one is used", "err", err)
			k.due = now.Add(minCardAge)
			return k.now, nil
		}
		k.now = nil
		return nil, err
	}
	if k.now != nil && !bytes.Equal(k.now.list, c.list) {
		k.b.log.Info("the agent's skills have changed", "skills", len(c.tools))
		close(k.changed)
		k.changed = make(chan struct{})
	}
	k.now, k.read, k.due, k.failed = c, now, now.Add(age), nil
	return c, nil
}

// watch gives what a listener waits for: that the tools change, and the time
// after which the card is to be read again.
func (k *cards) watch() (<-chan struct{}, time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed, max(time.Until(k.due), retryCard)
}

// fetch reads the card, with the configured headers and nobody's credentials.
func (k *cards) fetch(ctx context.Context) (*card, time.Duration, *ask.Error) {
	b := k.b
	ctx, cancel := context.WithTimeout(ctx, cardTime)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, 0, k.wrong(err)
	}
	req.Header = b.header().Clone()
	req.Header.Set("Accept", typeJSON)
	resp, err := b.cfg.Client.Do(req)
	if err != nil {
		return nil, 0, b.fault(err, false)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, 0, k.status(resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxCard+1))
	switch {
	case err != nil:
		return nil, 0, b.unreachable("its agent card broke off", err)
	case len(raw) > maxCard:
		return nil, 0, k.wrong(fmt.Errorf("it has more than %d bytes", maxCard))
	}
	c, err := readCard(raw, k.origins)
	if err != nil {
		return nil, 0, k.wrong(err)
	}
	return c, ageOf(resp.Header.Get("Cache-Control")), nil
}

func (k *cards) wrong(why error) *ask.Error {
	return ask.Errorf(ask.BackendBroken, fmt.Sprintf("The agent card of %s cannot be used: %v.", k.b.cfg.Name, why))
}

// status is the error of a card that is not there.
func (k *cards) status(resp *http.Response) *ask.Error {
	s := &badStatus{resp.StatusCode, resp.Header.Get("Location")}
	switch {
	case s.status == http.StatusUnauthorized || s.status == http.StatusForbidden:
		return k.b.unreachable(fmt.Sprintf("its agent card wants credentials (HTTP status %d); it is read with the configured headers alone", s.status), s)
	case s.status >= 400 && s.status < 500 && s.status != http.StatusTooManyRequests && s.status != http.StatusRequestTimeout:
		return k.wrong(fmt.Errorf("the address answers with HTTP status %d; check that the url is that of an A2A agent, or of its card", s.status))
	}
	return k.b.status(s, false)
}

// ageOf reads how long a response is good for, within bounds.
func ageOf(control string) time.Duration {
	age := cardAge
	for d := range strings.SplitSeq(control, ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(d)), "=")
		switch name {
		case "no-store", "no-cache":
			return minCardAge
		case "max-age":
			if n, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil {
				age = time.Duration(min(max(n, 0), int(maxCardAge/time.Second))) * time.Second
			}
		}
	}
	return min(max(age, minCardAge), maxCardAge)
}
