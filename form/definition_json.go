package form

// MarshalJSON writes the definition in the language that [Parse] reads, keys
// always in the same order.
func (d Definition) MarshalJSON() ([]byte, error) {
	var o object
	o.open()
	o.text("id", d.ID)
	o.text("title", d.Title)
	o.optText("description", d.Description)
	o.list("fields", len(d.Fields), func(i int, o *object) { d.Fields[i].write(o) })
	o.optNest("validation", d.Validation.write)
	if d.Metadata != nil {
		o.raw("metadata", d.Metadata)
	}
	d.Timeout.write(&o)
	o.optFlag("allow_partial", d.AllowPartial)
	return o.close(), nil
}

// UnmarshalJSON reads a definition as [Parse] does, without checking whether
// it makes a form. The error is a [*DefinitionError].
func (d *Definition) UnmarshalJSON(raw []byte) error {
	var p problems
	read, _ := parseDefinition(raw, &p)
	if err := p.err(); err != nil {
		return err
	}
	*d = read
	return nil
}

// MarshalJSON writes the field as it stands in a definition.
func (f Field) MarshalJSON() ([]byte, error) {
	var o object
	o.sub(f.write)
	return o.buf, nil
}

// MarshalJSON writes the condition as it stands in a definition.
func (c Condition) MarshalJSON() ([]byte, error) {
	var o object
	o.sub(c.write)
	return o.buf, nil
}

func (f *Field) write(o *object) {
	o.text("id", f.ID)
	o.text("type", string(f.Type))
	o.text("label", f.Label)
	o.optText("description", f.Description)
	o.optFlag("required", f.Required)
	o.optFlag("sensitive", f.Sensitive)
	if f.Default != nil {
		o.value("default", f.Default)
	}
	if len(f.Options) > 0 {
		f.writeOptions(o)
	}
	o.optNest("validation", func(o *object) { f.Constraints.write(o) })
	o.optNest("rendering", f.Hints.write)
	o.optNest("accessibility", f.Access.write)
	o.optTexts("dependencies", f.Dependencies)
}

func (f *Field) writeOptions(o *object) {
	if !f.titled() {
		values := make([]string, len(f.Options))
		for i := range f.Options {
			values[i] = f.Options[i].Value
		}
		o.texts("options", values)
		return
	}
	o.list("options", len(f.Options), func(i int, o *object) {
		o.text("value", f.Options[i].Value)
		o.optText("title", f.Options[i].Title)
	})
}

func (c *Constraints) write(o *object) {
	o.optInt("minLength", int64(c.MinLength))
	o.optInt("maxLength", int64(c.MaxLength))
	o.optText("pattern", c.Pattern)
	o.optText("format", c.Format)
	o.optNumber("minimum", c.Minimum)
	o.optNumber("maximum", c.Maximum)
	o.optNumber("exclusiveMinimum", c.ExclusiveMinimum)
	o.optNumber("exclusiveMaximum", c.ExclusiveMaximum)
	o.optNumber("multipleOf", c.MultipleOf)
	o.optText("minimum", c.Earliest)
	o.optText("maximum", c.Latest)
	o.optInt("minItems", int64(c.MinItems))
	o.optInt("maxItems", int64(c.MaxItems))
	o.optTexts("allowedSchemes", c.Schemes)
	if c.AllowPrivate {
		o.flag("blockPrivateIPs", false)
	}
	if c.AllowLocalhost {
		o.flag("blockLocalhost", false)
	}
	o.optInt("maxSize", c.MaxSize)
	o.optTexts("allowedMimeTypes", c.MimeTypes)
	o.optTexts("allowedExtensions", c.Extensions)
}

func (h *Hints) write(o *object) {
	o.optText("placeholder", h.Placeholder)
	o.optText("helpText", h.HelpText)
	o.optText("displayStyle", h.DisplayStyle)
	o.optText("inputType", h.InputType)
	o.optText("autocomplete", h.Autocomplete)
	o.optFlag("readonly", h.ReadOnly)
	o.optFlag("hidden", h.Hidden)
	o.optInt("gridColumn", int64(h.GridColumn))
	o.optInt("gridRow", int64(h.GridRow))
	o.optFlag("breakAfter", h.BreakAfter)
	o.optInt("rows", int64(h.Rows))
	o.optNumber("step", h.Step)
	o.optFlag("searchable", h.Searchable)
	o.optFlag("testButton", h.TestButton)
	o.optText("acceptAttribute", h.AcceptAttribute)
	o.optFlag("dragAndDrop", h.DragAndDrop)
	o.optFlag("preview", h.Preview)
	o.optText("displayFormat", h.DisplayFormat)
	o.optFlag("enableTime", h.EnableTime)
	if h.Condition != nil {
		o.nest("conditionalDisplay", h.Condition.write)
	}
	o.optText("validationTrigger", h.Trigger)
	o.optInt("debounceMs", int64(h.DebounceMS))
}

func (a *Accessibility) write(o *object) {
	o.optText("ariaLabel", a.Label)
	o.optText("ariaDescribedBy", a.DescribedBy)
	o.optInt("tabIndex", int64(a.TabIndex))
	o.optFlag("required", a.Required)
	o.optFlag("invalid", a.Invalid)
}

func (r *Rules) write(o *object) {
	if len(r.Dependencies) > 0 {
		o.nest("dependencies", func(o *object) {
			for i := range r.Dependencies {
				d := &r.Dependencies[i]
				o.nest(d.Field, func(o *object) {
					o.nest("condition", d.Condition.write)
					o.text("action", string(d.Action))
				})
			}
		})
	}
	o.optTexts("custom_validators", r.Validators)
}

func (c *Condition) write(o *object) {
	o.text("operator", string(c.Operator))
	o.optText("field", c.Field)
	switch c.Operator {
	case Equals:
		if len(c.Values) == 1 {
			o.value("value", c.Values[0])
		}
	case In:
		o.raw("values", appendValues(nil, c.Values))
	case Not:
		if len(c.Conditions) == 1 {
			o.nest("condition", c.Conditions[0].write)
		}
	case All, Any:
		o.list("conditions", len(c.Conditions), func(i int, o *object) { c.Conditions[i].write(o) })
	}
}

func (t *Timeouts) write(o *object) {
	if *t == (Timeouts{}) {
		return
	}
	if *t == (Timeouts{Initial: t.Initial}) {
		o.int("timeout", t.Initial.Milliseconds())
		return
	}
	o.nest("timeout", func(o *object) {
		o.optInt("initial_timeout", t.Initial.Milliseconds())
		o.optInt("warn_before", t.WarnBefore.Milliseconds())
		o.optInt("extension_duration", t.Extension.Milliseconds())
		o.optInt("max_extensions", int64(t.MaxExtensions))
		if t.NoExtension {
			o.flag("extension_allowed", false)
		}
	})
}
