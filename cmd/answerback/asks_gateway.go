package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/surface/api"
)

// tokenVariable says who somebody is towards a gateway elsewhere. A flag could
// be read by every program on the machine.
const tokenVariable = "ANSWERBACK_TOKEN"

// How long one request to a gateway may take, and one that brings a file.
const (
	requestTime = 30 * time.Second
	uploadTime  = 15 * time.Minute
)

// with does something with the gateway that the command is about.
func (a *asks) with(cmd *cobra.Command, do func(context.Context, *api.Client) error) error {
	if a.url != "" {
		base, err := gatewayAt(a.url)
		if err != nil {
			return err
		}
		client := egress.ForBackends(egress.Config{IdlePerHost: 1})
		defer client.CloseIdleConnections()
		return do(cmd.Context(), &api.Client{Base: base, Token: os.Getenv(tokenVariable), Send: within(client.Do)})
	}
	cfg, _, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	return do(cmd.Context(), &api.Client{Base: "http://answerback", Send: within(sendLocal(cfg.DataDir))})
}

// gatewayAt takes an address that a token may be sent to.
func gatewayAt(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("--url must be the address of a gateway without a path, such as https://mcp.example.com")
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(address):
		return u.Scheme + "://" + u.Host, nil
	}
	return "", errors.New("--url must begin with https://: others could read the token on its way")
}

type sender = func(*http.Request) (*http.Response, error)

// within bounds how long a request takes, its response included.
func within(send sender) sender {
	return func(r *http.Request) (*http.Response, error) {
		limit := requestTime
		if strings.HasSuffix(r.URL.Path, "/files") {
			limit = uploadTime
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		resp, err := send(r.WithContext(ctx))
		if err != nil {
			cancel()
			return nil, err
		}
		resp.Body = &closing{resp.Body, func() error { cancel(); return nil }}
		return resp, nil
	}
}

// sendLocal sends a request to the gateway that runs with a data directory.
func sendLocal(dataDir string) sender {
	return func(r *http.Request) (*http.Response, error) {
		var d net.Dialer
		conn, err := d.DialContext(r.Context(), "unix", statusSocket(dataDir))
		if err != nil {
			return nil, fmt.Errorf("%w: start one with answerback serve, or name one with --url", errNotRunning)
		}
		stop := context.AfterFunc(r.Context(), func() { _ = conn.Close() }) // whoever waits for it fails
		end := func() error { stop(); return conn.Close() }
		r.Close = true
		if err := r.Write(conn); err != nil {
			return nil, errors.Join(err, end())
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		resp.Body = &closing{resp.Body, end}
		return resp, nil
	}
}

// closing is a body that does something more when it is closed.
type closing struct {
	io.ReadCloser
	then func() error
}

func (c *closing) Close() error { return errors.Join(c.ReadCloser.Close(), c.then()) }
