package form

import (
	"encoding/json"
	"slices"
	"strings"
)

// draft is the dialect of the schemas that forms are published in.
const draft = "https://json-schema.org/draft/2020-12/schema"

func (f *Form) writeSchema() []byte {
	var o object
	o.open()
	o.text("$schema", draft)
	o.text("title", f.def.Title)
	o.optText("description", f.def.Description)
	o.text("type", "object")
	o.nest("properties", func(o *object) {
		for i := range f.fields {
			field := &f.fields[i]
			o.nest(field.ID, func(o *object) {
				if field.conditional(Validate) {
					field.writeType(o, "number")
				} else {
					field.writeFull(o)
				}
			})
		}
	})
	required := []string{}
	for i := range f.fields {
		if field := &f.fields[i]; f.demands(field) && len(field.rules) == 0 {
			required = append(required, field.ID)
		}
	}
	o.optTexts("required", required)
	o.flag("additionalProperties", false)
	if ruled := f.ruled(); len(ruled) > 0 {
		o.list("allOf", len(ruled), func(i int, o *object) { f.writeRules(ruled[i], o) })
	}
	return o.close()
}

// demands reports whether an answer without the field is not accepted once
// the field's rules let it be asked.
func (f *Form) demands(field *field) bool { return field.Required && !f.def.AllowPartial }

// ruled are the fields that depend on conditions.
func (f *Form) ruled() []*field {
	var out []*field
	for i := range f.fields {
		if len(f.fields[i].rules) > 0 {
			out = append(out, &f.fields[i])
		}
	}
	return out
}

func (f *field) conditional(action Action) bool {
	return slices.ContainsFunc(f.rules, func(r rule) bool { return r.action == action })
}

// writeRules writes what the rules of one field come to: asked under these
// conditions, refused under all others; checked under those.
func (f *Form) writeRules(field *field, o *object) {
	var asked, checked []Condition
	for _, r := range f.Rules(field.ID) {
		switch r.Action {
		case Show, Enable:
			asked = append(asked, r.Condition)
		case Hide, Disable:
			asked = append(asked, Condition{Operator: Not, Conditions: []Condition{r.Condition}})
		case Validate:
			checked = append(checked, r.Condition)
		}
	}
	check := func(o *object) {
		if len(checked) > 0 {
			o.nest("properties", func(o *object) { o.nest(field.ID, field.writeFull) })
		}
		if f.demands(field) {
			o.texts("required", []string{field.ID})
		}
	}
	checkIf := check
	if len(checked) > 0 {
		checkIf = func(o *object) {
			o.nest("if", func(o *object) { f.writeAll(checked, o) })
			o.nest("then", check)
		}
	}
	if len(asked) == 0 {
		checkIf(o)
		return
	}
	o.nest("if", func(o *object) { f.writeAll(asked, o) })
	o.optNest("then", checkIf)
	o.nest("else", func(o *object) {
		o.nest("properties", func(o *object) { o.flag(field.ID, false) })
	})
}

func (f *Form) writeAll(conditions []Condition, o *object) {
	if len(conditions) == 1 {
		f.writeCondition(&conditions[0], o)
		return
	}
	f.writeCondition(&Condition{Operator: All, Conditions: conditions}, o)
}

func (f *Form) writeCondition(c *Condition, o *object) {
	switch c.Operator {
	case Not:
		o.nest("not", func(o *object) { f.writeCondition(&c.Conditions[0], o) })
		return
	case All, Any:
		word := "allOf"
		if c.Operator == Any {
			word = "anyOf"
		}
		o.list(word, len(c.Conditions), func(i int, o *object) { f.writeCondition(&c.Conditions[i], o) })
		return
	case Equals, In:
		test := func(o *object) {
			if len(c.Values) == 1 {
				o.value("const", c.Values[0])
				return
			}
			o.raw("enum", appendValues(nil, c.Values))
		}
		o.nest("properties", func(o *object) {
			o.nest(c.Field, func(o *object) {
				if on, _ := f.Field(c.Field); on.Type == MultiSelect {
					o.nest("contains", test)
				} else {
					test(o)
				}
			})
		})
	}
	o.texts("required", []string{c.Field})
}

