package config

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/answerback/answerback/internal/secret"
)

// Describe writes the effective configuration as YAML, with a comment at
// values that are the default or came from a variable of another gateway. Secrets are masked: keys, the values of env and
// headers, the query of a url, and what was expanded from the environment into
// url and args, which stand as they were written. The output is itself a valid
// configuration file.
func (c *Config) Describe(w io.Writer) error {
	d := &describer{fromEnv: c.fromEnv}
	v, standard := reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem()
	for _, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.index)
		switch f.key {
		case "data_dir":
			d.line(0, f.key, d.value(value), c.dataDirChosen)
		case "backends":
			d.backends(c.Backends)
		default:
			d.field(0, "", f, value, standard.FieldByIndex(f.index))
		}
	}
	_, err := w.Write(d.out.Bytes())
	return err
}

// describer writes YAML by hand: the shapes are few, and so the comments stand
// where they belong.
type describer struct {
	out     bytes.Buffer
	fromEnv map[string]string // variable by key
}

func (d *describer) line(depth int, key, value string, standard bool) {
	comment := ""
	if standard {
		comment = "default"
	}
	d.commented(depth, key, value, comment)
}

func (d *describer) commented(depth int, key, value, comment string) {
	fmt.Fprintf(&d.out, "%s%s:", strings.Repeat("  ", depth), text(key))
	if value != "" {
		d.out.WriteString(" " + value)
	}
	if comment != "" {
		d.out.WriteString("  # " + comment)
	}
	d.out.WriteByte('\n')
}

func (d *describer) field(depth int, around string, f field, v, standard reflect.Value) {
	at := join(around, f.key)
	switch {
	case d.fromEnv[at] != "":
		d.commented(depth, f.key, d.value(v), d.fromEnv[at])
		return
	case holdsStructs(f.typ):
		d.entries(depth, f.key, v)
		return
	case f.typ == secretType && v.IsZero():
		return // a secret that is not set has nothing to show
	case f.typ.Kind() != reflect.Struct || f.typ == secretType:
		d.line(depth, f.key, d.value(v), f.typ != secretType && reflect.DeepEqual(v.Interface(), standard.Interface()))
		return
	}
	d.line(depth, f.key, "", false)
	for _, inner := range fieldsOf(f.typ) {
		d.field(depth+1, at, inner, v.FieldByIndex(inner.index), standard.FieldByIndex(inner.index))
	}
}

// entries writes a mapping to structs, or a list of them: in each what it
// says, leaving out what it leaves out.
func (d *describer) entries(depth int, key string, v reflect.Value) {
	if v.Len() == 0 {
		d.line(depth, key, d.value(v), true)
		return
	}
	d.line(depth, key, "", false)
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			fmt.Fprintf(&d.out, "%s- %s\n", strings.Repeat("  ", depth+1), d.value(v.Index(i)))
		}
		return
	}
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		d.line(depth+1, name.String(), d.value(v.MapIndex(name)), false)
	}
}

// backends writes each backend with what its entry says, leaving out what it
// leaves out.
func (d *describer) backends(backends map[string]Backend) {
	if len(backends) == 0 {
		d.line(0, "backends", "{}", false)
		return
	}
	d.line(0, "backends", "", false)
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		d.line(1, name, "", false)
		b := backends[name]
		v := reflect.ValueOf(b)
		for _, f := range fieldsOf(v.Type()) {
			value := v.FieldByIndex(f.index)
			switch {
			case f.key == "transport":
				d.line(2, f.key, b.Transport, b.Transport == defaultBackend().Transport)
			case value.IsZero():
			case f.key == "args":
				d.line(2, f.key, args(b), false)
			case f.key == "url":
				d.line(2, f.key, text(b.shownURL()), false)
			case f.typ.Kind() == reflect.Map:
				d.line(2, f.key, "", false)
				for _, key := range slices.Sorted(maps.Keys(value.Interface().(map[string]secret.Text))) {
					d.line(3, key, text(secret.Redacted), false)
				}
			case f.typ == toolsType:
				d.line(2, f.key, "", false)
				for _, inner := range fieldsOf(f.typ) {
					if list := value.FieldByIndex(inner.index); list.Len() > 0 {
						d.line(3, inner.key, d.value(list), false)
					}
				}
			default:
				d.line(2, f.key, d.value(value), false)
			}
		}
	}
}

// value writes a value on one line.
func (d *describer) value(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = d.value(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case v.Kind() == reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		items := make([]string, len(names))
		for i, name := range names {
			items[i] = text(name.String()) + ": " + d.value(v.MapIndex(name))
		}
		return flow(items)
	case v.Type() == secretType:
		return text(secret.Redacted)
	case v.Kind() == reflect.Struct:
		var items []string
		for _, f := range fieldsOf(v.Type()) {
			if value := v.FieldByIndex(f.index); !value.IsZero() {
				items = append(items, f.key+": "+d.value(value))
			}
		}
		return flow(items)
	case v.Kind() == reflect.String:
		return text(escape(v.String()))
	}
	return format(v)
}

func flow(items []string) string {
	if len(items) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(items, ", ") + " }"
}

// args writes the arguments, keeping variables as they were written.
func args(b Backend) string {
	items := make([]string, len(b.Args))
	for i, arg := range b.Args {
		written, ok := b.written[fmt.Sprintf("args[%d]", i)]
		if !ok {
			written = escape(arg)
		}
		items[i] = text(written)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

var writtenVariable = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

// shownURL gives the url as it may be shown: as it was written, without its
// query, where many servers take their keys.
func (b Backend) shownURL() string {
	written, ok := b.written["url"]
	if !ok {
		written = escape(b.URL)
	}
	// A question mark inside ${…} belongs to a default.
	hidden := writtenVariable.ReplaceAllStringFunc(written, func(s string) string { return strings.Repeat("_", len(s)) })
	if i := strings.IndexByte(hidden, '?'); i >= 0 {
		return written[:i] + "?" + secret.Redacted
	}
	return written
}

var plain = regexp.MustCompile(`^[A-Za-z0-9/._~][A-Za-z0-9/._~:@%+-]*$`)

// text writes a string as a YAML scalar, with quotes where it needs them. Go's
// escapes are a subset of YAML's for valid UTF-8, which is all we hold.
func text(s string) string {
	n := yaml.Node{Kind: yaml.ScalarNode, Value: s}
	if plain.MatchString(s) && !strings.HasSuffix(s, ":") && n.ShortTag() == "!!str" {
		return s
	}
	return strconv.Quote(s)
}
