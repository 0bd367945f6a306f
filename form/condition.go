package form

import (
	"encoding/json"
	"slices"
	"strings"
)

// Operator is what a [Condition] tests.
type Operator string

// The operators; the set is closed, so that a condition can be compiled to
// JSON Schema and run in a page that evaluates no code.
const (
	Equals  Operator = "equals"  // the field has this value; of a multi_select, this choice is among the chosen
	In      Operator = "in"      // the field has one of these values
	Present Operator = "present" // the field has a value
	Not     Operator = "not"     // the one condition below does not hold
	All     Operator = "all"     // every condition below holds
	Any     Operator = "any"     // at least one condition below holds
)

// Condition is a test over the values of other fields. A field that is hidden,
// disabled or not filled in has no value. Its JSON form is
//
//	{"operator": "equals", "field": "reason", "value": "other"}
//	{"operator": "in", "field": "reason", "values": ["other", "none"]}
//	{"operator": "present", "field": "reason"}
//	{"operator": "not", "condition": {…}}
//	{"operator": "all", "conditions": [{…}, {…}]}
type Condition struct {
	Operator   Operator
	Field      string      // equals, in, present
	Values     []any       // equals: one; in: at least one; string, json.Number or bool
	Conditions []Condition // not: one; all, any: at least one
}

// Action is what a [Rule] does to its field while its condition holds.
type Action string

// The actions. A hidden or disabled field is neither required nor accepted.
const (
	Show     Action = "show"     // shown only while the condition holds
	Hide     Action = "hide"     // not shown while the condition holds
	Enable   Action = "enable"   // can be filled in only while the condition holds
	Disable  Action = "disable"  // cannot be filled in while the condition holds
	Validate Action = "validate" // required, and held to its constraints, only while the condition holds
)

// Rule makes a field depend on a condition.
type Rule struct {
	Field     string
	Condition Condition
	Action    Action
}

// Fields gives the ids of the fields that the condition looks at, each once.
func (c *Condition) Fields() []string {
	var ids []string
	c.walk(func(c *Condition) {
		if c.Field != "" && !slices.Contains(ids, c.Field) {
			ids = append(ids, c.Field)
		}
	})
	return ids
}

func (c *Condition) walk(visit func(*Condition)) {
	visit(c)
	for i := range c.Conditions {
		c.Conditions[i].walk(visit)
	}
}

// predicate is a Condition made ready: fields by index, values comparable.
type predicate struct {
	op    Operator
	field int
	texts []string
	nums  []decimal
	flags []bool
	below []predicate
}

func compileCondition(c *Condition, index map[string]int) predicate {
	p := predicate{op: c.Operator, field: index[c.Field]}
	for _, v := range c.Values {
		switch v := v.(type) {
		case string:
			p.texts = append(p.texts, v)
		case bool:
			p.flags = append(p.flags, v)
		case json.Number:
			if d, ok := parseDecimal(v); ok {
				p.nums = append(p.nums, d)
			}
		}
	}
	for i := range c.Conditions {
		p.below = append(p.below, compileCondition(&c.Conditions[i], index))
	}
	return p
}

// holds evaluates the condition over the values of all fields by index; nil is
// no value.
func (p *predicate) holds(values []any) bool {
	switch p.op {
	case Present:
		return values[p.field] != nil
	case Not:
		return !p.below[0].holds(values)
	case All:
		for i := range p.below {
			if !p.below[i].holds(values) {
				return false
			}
		}
		return true
	case Any:
		for i := range p.below {
			if p.below[i].holds(values) {
				return true
			}
		}
		return false
	}
	switch v := values[p.field].(type) {
	case string:
		return slices.Contains(p.texts, v)
	case []string:
		return slices.ContainsFunc(v, func(s string) bool { return slices.Contains(p.texts, s) })
	case bool:
		return slices.Contains(p.flags, v)
	case json.Number:
		d, ok := parseDecimal(v)
		return ok && slices.ContainsFunc(p.nums, func(n decimal) bool { return d.compare(n) == 0 })
	}
	return false
}

// Describe puts a condition of this form into words, for pages that cannot
// follow it while people type: `Reason is Other`.
func (f *Form) Describe(c *Condition) string { return f.describe(c, false) }

func (f *Form) describe(c *Condition, nested bool) string {
	switch c.Operator {
	case Present:
		return f.label(c.Field) + " is filled in"
	case Not:
		below := &c.Conditions[0]
		switch below.Operator {
		case Equals, In:
			return f.label(below.Field) + " is not " + f.alternatives(below)
		case Present:
			return f.label(below.Field) + " is not filled in"
		}
		return "it is not so that " + f.describe(below, true)
	case All, Any:
		word := " and "
		if c.Operator == Any {
			word = " or "
		}
		parts := make([]string, len(c.Conditions))
		for i := range c.Conditions {
			parts[i] = f.describe(&c.Conditions[i], true)
		}
		if nested && len(parts) > 1 {
			return "(" + strings.Join(parts, word) + ")"
		}
		return strings.Join(parts, word)
	}
	verb := " is "
	if field, ok := f.Field(c.Field); ok && field.Type == MultiSelect {
		verb = " includes "
	}
	return f.label(c.Field) + verb + f.alternatives(c)
}

func (f *Form) label(id string) string {
	if field, ok := f.Field(id); ok {
		return field.Label
	}
	return id
}

func (f *Form) alternatives(c *Condition) string {
	field, _ := f.Field(c.Field)
	words := make([]string, len(c.Values))
	for i, v := range c.Values {
		switch v := v.(type) {
		case bool:
			words[i] = "No"
			if v {
				words[i] = "Yes"
			}
		case string:
			words[i] = v
			if field != nil {
				words[i] = field.OptionText(v)
			}
		case json.Number:
			words[i] = v.String()
		}
	}
	return strings.Join(words, " or ")
}
