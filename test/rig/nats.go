package rig

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// NATS is a NATS server that keeps the journal of gateways, as an operator
// would run it beside them.
type NATS struct {
	URL string

	t       testing.TB
	options server.Options
	server  *server.Server // nil while it is stopped
}

// StartNATS runs a NATS server until the test ends.
func StartNATS(t testing.TB) *NATS {
	t.Helper()
	n := &NATS{t: t, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
	}}
	n.Start()
	n.URL = n.server.ClientURL()
	t.Cleanup(n.Stop)
	return n
}

// Start runs it again, at its address and with what it had stored.
func (n *NATS) Start() {
	n.t.Helper()
	options := n.options // the server writes to what it is given
	s, err := server.NewServer(&options)
	if err != nil {
		n.t.Fatal(err)
	}
	s.Start()
	n.server = s
	if !s.ReadyForConnections(Patience) {
		n.t.Fatal("the NATS server does not start")
	}
	n.options.Port = options.Port
}

// Stop ends it and waits for that. What it stored stays.
func (n *NATS) Stop() {
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
		n.server = nil
	}
}
