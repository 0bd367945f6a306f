package events

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write docs/events.schema.json")

const published = "../../../docs/events.schema.json"

// TestSchemaIsPublished: the document in docs is the one that is served.
func TestSchemaIsPublished(t *testing.T) {
	if *update {
		if err := os.WriteFile(published, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(published)
	if err != nil || !bytes.Equal(got, Schema()) {
		t.Errorf("docs/events.schema.json is not what is served (%v): run go test ./internal/surface/events -update", err)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("events.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("events.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSchemaPassesOnWhatItDoesNotKnow: types, members and versions of the
// future are valid (C7). Known types must still be what they say.
func TestSchemaPassesOnWhatItDoesNotKnow(t *testing.T) {
	schema := compiled(t)
	for raw, want := range map[string]bool{
		`{"type":"thought","text":"hm"}`:    true,
		`{"type":"data-tool-auth-granted"}`: true,
		`{"type":"call-started","schemaVersion":99,"callId":"c","tool":"t","elicitation":true,"sampling":false,"at":1,"new":{}}`:                       true,
		`{"type":"progress","progress":1,"colour":"red"}`:                                                                                              true,
		`{"type":"data-tool-auth-required","data":{"callId":"c","tool":"t","mode":"url","message":"m","url":"https://x.example","provider":"linear"}}`: true,
		`{"type":"tool-result","result":{"anything":1}}`:                                                                                               true,

		`{}`:                     false,
		`{"type":1}`:             false,
		`{"type":""}`:            false,
		`{"type":"tool-result"}`: false,
		`{"type":"elicitation-request","id":"q","mode":"url","message":"m","backend":"b","deadline":1}`:                         false,
		`{"type":"elicitation-request","id":"q","mode":"voice","message":"m","backend":"b","deadline":1}`:                       false,
		`{"type":"data-tool-auth-required","data":{"callId":"c","tool":"t","mode":"url"}}`:                                      false,
		`{"type":"elicitation-settled","id":"q","outcome":"forgotten"}`:                                                         false,
		`{"type":"call-started","schemaVersion":0,"callId":"c","tool":"t","elicitation":true,"sampling":false,"at":1,"new":{}}`: false,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestSchemaKnowsEveryType: what the surface can send is described, and the
// catch-all takes none of it.
func TestSchemaKnowsEveryType(t *testing.T) {
	types := []string{
		typeStarted, typeProgress, typeLog, typeNotification, typeAsked, typeSettled, typeComplete, typeSampling, typeSampled,
		typeWarning, typeAuthRequired, typeLost, typeResult, typeError,
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	defs := v.(map[string]any)["$defs"].(map[string]any)
	refs := v.(map[string]any)["oneOf"].([]any)
	excluded := defs["unknown"].(map[string]any)["properties"].(map[string]any)["type"].(map[string]any)["not"].(map[string]any)["enum"].([]any)
	for _, name := range types {
		if defs[name] == nil || !slices.Contains(excluded, any(name)) ||
			!slices.ContainsFunc(refs, func(r any) bool { return r.(map[string]any)["$ref"] == "#/$defs/"+name }) {
			t.Errorf("%s is not described", name)
		}
	}
	if len(excluded) != len(types) || len(refs) != len(types)+1 {
		t.Errorf("%d types are described and %d taken from the catch-all, want %d", len(refs)-1, len(excluded), len(types))
	}
}
