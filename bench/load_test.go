package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestLoad runs the load against the backend with nothing between them.
func TestLoad(t *testing.T) {
	legacy := &legacyServer{waiting: map[string]chan struct{}{}}
	for test, h := range map[string]http.Handler{
		"echo": legacy, "ask": legacy,
		"mecho": http.HandlerFunc(serveModern), "mask": http.HandlerFunc(serveModern),
	} {
		t.Run(test, func(t *testing.T) {
			srv := httptest.NewServer(h)
			t.Cleanup(srv.Close)
			w := workload{url: srv.URL, tool: strings.TrimPrefix(test, "m"), modern: isModern(test), pid: os.Getpid()}
			s, err := w.measure(t.Context(), 2, 100*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if s.Calls == 0 || s.Errors != 0 || s.RPS <= 0 || s.P50 <= 0 || s.P99 < s.P50 {
				t.Errorf("got %+v", s)
			}
		})
	}
	if n := len(legacy.waiting); n != 0 {
		t.Errorf("%d questions were never released", n)
	}
}

func TestLoadNoticesAWrongResult(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m, ok := receive(w, r); ok {
			reply(w, m.ID, `"resultType":"complete","content":[]`)
		}
	}))
	t.Cleanup(srv.Close)
	w := workload{url: srv.URL, tool: "echo", modern: true}
	if _, err := w.measure(t.Context(), 1, time.Millisecond); err == nil {
		t.Error("a wrong result was counted as a call")
	}
}
