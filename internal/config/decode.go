package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/answerback/answerback/internal/secret"
)

// maxNodes bounds the values that a file may hold once its aliases are
// followed, so that a few lines of aliases cannot become gigabytes.
const maxNodes = 50_000

// decoder fills structs from a tree and gathers what is wrong with it instead
// of stopping at the first problem.
type decoder struct {
	file     string
	env      LookupEnv
	problems []Problem
	notes    []Note
	lines    map[string]int    // line of every key that was given a value
	written  map[string]string // scalars as they stand in the file, where variables were expanded
	nodes    int
	budget   int // characters that expansions may still add
}

func newDecoder(file string, env LookupEnv) *decoder {
	return &decoder{
		file: file, env: env, budget: maxExpanded,
		lines: map[string]int{}, written: map[string]string{},
	}
}

func (d *decoder) problem(line int, key, what, fix string) {
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Key: key, What: what, Fix: fix})
}

func (d *decoder) note(line int, key, text string) {
	d.notes = append(d.notes, Note{File: d.file, Line: line, Key: key, Text: text})
}

// line finds the line of key, or that of the nearest key around it.
func (d *decoder) line(key string) int {
	for key != "" {
		if line, ok := d.lines[key]; ok {
			return line
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 0
}

// decode sets v to what n says. An empty value leaves v as it is.
func (d *decoder) decode(key string, depth int, n *yaml.Node, v reflect.Value) {
	line := n.Line
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.nodes++; d.nodes == maxNodes {
		d.problem(line, key, "the file holds too many values", "aliases count as often as they are used; use fewer")
	}
	if d.nodes >= maxNodes || isNull(n) {
		return
	}
	if depth > maxDepth {
		d.problem(line, key, "the file is nested too deeply", "an alias may not contain itself")
		return
	}
	if at, known := d.lines[key]; known {
		line = at
	} else if key != "" {
		d.lines[key] = line
	}
	switch t := v.Type(); {
	case t == toolsType && n.Kind == yaml.SequenceNode:
		d.decode(key, depth+1, n, v.FieldByName("Allow"))
	case isScalar(t):
		d.scalar(key, line, n, v)
	case t.Kind() == reflect.Slice:
		d.list(key, depth, line, n, v)
	case t.Kind() == reflect.Map:
		d.mapping(key, depth, line, n, v)
	case t.Kind() == reflect.Struct:
		d.object(key, depth, line, n, v)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func (d *decoder) scalar(key string, line int, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.problem(line, key, "is a "+kindName(n)+" where one value belongs", "write "+typeName(v.Type()))
		return
	}
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge":
	default:
		d.problem(line, key, "has the tag "+quoted(tag), "remove the tag and write "+typeName(v.Type()))
		return
	}
	value, err := expand(n.Value, d.env, &d.budget)
	if err != nil {
		what, fix, _ := strings.Cut(err.Error(), "; ")
		d.problem(line, key, what, fix)
		return
	}
	if value != n.Value {
		d.written[key] = n.Value
	}
	if err := parseInto(v, value); err != nil {
		// Quote what stands in the file: a variable's value may be secret.
		what, fix, _ := strings.Cut(quoted(n.Value)+" "+err.Error(), "; ")
		d.problem(line, key, what, fix)
	}
}

func (d *decoder) list(key string, depth, line int, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.problem(line, key, "is a "+kindName(n)+" where a list belongs", "write [a, b]")
		return
	}
	if len(n.Content) == 0 {
		v.SetZero()
		return
	}
	list := reflect.MakeSlice(v.Type(), 0, min(len(n.Content), maxNodes))
	for i, child := range n.Content {
		item := key + "[" + strconv.Itoa(i) + "]"
		element := reflect.New(v.Type().Elem()).Elem()
		if isNull(child) {
			d.problem(child.Line, item, "has no value", `write "" for an empty text`)
		}
		d.decode(item, depth+1, child, element)
		if d.nodes >= maxNodes {
			return
		}
		list = reflect.Append(list, element)
	}
	v.Set(list)
}

func (d *decoder) mapping(key string, depth, line int, n *yaml.Node, v reflect.Value) {
	elements := reflect.MakeMap(v.Type())
	d.entries(key, line, n, func(name string, nameLine int, child *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		inner := join(key, name)
		d.lines[inner] = nameLine
		switch e := element.Addr().Interface().(type) {
		case *Backend:
			*e = defaultBackend()
		case *pasted:
			e.Enabled = true
		case *secret.Text:
			if isNull(child) {
				d.problem(nameLine, inner, "has no value", `write "" for an empty text`)
			}
		}
		d.decode(inner, depth+1, child, element)
		elements.SetMapIndex(reflect.ValueOf(name), element)
	})
	if elements.Len() > 0 {
		v.Set(elements)
	}
}

func (d *decoder) object(key string, depth, line int, n *yaml.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	clients := v.Type() == fileType && n.Kind == yaml.MappingNode && wholeClientFile(keysOf(n), fields)
	d.entries(key, line, n, func(name string, nameLine int, child *yaml.Node) {
		inner := join(key, name)
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == name })
		if i >= 0 {
			if !isNull(child) {
				d.lines[inner] = nameLine
			}
			d.decode(inner, depth+1, child, v.FieldByIndex(fields[i].index))
			return
		}
		if v.Type() == pastedType {
			d.note(nameLine, inner, "is ignored: "+cmp.Or(ignoredBecause[name], "it means nothing to the gateway"))
			return
		}
		if clients && nearest(name, keysIn(fields)) == "" {
			d.note(nameLine, inner, "is ignored: it is a setting of the client that this file was copied from")
			return
		}
		d.unknown(nameLine, inner, name, fields)
	})
}

// keysOf gives the keys of a mapping that are text.
func keysOf(n *yaml.Node) []string {
	var keys []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode {
			keys = append(keys, n.Content[i].Value)
		}
	}
	return keys
}

func keysIn(fields []field) []string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	return known
}

func (d *decoder) unknown(line int, key, name string, fields []field) {
	known := keysIn(fields)
	fix := "the keys here are " + strings.Join(known, ", ")
	if k := nearest(name, known); k != "" {
		fix = "did you mean " + k + "?"
	}
	if _, pasted := d.lines["mcpServers"]; pasted && key == name && nearest(name, known) == "" {
		fix = "if it came with mcpServers from the configuration of a client, remove it: of that file, mcpServers alone is used"
	}
	d.problem(line, key, "there is no such key", fix)
}

// entries calls visit for every entry of a mapping, in the order of the file,
// and reports what is not a mapping, not a name, or given twice.
func (d *decoder) entries(key string, line int, n *yaml.Node, visit func(name string, line int, child *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		what := "is a " + kindName(n) + " where a mapping belongs"
		if key == "" {
			what = "the file " + what
		}
		d.problem(line, key, what, "write keys with values, each as key: value")
		return
	}
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content) && d.nodes < maxNodes; i += 2 {
		name, child := n.Content[i], n.Content[i+1]
		if name.Kind != yaml.ScalarNode {
			d.problem(name.Line, key, "has a key that is not text", "write a name before the colon")
			continue
		}
		inner := join(key, name.Value)
		if name.ShortTag() == "!!merge" {
			d.problem(name.Line, inner, "merging with << is not supported", "write the keys out")
			continue
		}
		if at, twice := first[name.Value]; twice {
			d.problem(name.Line, inner, fmt.Sprintf("is given twice, first in line %d", at), "remove one of them")
			continue
		}
		first[name.Value] = name.Line
		visit(name.Value, name.Line, child)
	}
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	}
	return "single value"
}
