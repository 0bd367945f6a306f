package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds on the texts of a definition.
const (
	maxID         = 200
	maxLabel      = 2_000
	maxText       = 20_000
	maxConditions = 200 // in one condition
)

var (
	fieldTypes    = []Type{Text, Number, Boolean, Select, MultiSelect, URL, File, Date}
	operators     = []Operator{Equals, In, Present, Not, All, Any}
	actions       = []Action{Show, Hide, Enable, Disable, Validate}
	displayStyles = []string{
		"dropdown", "radio", "checkbox", "toggle", "segmented", "multiselect_dropdown", "chips", "slider",
		"text", "password", "email", "tel",
	}
	inputTypes = []string{"text", "password", "email", "tel", "url", "number", "date", "time", "datetime_local"}
	triggers   = []string{"on_change", "on_blur", "on_submit"}
	urlSchemes = []string{"https", "http", "wss", "ws", "ftps", "ftp", "sftp"}
)

// secretAutocomplete are the HTML autocomplete tokens of secrets.
var secretAutocomplete = []string{"current-password", "new-password", "one-time-code", "cc-number", "cc-csc"}

// asksForSecret reports whether the hints show that the field takes a secret.
func asksForSecret(h *Hints) bool {
	return h.InputType == "password" || h.DisplayStyle == "password" ||
		slices.ContainsFunc(strings.Fields(h.Autocomplete), func(token string) bool {
			return slices.Contains(secretAutocomplete, strings.ToLower(token))
		})
}

func checkHead(d *Definition, p *problems) {
	checkID(d.ID, "id", p)
	checkLabel(d.Title, "title", p)
	checkText(d.Description, "description", p)
	if d.Fields == nil {
		p.add("fields", "is missing")
	}
	if d.Metadata != nil {
		if n, err := parseJSON(d.Metadata, MaxDefinition); err != nil {
			p.add("metadata", "%v", err)
		} else if n.kind != objectNode {
			p.add("metadata", "is %s, want an object", n.kind.noun())
		}
	}
	t := d.Timeout
	for _, limit := range []struct {
		key string
		d   time.Duration
	}{{"initial_timeout", t.Initial}, {"warn_before", t.WarnBefore}, {"extension_duration", t.Extension}} {
		if limit.d < 0 || limit.d > maxTimeout {
			p.add("timeout."+limit.key, "must be more than 0 and at most %d days", maxTimeout/(24*time.Hour))
		}
	}
	if t.MaxExtensions < 0 {
		p.add("timeout.max_extensions", "must not be negative")
	}
}

// maxTimeout is far beyond what a person takes and far from overflowing.
const maxTimeout = 366 * 24 * time.Hour

func checkID(id, path string, p *problems) {
	switch {
	case id == "":
		p.add(path, "is missing or empty")
	case len(id) > maxID:
		p.add(path, "is %d bytes long, at most %d are allowed", len(id), maxID)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }):
		p.add(path, "holds characters that cannot be printed")
	case strings.TrimSpace(id) != id:
		p.add(path, "begins or ends with a space")
	}
}

func checkLabel(s, path string, p *problems) {
	if strings.TrimSpace(s) == "" {
		p.add(path, "is missing or empty")
	}
	checkLong(s, maxLabel, path, p)
}

func checkText(s, path string, p *problems) { checkLong(s, maxText, path, p) }

func checkLong(s string, most int, path string, p *problems) {
	if len(s) > most {
		p.add(path, "is %d bytes long, at most %d are allowed", len(s), most)
	}
	if !utf8.ValidString(s) {
		p.add(path, "is not UTF-8")
	}
}

func checkOneOf(s string, of []string, path string, p *problems) {
	if s != "" && !slices.Contains(of, s) {
		p.add(path, "is %q, want one of %s", clip(s), strings.Join(of, ", "))
	}
}

func checkField(d *Field, path string, p *problems) {
	checkID(d.ID, path+".id", p)
	checkLabel(d.Label, path+".label", p)
	checkText(d.Description, path+".description", p)
	if !slices.Contains(fieldTypes, d.Type) {
		p.add(path+".type", "is %q, want text, number, boolean, select, multi_select, url, file or date", clip(string(d.Type)))
		return
	}
	checkOptions(d, path+".options", p)
	checkConstraints(d, path+".validation", p)
	checkHints(d, path+".rendering", p)
	checkText(d.Access.Label, path+".accessibility.ariaLabel", p)
	checkText(d.Access.DescribedBy, path+".accessibility.ariaDescribedBy", p)
}

