package form_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/form"
)

var (
	patterns = []string{"", "", "", "^[a-z]+$", "[0-9]", "^sk-[a-zA-Z0-9]{4,}$", "^(a|b)+c?$", `^\p{L}+$`}
	words    = []string{"", "a", "abc", "abcdef", "sk-abcd", "12", "ä漢🙂", "no", "true", "2026-03-04", "x y\nz", "a@b.example", "https://example.com/", "https://10.0.0.1/"}
)

// drawDefinition draws any definition that is valid.
func drawDefinition(t *rapid.T) form.Definition {
	d := form.Definition{
		ID: "drawn", Title: rapid.StringN(1, 20, 60).Filter(func(s string) bool { return len(trim(s)) > 0 }).Draw(t, "title"),
		Description:  rapid.SampledFrom(words).Draw(t, "description"),
		AllowPartial: rapid.IntRange(0, 4).Draw(t, "partial") == 0,
		Fields:       []form.Field{},
	}
	n := rapid.IntRange(1, 7).Draw(t, "fields")
	for i := range n {
		f := drawField(t, i)
		if i > 0 && rapid.IntRange(0, 2).Draw(t, "ruled") == 0 {
			c := drawCondition(t, d.Fields, 0)
			if rapid.Bool().Draw(t, "display") {
				f.Hints.Condition = &c
			} else {
				action := rapid.SampledFrom([]form.Action{form.Show, form.Hide, form.Enable, form.Disable, form.Validate}).Draw(t, "action")
				d.Validation.Dependencies = append(d.Validation.Dependencies, form.Rule{Field: f.ID, Condition: c, Action: action})
			}
		}
		d.Fields = append(d.Fields, f)
	}
	return d
}

func trim(s string) string {
	out := ""
	for _, r := range s {
		if r > ' ' && strconv.IsPrint(r) {
			out += string(r)
		}
	}
	return out
}

func drawField(t *rapid.T, i int) form.Field {
	f := form.Field{
		ID: fmt.Sprintf("f%d", i), Label: fmt.Sprintf("Field %d", i),
		Type: rapid.SampledFrom([]form.Type{
			form.Text, form.Number, form.Boolean, form.Select, form.MultiSelect, form.URL, form.Date, form.File,
		}).Draw(t, "type"),
		Required: rapid.Bool().Draw(t, "required"),
	}
	c := &f.Constraints
	switch f.Type {
	case form.Text:
		c.MinLength = rapid.IntRange(0, 3).Draw(t, "minLength")
		c.MaxLength = rapid.SampledFrom([]int{0, 40, 60}).Draw(t, "maxLength")
		c.Pattern = rapid.SampledFrom(patterns).Draw(t, "pattern")
		if c.Pattern == "" && rapid.Bool().Draw(t, "formatted") {
			c.Format = rapid.SampledFrom(form.Formats()).Draw(t, "format")
		}
		f.Sensitive = rapid.IntRange(0, 4).Draw(t, "sensitive") == 0
	case form.Number:
		drawRange(t, c)
	case form.Select, form.MultiSelect:
		titled := rapid.Bool().Draw(t, "titled")
		for j := range rapid.IntRange(1, 5).Draw(t, "options") {
			o := form.Option{Value: fmt.Sprintf("o%d", j)}
			if titled {
				o.Title = fmt.Sprintf("Option %d", j)
			}
			f.Options = append(f.Options, o)
		}
		if f.Type == form.MultiSelect {
			c.MinItems = rapid.IntRange(0, len(f.Options)).Draw(t, "minItems")
			c.MaxItems = rapid.SampledFrom([]int{0, max(1, c.MinItems), len(f.Options)}).Draw(t, "maxItems")
		}
	case form.URL:
		c.Schemes = rapid.SampledFrom([][]string{nil, {"http", "https"}, {"wss"}}).Draw(t, "schemes")
	case form.Date:
		c.Format = rapid.SampledFrom([]string{"", "date", "date-time"}).Draw(t, "date format")
		if c.Format == "date" {
			c.Earliest = rapid.SampledFrom([]string{"", "2026-01-01"}).Draw(t, "earliest")
			c.Latest = rapid.SampledFrom([]string{"", "2026-12-31"}).Draw(t, "latest")
		}
	case form.File:
		c.MaxItems = rapid.IntRange(0, 3).Draw(t, "maxItems")
	}
	drawDefault(t, &f)
	return f
}

func drawRange(t *rapid.T, c *form.Constraints) {
	number := func(n int, name string) json.Number {
		if !rapid.Bool().Draw(t, name) {
			return ""
		}
		return json.Number(strconv.Itoa(n))
	}
	low := rapid.IntRange(-50, 50).Draw(t, "low")
	if rapid.Bool().Draw(t, "exclusive") {
		c.ExclusiveMinimum, c.ExclusiveMaximum = number(low, "above"), number(low+20, "below")
	} else {
		c.Minimum, c.Maximum = number(low, "minimum"), number(low+20, "maximum")
	}
	c.MultipleOf = rapid.SampledFrom([]json.Number{"", "1", "0.01", "3", "0.5"}).Draw(t, "multipleOf")
}

// drawDefault gives some fields a default, and binds some of those to it.
func drawDefault(t *rapid.T, f *form.Field) {
	if f.Type == form.File || f.Sensitive || rapid.IntRange(0, 2).Draw(t, "defaulted") > 0 {
		return
	}
	f.Default = fits(t, *f)
	if f.Default != nil && rapid.IntRange(0, 3).Draw(t, "bound") == 0 {
		f.Hints.ReadOnly = rapid.Bool().Draw(t, "readonly")
		f.Hints.Hidden = !f.Hints.ReadOnly
	}
}

func drawCondition(t *rapid.T, on []form.Field, depth int) form.Condition {
	op := rapid.SampledFrom([]form.Operator{form.Equals, form.In, form.Present, form.Not, form.All, form.Any}).Draw(t, "operator")
	if depth > 1 && (op == form.Not || op == form.All || op == form.Any) {
		op = form.Present
	}
	c := form.Condition{Operator: op}
	switch op {
	case form.Not:
		c.Conditions = []form.Condition{drawCondition(t, on, depth+1)}
		return c
	case form.All, form.Any:
		for range rapid.IntRange(1, 3).Draw(t, "conditions") {
			c.Conditions = append(c.Conditions, drawCondition(t, on, depth+1))
		}
		return c
	}
	f := rapid.SampledFrom(on).Draw(t, "on")
	c.Field = f.ID
	if f.Type == form.File {
		c.Operator = form.Present
	}
	if c.Operator == form.Present {
		return c
	}
	n := 1
	if c.Operator == form.In {
		n = rapid.IntRange(1, 3).Draw(t, "values")
	}
	for range n {
		var v any
		switch f.Type {
		case form.Number:
			v = rapid.SampledFrom([]json.Number{"0", "1", "1.0", "2.5", "12"}).Draw(t, "value")
		case form.Boolean:
			v = rapid.Bool().Draw(t, "value")
		case form.Select, form.MultiSelect:
			v = rapid.SampledFrom(f.Options).Draw(t, "value").Value
		default:
			v = rapid.SampledFrom(words[1:]).Draw(t, "value")
		}
		c.Values = append(c.Values, v)
	}
	return c
}

func source(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
}
