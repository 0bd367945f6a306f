// Package egress makes the gateway's outbound HTTP clients, and is the only
// package that does: what an outbound connection may reach, how long it may
// take to come about and what it may follow are decided here.
//
// It knows nothing of MCP, and sets no limit on how long an answer takes or
// how large it is: those belong to whoever sends the request.
package egress

import (
	"net"
	"net/http"
	"time"
)

// Config shapes a client for addresses that the operator configured. Zero
// fields mean the defaults.
type Config struct {
	DialTimeout      time.Duration // to connect, 10 s
	TLSTimeout       time.Duration // to complete a TLS handshake, 10 s
	IdleTimeout      time.Duration // to keep an unused connection, 60 s
	IdlePerHost      int           // unused connections kept per host, 256
	MaxResponseHeads int64         // bytes of a response's headers, 64 KiB
}

// connBuffer is what a connection reads into and writes from. Most messages
// fit; of larger ones only the first part passes through it. A call in which a
// person is asked holds both for as long as that takes.
const connBuffer = 2 << 10

// ForIssuers returns a client for the issuers that the operator wrote into the
// configuration, which may live on loopback or in a private network as well.
// Like that for backends it uses no proxy and follows no redirect.
func ForIssuers() *http.Client {
	return ForBackends(Config{IdlePerHost: 4})
}

// ForWebhooks returns a client for the one address that the operator wants
// people's questions told to. It may live on loopback or in a private network
// as well, because the operator wrote it.
func ForWebhooks() *http.Client {
	return ForBackends(Config{IdlePerHost: 2, DialTimeout: 5 * time.Second, TLSTimeout: 5 * time.Second})
}

// ForBackends returns a client for addresses that the operator wrote into
// the configuration: loopback and private networks are allowed, because that
// is where backends live. It uses no proxy from the environment, does not ask
// for compression, and follows no redirect: the redirect itself is the
// response, so that a request body never goes where nobody configured it to.
// The client has no overall timeout. It is safe for concurrent use and must
// be released with CloseIdleConnections.
func ForBackends(c Config) *http.Client {
	dialer := &net.Dialer{Timeout: or(c.DialTimeout, 10*time.Second), KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    or(c.TLSTimeout, 10*time.Second),
			IdleConnTimeout:        or(c.IdleTimeout, 60*time.Second),
			MaxIdleConns:           0,
			MaxIdleConnsPerHost:    or(c.IdlePerHost, 256),
			MaxResponseHeaderBytes: or(c.MaxResponseHeads, 64<<10),
			ExpectContinueTimeout:  time.Second,
			ReadBufferSize:         connBuffer,
			WriteBufferSize:        connBuffer,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func or[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}
