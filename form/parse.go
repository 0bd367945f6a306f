package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// take is what reads one member of an object, found at a path.
type take func(path string, n *node)

// parseDefinition reads the language from JSON. It reports false when there is
// nothing that could be checked further.
func parseDefinition(raw []byte, p *problems) (Definition, bool) {
	var d Definition
	n, err := parseJSON(raw, MaxDefinition)
	if err != nil {
		p.add("", "%v", err)
		return d, false
	}
	r := reader{p}
	ok := r.object("", &n, map[string]take{
		"id":          r.text(&d.ID),
		"title":       r.text(&d.Title),
		"description": r.text(&d.Description),
		"fields": func(path string, n *node) {
			d.Fields = []Field{}
			r.list(func(path string, n *node) { d.Fields = append(d.Fields, r.field(path, n)) })(path, n)
		},
		"validation":    func(path string, n *node) { d.Validation = r.rules(path, n) },
		"metadata":      r.metadata(&d.Metadata),
		"timeout":       func(path string, n *node) { d.Timeout = r.timeouts(path, n) },
		"allow_partial": r.flag(&d.AllowPartial),
	})
	return d, ok
}

// reader reads nodes into Go values and notes what does not fit.
type reader struct{ *problems }

func join(path, name string) string {
	if path == "" {
		return clip(name)
	}
	return path + "." + clip(name)
}

func (r reader) want(path string, n *node, k kind) bool {
	if n.kind != k {
		r.add(path, "is %s, want %s", n.kind.noun(), k.noun())
		return false
	}
	return true
}

// object reads the members that are known and refuses all others.
func (r reader) object(path string, n *node, known map[string]take) bool {
	if !r.want(path, n, objectNode) {
		return false
	}
	for i := range n.members {
		m := &n.members[i]
		if take := known[m.name]; take != nil {
			take(join(path, m.name), &m.value)
			continue
		}
		r.add(join(path, m.name), "is not known here")
	}
	return true
}

func (r reader) list(item take) take {
	return func(path string, n *node) {
		if !r.want(path, n, arrayNode) {
			return
		}
		for i := range n.items {
			item(fmt.Sprintf("%s[%d]", path, i), &n.items[i])
		}
	}
}

func (r reader) text(to *string) take {
	return func(path string, n *node) {
		if r.want(path, n, stringNode) {
			*to = n.text
		}
	}
}

func (r reader) texts(to *[]string) take {
	return r.list(func(path string, n *node) {
		if r.want(path, n, stringNode) {
			*to = append(*to, n.text)
		}
	})
}

func (r reader) flag(to *bool) take {
	return func(path string, n *node) {
		if r.want(path, n, boolNode) {
			*to = n.flag
		}
	}
}

// off reads a flag that is kept inverted, so that its zero value is the safe
// one.
func (r reader) off(to *bool) take {
	return func(path string, n *node) {
		if r.want(path, n, boolNode) {
			*to = !n.flag
		}
	}
}

func (r reader) number(to *json.Number) take {
	return func(path string, n *node) {
		if r.want(path, n, numberNode) {
			*to = json.Number(n.text)
		}
	}
}

// integer reads a whole number of at least the given size.
func integer[T int | int64](r reader, to *T, least int64) take {
	return func(path string, n *node) {
		if !r.want(path, n, numberNode) {
			return
		}
		d, ok := parseDecimal(json.Number(n.text))
		if !ok || !d.whole || d.i < least || d.i > maxInteger {
			r.add(path, "is %s, want a whole number between %d and %d", clip(n.text), least, int64(maxInteger))
			return
		}
		*to = T(d.i)
	}
}

// maxInteger is beyond every count, size and time that makes sense.
const maxInteger = 1 << 40

// exactly accepts one value that states what holds anyway.
func (r reader) exactly(holds func(n *node) bool, want string) take {
	return func(path string, n *node) {
		if !holds(n) {
			r.add(path, "must be %s", want)
		}
	}
}

func (r reader) metadata(to *json.RawMessage) take {
	return func(path string, n *node) {
		if r.want(path, n, objectNode) {
			*to = slices.Clone(n.raw)
		}
	}
}

func (r reader) millis(to *time.Duration) take {
	return func(path string, n *node) {
		var ms int64
		integer(r, &ms, 1)(path, n)
		if ms > maxTimeout.Milliseconds() {
			r.add(path, "is %d milliseconds, more than a year", ms)
			return
		}
		*to = time.Duration(ms) * time.Millisecond
	}
}

func (r reader) timeouts(path string, n *node) Timeouts {
	var t Timeouts
	if n.kind == numberNode {
		r.millis(&t.Initial)(path, n)
		return t
	}
	r.object(path, n, map[string]take{
		"initial_timeout":    r.millis(&t.Initial),
		"warn_before":        r.millis(&t.WarnBefore),
		"extension_duration": r.millis(&t.Extension),
		"max_extensions": func(path string, n *node) {
			integer(r, &t.MaxExtensions, 0)(path, n)
			t.NoExtension = t.NoExtension || t.MaxExtensions == 0
		},
		"extension_allowed": func(path string, n *node) {
			var off bool
			r.off(&off)(path, n)
			t.NoExtension = t.NoExtension || off
		},
	})
	return t
}

func (r reader) rules(path string, n *node) Rules {
	var rules Rules
	r.object(path, n, map[string]take{
		"dependencies": func(path string, n *node) {
			if !r.want(path, n, objectNode) {
				return
			}
			for i := range n.members {
				m := &n.members[i]
				rule := Rule{Field: m.name}
				at := join(path, m.name)
				r.object(at, &m.value, map[string]take{
					"condition": func(path string, n *node) { rule.Condition = r.condition(path, n, 0) },
					"action":    func(path string, n *node) { r.text((*string)(&rule.Action))(path, n) },
				})
				rules.Dependencies = append(rules.Dependencies, rule)
			}
		},
		"custom_validators": r.texts(&rules.Validators),
	})
	return rules
}

func (r reader) condition(path string, n *node, depth int) Condition {
	var c Condition
	if depth > maxDepth/2 {
		r.add(path, "is nested too deep")
		return c
	}
	scalar := func(path string, n *node) {
		switch n.kind {
		case stringNode:
			c.Values = append(c.Values, n.text)
		case numberNode:
			c.Values = append(c.Values, json.Number(n.text))
		case boolNode:
			c.Values = append(c.Values, n.flag)
		default:
			r.add(path, "is %s, want a string, a number or a boolean", n.kind.noun())
		}
	}
	below := func(path string, n *node) { c.Conditions = append(c.Conditions, r.condition(path, n, depth+1)) }
	known := map[string]take{"operator": func(path string, n *node) { r.text((*string)(&c.Operator))(path, n) }}
	operator := ""
	if op := n.member("operator"); op != nil {
		operator = op.text
	}
	switch Operator(operator) {
	case Equals:
		known["field"], known["value"] = r.text(&c.Field), scalar
	case In:
		known["field"], known["values"] = r.text(&c.Field), r.list(scalar)
	case Present:
		known["field"] = r.text(&c.Field)
	case Not:
		known["condition"] = below
	case All, Any:
		known["conditions"] = r.list(below)
	}
	r.object(path, n, known)
	return c
}
