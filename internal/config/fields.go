package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/secret"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
	secretType   = reflect.TypeFor[secret.Text]()
	toolsType    = reflect.TypeFor[Tools]()
	pastedType   = reflect.TypeFor[pasted]()
	fileType     = reflect.TypeFor[file]()
)

// field is one key of a struct, as its tags describe it.
type field struct {
	key     string
	index   []int
	typ     reflect.Type
	doc     string
	enum    []string
	min     string
	max     string
	deflt   string
	keys    string
	restart bool
}

// fieldsOf lists the keys of t in the order of the struct, those of embedded
// structs in their place.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
			continue
		}
		key := f.Tag.Get("yaml")
		if key == "" {
			continue
		}
		var enum []string
		if e := f.Tag.Get("enum"); e != "" {
			enum = strings.Split(e, ",")
		}
		fields = append(fields, field{
			key: key, index: []int{i}, typ: f.Type,
			doc: f.Tag.Get("doc"), enum: enum,
			min: f.Tag.Get("min"), max: f.Tag.Get("max"),
			deflt: f.Tag.Get("default"), keys: f.Tag.Get("keys"),
			restart: f.Tag.Get("restart") == "true",
		})
	}
	return fields
}

// isScalar reports whether t is written as one value.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return true
	}
	return t == secretType
}

// holdsStructs reports whether t is a list of structs or a mapping to them.
func holdsStructs(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && t.Elem().Kind() == reflect.Struct && t.Elem() != secretType
}

// parseInto sets v, which has a scalar type, to what s says.
func parseInto(v reflect.Value, s string) error {
	switch {
	case v.Type() == durationType:
		d, err := ParseDuration(s)
		if err != nil {
			return err
		}
		v.SetInt(int64(d))
	case v.Type() == sizeType:
		n, err := ParseSize(s)
		if err != nil {
			return err
		}
		v.SetInt(int64(n))
	case v.Type() == secretType:
		v.Set(reflect.ValueOf(secret.New(s)))
	case v.Kind() == reflect.String:
		v.SetString(s)
	case v.Kind() == reflect.Bool:
		if s != "true" && s != "false" {
			return errors.New("is neither true nor false; write one of them")
		}
		v.SetBool(s == "true")
	default:
		n, err := strconv.ParseInt(s, 10, 0)
		if err != nil {
			return errors.New("is not a whole number; write digits only")
		}
		v.SetInt(n)
	}
	return nil
}

// format writes a scalar as parseInto reads it. Secrets stay hidden.
func format(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return formatDuration(time.Duration(v.Int()))
	case v.Type() == secretType:
		return secret.Redacted
	default:
		return fmt.Sprint(v.Interface())
	}
}

// typeName says in words what a key of type t takes.
func typeName(t reflect.Type) string {
	switch {
	case t == durationType:
		return "duration"
	case t == sizeType:
		return "size"
	case t == secretType:
		return "secret text"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "whole number"
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "mapping to " + typeName(t.Elem())
	case reflect.Struct:
		return "mapping"
	}
	return "anything"
}