func checkOptions(d *Field, path string, p *problems) {
	if d.Type != Select && d.Type != MultiSelect {
		if len(d.Options) > 0 {
			p.add(path, "is for select and multi_select fields, not for a %s field", d.Type)
		}
		return
	}
	if len(d.Options) == 0 {
		p.add(path, "must hold at least one choice")
	}
	if len(d.Options) > MaxOptions {
		p.add(path, "holds %d choices, at most %d are allowed", len(d.Options), MaxOptions)
		return
	}
	seen := make(map[string]int, len(d.Options))
	for i, o := range d.Options {
		at := fmt.Sprintf("%s[%d]", path, i)
		if first, ok := seen[o.Value]; ok {
			p.add(at, "has the same value as %s[%d]", path, first)
			continue
		}
		seen[o.Value] = i
		checkLong(o.Value, maxLabel, at+".value", p)
		checkLong(o.Title, maxLabel, at+".title", p)
	}
}

func checkHints(d *Field, path string, p *problems) {
	h := &d.Hints
	checkOneOf(h.DisplayStyle, displayStyles, path+".displayStyle", p)
	checkOneOf(h.InputType, inputTypes, path+".inputType", p)
	checkOneOf(h.Trigger, triggers, path+".validationTrigger", p)
	for _, t := range []struct{ key, text string }{
		{"placeholder", h.Placeholder}, {"helpText", h.HelpText}, {"autocomplete", h.Autocomplete},
		{"acceptAttribute", h.AcceptAttribute}, {"displayFormat", h.DisplayFormat},
	} {
		checkText(t.text, path+"."+t.key, p)
	}
	for _, n := range []struct {
		key   string
		value int
	}{{"gridColumn", h.GridColumn}, {"gridRow", h.GridRow}, {"rows", h.Rows}, {"debounceMs", h.DebounceMS}} {
		if n.value < 0 || n.value > 100_000 {
			p.add(path+"."+n.key, "must be between 1 and 100000")
		}
	}
	if h.Step != "" {
		if n, ok := validNumber(h.Step); !ok || n.f <= 0 {
			p.add(path+".step", "must be a number greater than 0")
		}
	}
	if d.Required && d.Default == nil && d.Type != File {
		if h.ReadOnly {
			p.add(path+".readonly", "makes a required field that has no default impossible to fill in")
		}
		if h.Hidden {
			p.add(path+".hidden", "makes a required field that has no default impossible to fill in")
		}
	}
	if d.Type == File && (h.ReadOnly || h.Hidden) {
		p.add(path, "makes a file field impossible to fill in: it can be neither readonly nor hidden")
	}
}

// checkCondition checks everything about a condition but whether its fields
// exist.
func (f *Form) checkCondition(c *Condition, path string, depth int, p *problems) {
	if depth == 0 {
		size := 0
		c.walk(func(c *Condition) { size += 1 + len(c.Values) })
		if size > maxConditions {
			p.add(path, "has %d parts, at most %d are allowed", size, maxConditions)
			return
		}
	}
	wantField, wantBelow := true, 0
	switch c.Operator {
	case Equals, In:
		if len(c.Values) == 0 || c.Operator == Equals && len(c.Values) != 1 {
			p.add(path, "compares with %d values, want one for equals and at least one for in", len(c.Values))
		}
	case Present:
	case Not:
		wantField, wantBelow = false, 1
	case All, Any:
		wantField, wantBelow = false, max(1, len(c.Conditions))
	default:
		p.add(path+".operator", "is %q, want equals, in, present, not, all or any", clip(string(c.Operator)))
		return
	}
	if len(c.Conditions) != wantBelow {
		p.add(path, "has %d conditions below %s", len(c.Conditions), c.Operator)
	}
	if wantField != (c.Field != "") {
		p.add(path+".field", "must be there for equals, in and present, and for no other operator")
	}
	if c.Operator != Equals && c.Operator != In && len(c.Values) > 0 {
		p.add(path, "has values to compare with, which %s does not take", c.Operator)
	}
	if at, ok := f.index[c.Field]; ok {
		checkOperands(c, &f.fields[at], path, p)
	}
	for i := range c.Conditions {
		at := fmt.Sprintf("%s.conditions[%d]", path, i)
		if c.Operator == Not {
			at = path + ".condition"
		}
		f.checkCondition(&c.Conditions[i], at, depth+1, p)
	}
}

// checkOperands refuses comparisons that can never hold.
func checkOperands(c *Condition, on *field, path string, p *problems) {
	for _, v := range c.Values {
		fits := false
		switch v := v.(type) {
		case string:
			switch on.Type {
			case Select, MultiSelect:
				fits = on.options[v]
			case Text, URL, Date:
				fits = true
			}
		case bool:
			fits = on.Type == Boolean
		case json.Number:
			_, ok := validNumber(v)
			fits = ok && on.Type == Number
		}
		if !fits {
			p.add(path, "compares the %s field %q with %s, which it never has", on.Type, clip(on.ID), clip(fmt.Sprint(v)))
		}
	}
}
