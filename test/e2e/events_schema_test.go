package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// eventSchema is the published schema, made ready.
var eventSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	raw, err := os.ReadFile("../../docs/events.schema.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("events.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("events.json")
})

// fitsSchema holds an event to the published schema.
func fitsSchema(t testing.TB, raw []byte) error {
	t.Helper()
	schema, err := eventSchema()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		return fmt.Errorf("the event %s does not fit docs/events.schema.json: %w", raw, err)
	}
	return nil
}
