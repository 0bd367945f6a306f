package api

import (
	_ "embed"
	"net/http"
)

// document describes every operation. Tests hold it to what is served, and
// what is served to it.
//
//go:embed openapi.json
var document []byte

// serveDocument gives the description, to anybody: it is the same for all.
func serveDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=300")
	// A client that has gone cannot be told so.
	_, _ = w.Write(document)
}
