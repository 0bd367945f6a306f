package form

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// compile checks a definition and computes from it what answering needs. The
// Form is usable only if no problem was found.
func (c *Compiler) compile(def Definition, p *problems) *Form {
	f := &Form{def: def, index: make(map[string]int, len(def.Fields))}
	f.def.Fields = slices.Clone(def.Fields)
	checkHead(&f.def, p)
	if len(f.def.Fields) > MaxFields {
		p.add("fields", "has %d fields, at most %d are allowed", len(f.def.Fields), MaxFields)
		return f
	}
	f.fields = make([]field, len(f.def.Fields))
	for i := range f.def.Fields {
		path := fmt.Sprintf("fields[%d]", i)
		d := &f.def.Fields[i]
		if at, ok := f.index[d.ID]; ok {
			p.add(path+".id", "is %q, like that of fields[%d]", clip(d.ID), at)
		} else {
			f.index[d.ID] = i
		}
		f.fields[i] = c.compileField(d, path, p)
		f.fields[i].at = i
	}
	if cost := f.patternCost(); cost > MaxPatterns {
		p.add("fields", "have patterns of %d instructions in all, at most %d are allowed", cost, MaxPatterns)
	}
	f.compileRules(p)
	c.compileValidators(f, p)
	if len(p.found) > 0 {
		return f
	}
	f.schema = f.writeSchema()
	canonical, _ := json.Marshal(&f.def)
	f.digest = sha256.Sum256(canonical)
	return f
}

func (c *Compiler) compileField(d *Field, path string, p *problems) field {
	before := len(p.found)
	f := field{Field: d, path: []string{d.ID}}
	if d.Type == Date && d.Constraints.Format == "" {
		d.Constraints.Format = "date"
		if d.Hints.EnableTime || d.Hints.InputType == "datetime_local" {
			d.Constraints.Format = "date-time"
		}
	}
	d.Sensitive = d.Sensitive || asksForSecret(&d.Hints)
	checkField(d, path, p)
	f.longest, f.largest = orElse(c.MaxLength, DefaultMaxLength), orElse(c.MaxSize, DefaultMaxSize)
	if n := d.Constraints.MaxLength; n > 0 {
		f.longest = min(n, f.longest)
	}
	if n := d.Constraints.MaxSize; n > 0 {
		f.largest = min(n, f.largest)
	}
	v := path + ".validation"
	if d.Constraints.Pattern != "" {
		f.pattern, f.cost = compilePattern(d.Constraints.Pattern, v+".pattern", p)
	}
	for _, b := range []struct {
		key  string
		from json.Number
		to   **decimal
	}{
		{"minimum", d.Constraints.Minimum, &f.min},
		{"maximum", d.Constraints.Maximum, &f.max},
		{"exclusiveMinimum", d.Constraints.ExclusiveMinimum, &f.above},
		{"exclusiveMaximum", d.Constraints.ExclusiveMaximum, &f.below},
		{"multipleOf", d.Constraints.MultipleOf, &f.step},
	} {
		if b.from == "" {
			continue
		}
		n, ok := validNumber(b.from)
		if !ok {
			p.add(v+"."+b.key, "is not a number that can be compared with: %s", clip(string(b.from)))
			continue
		}
		*b.to = &n
	}
	checkBounds(&f, v, p)
	if len(d.Options) > 0 {
		f.options = make(map[string]bool, len(d.Options))
		for _, o := range d.Options {
			f.options[o.Value] = true
		}
		f.expected = f.optionValues()
		if len(f.expected) > maxExpected {
			f.expected = append(f.expected[:maxExpected:maxExpected], "…")
		}
	}
	if d.Type == URL {
		f.url = c.urlRules(d, v, p)
	}
	if len(p.found) == before {
		checkDefault(&f, path, p)
	}
	return f
}

func orElse[T int | int64](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// validNumber parses a number of a definition made in Go, which no JSON parser
// has looked at.
func validNumber(n json.Number) (decimal, bool) {
	if !json.Valid([]byte(n)) {
		return decimal{}, false
	}
	return parseDecimal(n)
}

// compilePattern also gives the number of instructions: the time that a match
// takes is at most that, times the length of the text.
func compilePattern(pattern, path string, p *problems) (*regexp.Regexp, int) {
	if len(pattern) > MaxPattern {
		p.add(path, "is %d bytes long, at most %d are allowed", len(pattern), MaxPattern)
		return nil, 0
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		p.add(path, "is not a regular expression of RE2: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil, 0
	}
	cost := MaxPatterns + 1
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			cost = len(program.Inst)
		}
	}
	return re, cost
}

