package events

import (
	_ "embed"
	"net/http"
)

// SchemaPath is where the schema of the events is served.
const SchemaPath = "/events/schema.json"

//go:embed events.schema.json
var schema []byte

// Schema gives the JSON Schema of the events.
func Schema() []byte { return schema }

// ServeSchema serves the schema to whoever wants it.
func ServeSchema(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/schema+json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(schema)
}