// writeFull writes the schema of a field's value.
func (f *field) writeFull(o *object) {
	number := "number"
	if f.integral() {
		number = "integer"
	}
	f.writeType(o, number)
	c := &f.Constraints
	switch f.Type {
	case Text:
		least := c.MinLength
		if f.Required {
			least = max(1, least)
		}
		o.optInt("minLength", int64(least))
		o.int("maxLength", int64(f.longest))
		o.optText("pattern", c.Pattern)
		o.optText("format", c.Format)
	case URL:
		o.int("maxLength", int64(min(f.longest, maxURL)))
		o.text("format", "uri")
		o.text("pattern", "^("+strings.Join(f.url.Schemes, "|")+")://")
	case Number:
		f.writeRange(o)
	case Select:
		f.writeChoices(o, "oneOf")
	case MultiSelect:
		o.nest("items", func(o *object) {
			o.text("type", "string")
			f.writeChoices(o, "anyOf")
		})
		least := c.MinItems
		if f.Required {
			least = max(1, least)
		}
		o.optInt("minItems", int64(least))
		o.optInt("maxItems", int64(c.MaxItems))
		o.flag("uniqueItems", true)
	case Date:
		o.text("format", c.Format)
		o.optText("formatMinimum", c.Earliest)
		o.optText("formatMaximum", c.Latest)
	case File:
		if !f.Multiple() {
			o.text("format", "uri")
			break
		}
		o.nest("items", func(o *object) {
			o.text("type", "string")
			o.text("format", "uri")
		})
		o.optInt("minItems", int64(c.MinItems))
		o.optInt("maxItems", int64(c.MaxItems))
	}
}

// writeType writes what holds for a field's value whatever its constraints;
// number is the type of numbers.
func (f *field) writeType(o *object, number string) {
	kind := "string"
	switch {
	case f.Type == Number:
		kind = number
	case f.Type == Boolean:
		kind = "boolean"
	case f.Multiple():
		kind = "array"
	}
	o.text("type", kind)
	o.text("title", f.Label)
	o.optText("description", f.Help())
	if f.Default != nil {
		o.value("default", f.Default)
	}
	o.optFlag("readOnly", f.Hints.ReadOnly)
	o.optFlag("writeOnly", f.Sensitive)
	switch bound := f.Hints.ReadOnly || f.Hints.Hidden; {
	case bound && f.Default != nil:
		o.value("const", f.Default)
	case bound: // there is no value that it could have
		o.raw("not", []byte("{}"))
	}
}

// integral reports whether the field takes whole numbers only, and says so
// by the multipleOf that JSON Schema has a type for.
func (f *field) integral() bool { return f.step != nil && f.step.whole && f.step.i == 1 }

func (f *field) writeRange(o *object) {
	c := &f.Constraints
	for _, b := range []struct {
		key   string
		value json.Number
	}{
		{"minimum", c.Minimum}, {"exclusiveMinimum", c.ExclusiveMinimum},
		{"maximum", c.Maximum}, {"exclusiveMaximum", c.ExclusiveMaximum},
	} {
		o.optNumber(b.key, b.value)
	}
	if !f.integral() {
		o.optNumber("multipleOf", c.MultipleOf)
	}
}

// writeChoices writes the choices: as enum, or one by one with their titles.
func (f *field) writeChoices(o *object, word string) {
	if !f.titled() {
		o.texts("enum", f.optionValues())
		return
	}
	o.list(word, len(f.Options), func(i int, o *object) {
		o.text("const", f.Options[i].Value)
		o.text("title", f.Options[i].Text())
	})
}
