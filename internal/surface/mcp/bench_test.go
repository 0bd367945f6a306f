package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// nowhere is a ResponseWriter that forgets what it is given.
type nowhere struct{ h http.Header }

func (n *nowhere) Header() http.Header         { return n.h }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}

func (n *nowhere) FlushError() error                { return nil }
func (n *nowhere) SetReadDeadline(time.Time) error  { return nil }
func (n *nowhere) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkPlainCall is what the surface adds to a legacy call of 1 KB that is
// answered with plain JSON, the HTTP server and the gateway not counted.
func BenchmarkPlainCall(b *testing.B) {
	result := []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	g := &fakeGateway{version: "2025-11-25", call: func(context.Context, *wire.Message, contract.Peer) Response {
		return Response{Body: result, Status: 200}
	}}
	s, err := New(Config{
		Gateway: g, Ring: seal.Random(), Log: slog.New(slog.DiscardHandler),
		Authenticate: func(*http.Request) (contract.Caller, error) { return alice, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(b.Context())
	newRequest := func(body string) *http.Request {
		r := httptest.NewRequest("POST", "http://gateway.test/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		return r
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, newRequest(initializeBody))
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"` + strings.Repeat("a", 1000) + `"}}}`)
	r := newRequest(string(body))
	r.Header.Set("Mcp-Session-Id", w.Header().Get("Mcp-Session-Id"))
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	reader := bytes.NewReader(body)
	r.Body = io.NopCloser(reader)
	out := &nowhere{h: make(http.Header)}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		reader.Reset(body)
		s.ServeHTTP(out, r)
	}
}
