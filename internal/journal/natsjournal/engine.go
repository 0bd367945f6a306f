package natsjournal

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/answerback/answerback/internal/plant"
)

// maxPayload holds the largest frame with its headers.
const maxPayload = 1 << 20

// engine is the NATS server in this process. It has no listener: the only way
// to it is InProcessConn.
type engine struct {
	cfg  *Config
	lock *os.File
	// damage is told of what cannot be read, where not nil; else that ends the
	// start.
	damage func(stream string, problem error)

	mu     sync.Mutex
	server *server.Server // nil while it is stopped
}

// startEngine takes the directory for this process and starts a server on it.
func startEngine(cfg *Config) (*engine, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, unavailable("making the directory of the store", err)
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	e := &engine{cfg: cfg, lock: lock, damage: cfg.damage}
	if err := e.start(); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// options are all that the server is told.
func (e *engine) options() *server.Options {
	return &server.Options{
		ServerName:             "answerback",
		DontListen:             true,
		NoSigs:                 true,
		MaxPayload:             maxPayload,
		JetStream:              true,
		StoreDir:               e.cfg.Dir,
		SyncAlways:             !plant.SyncOff.On(), // an acknowledgement means disk
		JetStreamMaxMemory:     e.cfg.MaxMemory,
		JetStreamMaxStore:      e.cfg.MaxStore,
		DisableJetStreamBanner: true,
		// Nothing between us and a server in the same process needs pinging.
		PingInterval: 24 * time.Hour,
	}
}

func (e *engine) start() error {
	before, err := e.streamsOnDisk()
	if err != nil {
		return unavailable("reading the directory of the store", err)
	}
	s, err := server.NewServer(e.options())
	if err != nil {
		return unavailable("starting the store in "+e.cfg.Dir, err)
	}
	log := &serverLog{log: e.cfg.Log}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	// A server that has given up never gets ready: there is nothing to wait for.
	if log.fatal.Load() || !s.ReadyForConnections(30*time.Second) || !s.JetStreamEnabled() {
		stop(s)
		return unavailable("the store in "+e.cfg.Dir+" does not start: see the log at level debug", nil)
	}
	if c := s.JetStreamConfig(); c == nil || !c.SyncAlways && !plant.SyncOff.On() {
		stop(s)
		return unavailable("the store in "+e.cfg.Dir+" does not sync what it acknowledges", nil)
	}
	if err := e.recovered(s, before); err != nil {
		stop(s)
		return err
	}
	e.mu.Lock()
	e.server = s
	e.mu.Unlock()
	return nil
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// streams is where the server keeps its streams.
func (e *engine) streams() string {
	return filepath.Join(files(e.cfg.Dir), server.DEFAULT_GLOBAL_ACCOUNT, "streams")
}

// streamsOnDisk names the streams that must be there once the server has
// started: it passes over those that it cannot read.
func (e *engine) streamsOnDisk() ([]string, error) {
	entries, err := os.ReadDir(e.streams())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, d := range entries {
		if d.IsDir() && d.Name()[0] != '.' {
			names = append(names, d.Name())
		}
	}
	return names, err
}

// recovered checks that the server has read all of the streams.
func (e *engine) recovered(s *server.Server, names []string) error {
	account, err := s.JszAccount(&server.JSzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Streams: true})
	if err != nil {
		return unavailable("reading the store in "+e.cfg.Dir, err)
	}
	there := map[string]bool{}
	for _, d := range account.Streams {
		if lost := d.State.Lost; lost != nil && len(lost.Msgs) > 0 {
			err := corrupt(fmt.Sprintf("%s has lost %d messages to damage: restore the store from a backup", e.path(d.Name), len(lost.Msgs)), nil)
			if e.damage == nil {
				return err
			}
			e.damage(d.Name, fmt.Errorf("%d messages are lost to damage, and it is not known whose they were", len(lost.Msgs)))
		}
		there[d.Name] = true
	}
	for _, name := range names {
		if !there[name] {
			if e.damage == nil {
				return corrupt(e.path(name)+" is damaged and cannot be read: restore the store from a backup", nil)
			}
			e.damage(name, errors.New("it is damaged and cannot be read: all that it held is lost"))
		}
	}
	return nil
}

// path is where a stream is kept.
func (e *engine) path(stream string) string { return filepath.Join(e.streams(), stream) }

// InProcessConn connects to the server that runs now.
func (e *engine) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	s := e.server
	e.mu.Unlock()
	if s == nil {
		return nil, errors.New("the store is stopped")
	}
	return s.InProcessConn()
}

// sick says what is wrong with the server, or nothing. After some errors of
// the disk it refuses every further write, also when the disk is well again.
func (e *engine) sick() error {
	e.mu.Lock()
	s := e.server
	e.mu.Unlock()
	switch {
	case s == nil:
		return errors.New("it is stopped")
	case !s.JetStreamEnabled():
		return errors.New("it has given up its storage")
	}
	if h := s.Healthz(&server.HealthzOptions{}); h.StatusCode != 200 {
		return fmt.Errorf("%s: %s", h.Status, h.Error)
	}
	return nil
}

// stop stops the server and waits for it.
func (e *engine) stop() {
	e.mu.Lock()
	s := e.server
	e.server = nil
	e.mu.Unlock()
	if s != nil {
		stop(s)
	}
}

func (e *engine) close() error {
	e.stop()
	return errors.Join(unlock(e.lock), e.lock.Close())
}
