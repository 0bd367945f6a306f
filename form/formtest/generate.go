package formtest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/answerback/answerback/form"
)

// generator makes values. Without a source of randomness it always makes the
// same.
type generator struct{ random *rand.Rand }

func (g generator) chance() bool { return g.random != nil && g.random.IntN(2) == 0 }

// between is a number from least to most.
func (g generator) between(least, most int) int {
	if g.random == nil || most <= least {
		return least
	}
	return least + g.random.IntN(most-least+1)
}

// value finds a value that a field accepts.
func (g generator) value(field *form.Field) (any, error) {
	alone := *field
	alone.Hints, alone.Dependencies, alone.Required, alone.Sensitive, alone.Default = form.Hints{}, nil, true, false, nil
	probe, err := form.New(form.Definition{ID: "probe", Title: "probe", Fields: []form.Field{alone}})
	if err != nil {
		return nil, fmt.Errorf("formtest: field %s: %w", field.ID, err)
	}
	var last form.Errors
	for attempt := range 200 {
		v := g.candidate(field, attempt)
		if _, last = probe.Validate(form.Values{field.ID: v}); len(last) == 0 {
			return v, nil
		}
	}
	return nil, fmt.Errorf("formtest: field %s: found no value that it accepts: %w", field.ID, last)
}

func (g generator) candidate(field *form.Field, attempt int) any {
	c := &field.Constraints
	switch field.Type {
	case form.Number:
		return g.number(c, attempt)
	case form.Boolean:
		return g.between(1, 2) == 1
	case form.Select:
		return field.Options[g.between(0, len(field.Options)-1)].Value
	case form.MultiSelect:
		return g.choices(field)
	case form.URL:
		scheme := "https"
		if len(c.Schemes) > 0 {
			scheme = c.Schemes[0]
		}
		return fmt.Sprintf("%s://example.com/%d", scheme, g.between(1, 1000))
	case form.Date:
		return g.date(c)
	case form.File:
		return g.files(c)
	}
	return g.text(c, attempt)
}

func (g generator) choices(field *form.Field) []string {
	most := field.Constraints.MaxItems
	if most == 0 || most > len(field.Options) {
		most = len(field.Options)
	}
	n := g.between(max(1, field.Constraints.MinItems), most)
	order := make([]int, len(field.Options))
	for i := range order {
		order[i] = i
	}
	if g.random != nil {
		g.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	chosen := make([]string, n)
	for i := range chosen {
		chosen[i] = field.Options[order[i]].Value
	}
	return chosen
}

func (g generator) date(c *form.Constraints) string {
	if c.Format == "date-time" {
		start := "2026-02-02T10:00:00Z"
		if c.Earliest != "" {
			start = c.Earliest
		} else if c.Latest != "" {
			return c.Latest
		}
		return start
	}
	from, _ := time.Parse(time.DateOnly, "2026-02-02")
	to := from.AddDate(0, 0, 300)
	if t, err := time.Parse(time.DateOnly, c.Latest); err == nil {
		to, from = t, t.AddDate(0, 0, -300)
	}
	if t, err := time.Parse(time.DateOnly, c.Earliest); err == nil {
		from = t
		if c.Latest == "" {
			to = from.AddDate(0, 0, 300)
		}
	}
	days := int(to.Sub(from) / (24 * time.Hour))
	return from.AddDate(0, 0, g.between(0, days)).Format(time.DateOnly)
}

func (g generator) files(c *form.Constraints) []form.Upload {
	u := form.Upload{Name: "file", Type: "text/plain", Size: 10, URL: "https://files.example/1"}
	if len(c.Extensions) > 0 {
		u.Name += c.Extensions[0]
	}
	if len(c.MimeTypes) > 0 {
		u.Type = strings.Replace(c.MimeTypes[0], "*", "any", 1)
	}
	if c.MaxSize > 0 {
		u.Size = min(u.Size, c.MaxSize)
	}
	files := make([]form.Upload, g.between(max(1, c.MinItems), max(1, c.MinItems, c.MaxItems)))
	for i := range files {
		files[i] = u
	}
	return files
}

// number tries the bounds and what lies around and between them, moved onto
// the grid of multipleOf.
func (g generator) number(c *form.Constraints, attempt int) json.Number {
	rat := func(n json.Number) *big.Rat {
		r, _ := new(big.Rat).SetString(string(n))
		return r
	}
	low, high := rat(c.Minimum), rat(c.Maximum)
	if low == nil {
		low = rat(c.ExclusiveMinimum)
	}
	if high == nil {
		high = rat(c.ExclusiveMaximum)
	}
	switch {
	case low == nil && high == nil:
		low, high = big.NewRat(-1000, 1), big.NewRat(1000, 1)
	case low == nil:
		low = new(big.Rat).Sub(high, big.NewRat(1000, 1))
	case high == nil:
		high = new(big.Rat).Add(low, big.NewRat(1000, 1))
	}
	part := big.NewRat(int64(g.between(0, 1000)), 1000)
	if g.random == nil {
		part = big.NewRat(int64(attempt), 200)
	}
	v := new(big.Rat).Sub(high, low)
	v.Add(v.Mul(v, part), low)
	if step := rat(c.MultipleOf); step != nil {
		q := new(big.Rat).Quo(v, step)
		whole := new(big.Int).Quo(q.Num(), q.Denom())
		if attempt%2 == 1 {
			whole.Add(whole, big.NewInt(1))
		}
		v.Mul(new(big.Rat).SetInt(whole), step)
	}
	text := v.FloatString(12)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return json.Number(text)
}
