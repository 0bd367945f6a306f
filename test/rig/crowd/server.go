package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/wire"
)

// streamsAtOnce is how many calls one HTTP/2 connection may carry.
const streamsAtOnce = 4000

// server asks in every call, and remembers nothing of it afterwards.
type server struct {
	mu       sync.Mutex
	sessions int
	asked    int
	waiting  map[string]chan wire.Message // answers by the key of the question's id
}

// serve runs until the process is killed.
func serve(dir string) error {
	s := &server{waiting: make(map[string]chan wire.Message)}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	certificate, err := certify(filepath.Join(dir, "crowd.pem"))
	if err != nil {
		return err
	}
	sealed, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}})
	if err != nil {
		return err
	}
	over2 := &http.Server{Handler: s, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsAtOnce}}
	over2.Protocols = new(http.Protocols)
	over2.Protocols.SetHTTP2(true)
	fmt.Printf("http://%s/mcp https://%s/mcp\n", plain.Addr(), sealed.Addr())
	failed := make(chan error, 2)
	go func() { failed <- http.Serve(plain, s) }()
	go func() { failed <- over2.Serve(sealed) }()
	return <-failed
}

// certify makes a certificate for this machine, which is its own authority.
func certify(file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(file, text, 0o600)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodDelete:
		return
	case http.MethodGet: // it has nothing to say outside calls
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case m.Kind == wire.Request && m.Method() == "initialize":
		s.mu.Lock()
		s.sessions++
		id := s.sessions
		s.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", "crowd-"+strconv.Itoa(id))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"crowd","version":"1"}}}`, m.Field(m.ID))
	case m.Kind == wire.Request && m.Method() == "tools/call":
		s.call(w, r, &m)
	case m.Kind == wire.Request:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.Field(m.ID))
	default:
		s.answered(m)
		w.WriteHeader(http.StatusAccepted)
	}
}

// call asks one question and returns what was asked beside what was answered.
func (s *server) call(w http.ResponseWriter, r *http.Request, m *wire.Message) {
	args := wire.Get(m.Raw, m.Params, "arguments")
	number := wire.Get(m.Raw, args, "number").Of(m.Raw)
	answer := make(chan wire.Message, 1)
	s.mu.Lock()
	s.asked++
	id := strconv.Itoa(s.asked)
	s.waiting[id] = answer
	s.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	fmt.Fprintf(w, "id: %s\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\",\"params\":{\"message\":\"Number %s, which environment is the deployment for?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"number\":{\"type\":\"integer\",\"title\":\"Number\"},\"environment\":{\"type\":\"string\",\"enum\":[\"staging\",\"production\"]}},\"required\":[\"number\"]}}}\n\n", id, id, number)
	if out.Flush() != nil {
		return
	}
	select {
	case a := <-answer:
		got := a.Field(a.Result)
		if got == nil {
			got = a.Field(a.Error)
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"asked\":%s,\"got\":%s}}\n\n", m.Field(m.ID), number, got)
	case <-r.Context().Done():
	}
}

func (s *server) answered(m wire.Message) {
	if m.Kind != wire.Result && m.Kind != wire.Failure {
		return
	}
	id := string(m.Field(m.ID))
	s.mu.Lock()
	answer := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}
