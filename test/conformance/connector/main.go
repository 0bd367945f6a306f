// Command connector is the client that the conformance suite drives in its
// authorization scenarios: a small MCP client that gets its tokens from the
// gateway's own OAuth client, package grant, and uses it as the gateway does.
// A person who agrees to everything is played by fetching the address that
// their browser would be sent to.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/secret"
)

const backend = "suite"

var (
	person = ask.Principal{Issuer: "https://login.example", Subject: "person"}
	visit  = grant.Visit{Who: person, Session: "browser"}
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "connector:", err)
		os.Exit(1)
	}
}

// connector calls one server in one person's name.
type connector struct {
	server string
	grants *grant.Grants
	http   *http.Client
}

func run(ctx context.Context, server string) error {
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 20, MaxAudit: 10})
	if err != nil {
		return err
	}
	defer store.Close(ctx)
	grants, err := grant.Open(ctx, grant.Config{
		Store: store, Ring: seal.Random(), PublicURL: "http://localhost:8808", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer grants.Close(ctx)
	b, err := configured(server)
	if err != nil {
		return err
	}
	defer b.HTTP.CloseIdleConnections()
	if err := grants.SetBackends([]grant.Backend{b}); err != nil {
		return err
	}
	client := egress.ForBackends(egress.Config{})
	defer client.CloseIdleConnections()
	c := &connector{server: server, grants: grants, http: client}
	return c.converse(ctx, os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"))
}

// configured is the backend as an operator would configure it for the
// scenario: with the client that the suite registered, where it did, and with
// the document that the suite says is the client's.
func configured(server string) (grant.Backend, error) {
	b := grant.Backend{
		Name: backend, URL: server, Kind: grant.OAuth, HTTP: egress.ForNamed(server),
		Document: "https://conformance-test.local/client-metadata.json",
	}
	text := os.Getenv("MCP_CONFORMANCE_CONTEXT")
	if text == "" {
		return b, nil
	}
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return b, fmt.Errorf("the suite's context: %w", err)
	}
	if b.ClientID = given.ID; b.ClientID != "" {
		b.ClientSecret, b.Document = secret.New(given.Secret), ""
	}
	return b, nil
}

// maxTries is how often one request is tried, as at the gateway.
const maxTries = 3

// do sends a request until it is let in.
func (c *connector) do(ctx context.Context, send func(http.Header) (*http.Response, error)) (*http.Response, error) {
	for try := 1; ; try++ {
		used, err := c.grants.For(ctx, person, backend)
		if _, needed := errors.AsType[*grant.Needed](err); err != nil && !needed {
			return nil, err
		}
		header := http.Header{}
		used.Apply(header)
		resp, err := send(header)
		if err != nil {
			return nil, err
		}
		why := oauth.ParseChallenge(resp.Header)
		if resp.StatusCode != http.StatusUnauthorized && (resp.StatusCode != http.StatusForbidden || !why.InsufficientScope) {
			return resp, nil
		}
		resp.Body.Close()
		again := c.grants.Refused(ctx, person, backend, used, why)
		if try == maxTries {
			return nil, fmt.Errorf("refused %d times with status %d", try, resp.StatusCode)
		}
		if !again {
			if err := c.connect(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// connect plays the person: the browser goes where it is sent, and comes back
// with what the authorization server says.
func (c *connector) connect(ctx context.Context) error {
	to, err := c.grants.Begin(ctx, visit, backend, "")
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.StatusCode/100 != 3 {
		return fmt.Errorf("the authorization server answered with status %d", resp.StatusCode)
	}
	_, err = c.grants.Finish(ctx, visit, backend, back.RawQuery)
	return err
}
