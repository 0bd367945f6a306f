package a2a

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// What a person is asked where the agent asks in words alone.
const (
	textField  = "answer"
	textSchema = `{"type":"object","properties":{"answer":{"type":"string","title":"Your answer"}},"required":["answer"]}`
)

// formOf gives the form that a message asks with, as MCP's requestedSchema: of
// the first data part that is one. It is nil where there is none, or none that
// MCP has.
func formOf(m *a2a.Message) []byte {
	if m == nil {
		return nil
	}
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		data, ok := p.Data().(map[string]any)
		if !ok {
			continue
		}
		schema, ok := data["requestedSchema"].(map[string]any)
		if !ok {
			schema = data
		}
		if raw := schemaOf(schema, data["order"]); raw != nil {
			return raw
		}
	}
	return nil
}

// schemaOf writes a schema. JSON of A2A has no order of members, and people
// read forms from the top: the order is that which the agent gives, and
// otherwise that of the required fields, and then the others by name.
func schemaOf(schema map[string]any, order any) []byte {
	properties, ok := schema["properties"].(map[string]any)
	if !ok || schema["type"] != "object" || len(properties) == 0 {
		return nil
	}
	b := []byte(`{"type":"object","properties":{`)
	for i, name := range sequence(properties, order, schema["required"]) {
		raw, err := json.Marshal(properties[name])
		if err != nil {
			return nil
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendString(b, name), ':'), raw...)
	}
	b = append(b, '}')
	if required, ok := schema["required"]; ok {
		raw, err := json.Marshal(required)
		if err != nil {
			return nil
		}
		b = append(append(b, `,"required":`...), raw...)
	}
	b = append(b, '}')
	params := append(append([]byte(`{"requestedSchema":`), b...), '}')
	if era.CheckSchema(params) != nil {
		return nil
	}
	return b
}

// sequence gives the names of properties in the order in which they are shown.
func sequence(properties map[string]any, orders ...any) []string {
	names := make([]string, 0, len(properties))
	taken := make(map[string]bool, len(properties))
	add := func(name string) {
		if _, ok := properties[name]; ok && !taken[name] {
			taken[name] = true
			names = append(names, name)
		}
	}
	for _, o := range orders {
		list, _ := o.([]any)
		for _, each := range list {
			if name, ok := each.(string); ok {
				add(name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		add(name)
	}
	return names
}
