package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// Schema gives the JSON Schema (draft 2020-12) of the configuration file, for
// editors. It is looser than Parse: it knows keys, types and bounds, and not
// what values mean together.
func Schema() []byte {
	standard := reflect.ValueOf(file{Config: *Default()})
	schema := structSchema(standard.Type(), standard)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Answerback configuration"
	schema["$defs"] = map[string]any{
		"backend": structSchema(reflect.TypeFor[Backend](), reflect.ValueOf(defaultBackend())),
		"pasted":  structSchema(pastedType, reflect.ValueOf(pasted{Enabled: true})),
		"variable": map[string]any{
			"type": "string", "pattern": `\$\{`,
			"description": "A value from the environment: ${NAME} or ${NAME:-default}.",
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil {
		panic("config: the schema cannot be encoded: " + err.Error()) // it is made of maps, strings and numbers
	}
	return b.Bytes()
}

func structSchema(t reflect.Type, standard reflect.Value) map[string]any {
	properties := map[string]any{}
	for _, f := range fieldsOf(t) {
		value := standard.FieldByIndex(f.index)
		s := typeSchema(f, f.typ, value)
		s["description"] = f.doc
		if isScalar(f.typ) && !value.IsZero() {
			s["default"] = jsonValue(value)
		}
		properties[f.key] = s
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if t != pastedType {
		schema["additionalProperties"] = false
	}
	return schema
}

func typeSchema(f field, t reflect.Type, standard reflect.Value) map[string]any {
	switch {
	case f.enum != nil:
		return orVariable(map[string]any{"enum": f.enum})
	case t == durationType:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "string", "pattern": `^([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`},
			map[string]any{"const": 0},
			ref("variable"),
		}}
	case t == sizeType:
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "integer", "minimum": limit(f, f.min), "maximum": limit(f, f.max)},
			map[string]any{"type": "string", "pattern": `^[0-9]+ *([KMG]iB|[kKMG]?B)?$`},
			ref("variable"),
		}}
	case t == secretType:
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	case t == reflect.TypeFor[Backend]():
		return ref("backend")
	case t == pastedType:
		return ref("pasted")
	case t == toolsType:
		return map[string]any{"anyOf": []any{structSchema(t, standard), typeSchema(field{}, reflect.TypeFor[[]string](), standard)}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return orVariable(map[string]any{"type": "boolean"})
	case reflect.Int:
		return orVariable(map[string]any{"type": "integer", "minimum": limit(f, f.min), "maximum": limit(f, f.max)})
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Slice:
		if holdsStructs(t) {
			return map[string]any{"type": "array", "items": structSchema(t.Elem(), reflect.Zero(t.Elem()))}
		}
		return map[string]any{"type": "array", "items": map[string]any{"type": []string{"string", "number", "boolean"}}}
	case reflect.Map:
		s := map[string]any{"type": "object", "additionalProperties": typeSchema(field{}, t.Elem(), reflect.Zero(t.Elem()))}
		if f.keys != "" {
			s["propertyNames"] = map[string]any{"pattern": f.keys}
		}
		return s
	case reflect.Struct:
		return structSchema(t, standard)
	}
	return map[string]any{}
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

func orVariable(schema map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{schema, ref("variable")}}
}

// jsonValue gives a default as it would stand in a file.
func jsonValue(v reflect.Value) any {
	switch {
	case v.Type() == durationType:
		return formatDuration(time.Duration(v.Int()))
	case v.Type() == sizeType:
		return Size(v.Int()).String()
	}
	return v.Interface()
}

// quotedDefault gives the default of a key for the reference.
func quotedDefault(f field, v reflect.Value) string {
	switch {
	case f.deflt != "":
		return f.deflt
	case !isScalar(f.typ) || v.Kind() == reflect.String && v.String() == "":
		return ""
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return format(v)
}
