package form

import (
	"encoding/json"
	"slices"
)

func (r reader) field(path string, n *node) Field {
	var f Field
	if t := n.member("type"); t != nil && t.kind == stringNode {
		f.Type = Type(t.text) // which constraints there are depends on it
	}
	var enum []string
	r.object(path, n, map[string]take{
		"id":            r.text(&f.ID),
		"type":          func(path string, n *node) { r.text((*string)(&f.Type))(path, n) },
		"label":         r.text(&f.Label),
		"description":   r.text(&f.Description),
		"required":      r.flag(&f.Required),
		"sensitive":     r.flag(&f.Sensitive),
		"default":       func(path string, n *node) { f.Default = r.value(path, n) },
		"options":       r.list(func(path string, n *node) { f.Options = append(f.Options, r.option(path, n)) }),
		"validation":    func(path string, n *node) { enum = r.constraints(path, n, &f) },
		"rendering":     func(path string, n *node) { f.Hints = r.hints(path, n) },
		"accessibility": func(path string, n *node) { f.Access = r.accessibility(path, n) },
		"dependencies":  r.texts(&f.Dependencies),
	})
	if enum != nil && !slices.EqualFunc(enum, f.Options, func(v string, o Option) bool { return v == o.Value }) {
		r.add(path+".validation.enum", "must list the values of options, in their order")
	}
	return f
}

// value reads a default.
func (r reader) value(path string, n *node) any {
	switch n.kind {
	case stringNode:
		return n.text
	case numberNode:
		return json.Number(n.text)
	case boolNode:
		return n.flag
	case arrayNode:
		list := []string{}
		r.texts(&list)(path, n)
		return list
	}
	r.add(path, "is %s, want a value of the field's type", n.kind.noun())
	return nil
}

func (r reader) option(path string, n *node) Option {
	var o Option
	if n.kind == stringNode {
		return Option{Value: n.text}
	}
	r.object(path, n, map[string]take{"value": r.text(&o.Value), "title": r.text(&o.Title)})
	if n.kind == objectNode && n.member("value") == nil {
		r.add(path+".value", "is missing")
	}
	return o
}

// constraints reads what a field of its type can be held to. It gives the
// enum apart, which only repeats the options.
func (r reader) constraints(path string, n *node, f *Field) (enum []string) {
	c := &f.Constraints
	known := map[string]take{}
	switch f.Type {
	case Text:
		known["minLength"] = integer(r, &c.MinLength, 0)
		known["maxLength"] = integer(r, &c.MaxLength, 1)
		known["pattern"] = r.text(&c.Pattern)
		known["format"] = r.text(&c.Format)
	case Number:
		known["minimum"] = r.number(&c.Minimum)
		known["maximum"] = r.number(&c.Maximum)
		known["exclusiveMinimum"] = r.number(&c.ExclusiveMinimum)
		known["exclusiveMaximum"] = r.number(&c.ExclusiveMaximum)
		known["multipleOf"] = r.number(&c.MultipleOf)
	case Select:
		known["enum"] = r.texts(&enum)
	case MultiSelect:
		known["enum"] = r.texts(&enum)
		known["minItems"] = integer(r, &c.MinItems, 0)
		known["maxItems"] = integer(r, &c.MaxItems, 1)
		known["uniqueItems"] = r.exactly(func(n *node) bool { return n.kind == boolNode && n.flag }, "true")
	case URL:
		known["format"] = r.text(&c.Format)
		known["maxLength"] = integer(r, &c.MaxLength, 1)
		known["allowedSchemes"] = r.texts(&c.Schemes)
		known["blockPrivateIPs"] = r.off(&c.AllowPrivate)
		known["blockLocalhost"] = r.off(&c.AllowLocalhost)
	case File:
		known["maxSize"] = integer(r, &c.MaxSize, 1)
		known["allowedMimeTypes"] = r.texts(&c.MimeTypes)
		known["allowedExtensions"] = r.texts(&c.Extensions)
		known["minItems"] = integer(r, &c.MinItems, 0)
		known["maxItems"] = integer(r, &c.MaxItems, 1)
	case Date:
		known["format"] = r.text(&c.Format)
		known["minimum"] = r.text(&c.Earliest)
		known["maximum"] = r.text(&c.Latest)
	}
	r.object(path, n, known)
	return enum
}

func (r reader) hints(path string, n *node) Hints {
	var h Hints
	r.object(path, n, map[string]take{
		"placeholder":     r.text(&h.Placeholder),
		"helpText":        r.text(&h.HelpText),
		"displayStyle":    r.text(&h.DisplayStyle),
		"inputType":       r.text(&h.InputType),
		"autocomplete":    r.text(&h.Autocomplete),
		"readonly":        r.flag(&h.ReadOnly),
		"hidden":          r.flag(&h.Hidden),
		"gridColumn":      integer(r, &h.GridColumn, 1),
		"gridRow":         integer(r, &h.GridRow, 1),
		"breakAfter":      r.flag(&h.BreakAfter),
		"rows":            integer(r, &h.Rows, 1),
		"step":            r.number(&h.Step),
		"searchable":      r.flag(&h.Searchable),
		"testButton":      r.flag(&h.TestButton),
		"acceptAttribute": r.text(&h.AcceptAttribute),
		"dragAndDrop":     r.flag(&h.DragAndDrop),
		"preview":         r.flag(&h.Preview),
		"displayFormat":   r.text(&h.DisplayFormat),
		"enableTime":      r.flag(&h.EnableTime),
		"conditionalDisplay": func(path string, n *node) {
			c := r.condition(path, n, 0)
			h.Condition = &c
		},
		"validationTrigger": r.text(&h.Trigger),
		"debounceMs":        integer(r, &h.DebounceMS, 1),
	})
	return h
}

func (r reader) accessibility(path string, n *node) Accessibility {
	var a Accessibility
	r.object(path, n, map[string]take{
		"ariaLabel":       r.text(&a.Label),
		"ariaDescribedBy": r.text(&a.DescribedBy),
		"tabIndex":        integer(r, &a.TabIndex, -1),
		"required":        r.flag(&a.Required),
		"invalid":         r.flag(&a.Invalid),
	})
	return a
}