func (f *Form) patternCost() int {
	cost := 0
	for i := range f.fields {
		cost += f.fields[i].cost
	}
	return cost
}

func (c *Compiler) urlRules(d *Field, path string, p *problems) URLRules {
	r := URLRules{Schemes: d.Constraints.Schemes, ToASCII: c.ToASCII}
	if d.Constraints.AllowPrivate {
		r.AllowPrivate = true
		if !c.InsecureAllowPrivateURLs {
			p.add(path+".blockPrivateIPs", "cannot be switched off by a form, only by the operator")
		}
	}
	if d.Constraints.AllowLocalhost {
		r.AllowLocalhost = true
		if !c.InsecureAllowPrivateURLs {
			p.add(path+".blockLocalhost", "cannot be switched off by a form, only by the operator")
		}
	}
	if len(r.Schemes) == 0 {
		r.Schemes = []string{"https"}
	}
	return r
}

// compileRules checks the conditions and puts the fields into an order in
// which each comes after those it depends on.
func (f *Form) compileRules(p *problems) {
	after := make([][]int, len(f.fields))
	depend := func(at int, id, path string) {
		on, ok := f.index[id]
		switch {
		case !ok:
			p.add(path, "names the field %q, which the form does not have", clip(id))
		case on == at:
			p.add(path, "makes the field %q depend on itself", clip(id))
		default:
			after[at] = append(after[at], on)
		}
	}
	use := func(at int, c *Condition, action Action, path string) {
		before := len(p.found)
		f.checkCondition(c, path, 0, p)
		for _, id := range c.Fields() {
			depend(at, id, path)
		}
		if len(p.found) == before {
			f.fields[at].rules = append(f.fields[at].rules, rule{action, compileCondition(c, f.index)})
		}
	}
	for i := range f.fields {
		field, path := &f.fields[i], fmt.Sprintf("fields[%d]", i)
		for j, id := range field.Dependencies {
			depend(i, id, fmt.Sprintf("%s.dependencies[%d]", path, j))
		}
		if c := field.Hints.Condition; c != nil {
			use(i, c, Show, path+".rendering.conditionalDisplay")
		}
	}
	seen := map[string]bool{}
	for i := range f.def.Validation.Dependencies {
		r := &f.def.Validation.Dependencies[i]
		path := "validation.dependencies." + clip(r.Field)
		at, ok := f.index[r.Field]
		switch {
		case !ok:
			p.add(path, "is for the field %q, which the form does not have", clip(r.Field))
			continue
		case seen[r.Field]:
			p.add(path, "is there twice")
		case !slices.Contains(actions, r.Action):
			p.add(path+".action", "is %q, want show, hide, enable, disable or validate", clip(string(r.Action)))
		}
		seen[r.Field] = true
		use(at, &r.Condition, r.Action, path+".condition")
	}
	f.sortFields(after, p)
}

// sortFields finds the order of evaluation and the cycles that there must not
// be.
func (f *Form) sortFields(after [][]int, p *problems) {
	const (
		untouched = iota
		open
		done
	)
	state := make([]int, len(after))
	var path []string
	var visit func(int) bool
	visit = func(i int) bool {
		path = append(path, clip(f.fields[i].ID))
		defer func() { path = path[:len(path)-1] }()
		switch state[i] {
		case open:
			start := slices.Index(path, path[len(path)-1])
			p.add("validation.dependencies", "go round in a circle: %s", strings.Join(path[start:], " → "))
			return false
		case done:
			return true
		}
		state[i] = open
		for _, on := range after[i] {
			if !visit(on) {
				return false
			}
		}
		state[i] = done
		f.order = append(f.order, i)
		return true
	}
	for i := range after {
		if !visit(i) {
			return
		}
	}
}

func (c *Compiler) compileValidators(f *Form, p *problems) {
	for i, name := range f.def.Validation.Validators {
		v := c.Validators[name]
		if v == nil {
			p.add(fmt.Sprintf("validation.custom_validators[%d]", i), "names the validator %q, which is not known here", clip(name))
			continue
		}
		f.validators = append(f.validators, v)
	}
}
