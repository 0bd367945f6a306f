package mcp

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// BenchmarkCall measures a call of 1 KB with its response of 1 KB, and beside
// it the bare HTTP exchange that it cannot do without.
func BenchmarkCall(b *testing.B) {
	pad := strings.Repeat("x", 900)
	server := func(stream bool) http.Handler {
		f := newFake(b)
		f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			if stream {
				events(w)("event: message\n" + data("", okFor(m, pad)))
				return
			}
			sendJSON(w, okFor(m, pad))
		}
		return f
	}
	for _, kind := range []string{"json", "stream"} {
		srv := serve(b, server(kind == "stream"))
		back := newBackend(b, Config{URL: srv.URL, Log: slog.New(slog.DiscardHandler)})
		line, err := back.Open(b.Context(), contract.Hello{Params: []byte(helloParams), Events: newRecorder()})
		if err != nil {
			b.Fatal(err)
		}
		out := toolCall(b, "x", `{"pad":"`+pad+`"}`)
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := line.Call(b.Context(), out, deaf{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind+"/bare", func(b *testing.B) {
			client := back.cfg.Client
			b.ReportAllocs()
			for b.Loop() {
				resp, err := client.Post(srv.URL, typeJSON, bytes.NewReader(out.Msg.Raw))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadAll(resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}
