package formtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/answerback/answerback/form"
)

// Scenario is a way in which an answer is wrong.
type Scenario string

// The scenarios.
const (
	MissingRequiredField Scenario = "missing_required_field"
	TooShortText         Scenario = "too_short_text"
	InvalidURLPrivateIP  Scenario = "invalid_url_private_ip"
)

// Valid makes an answer that the form accepts: every field is filled in, but
// those that the form's conditions hide and files that are not required. It
// is the same answer each time.
func Valid(f *form.Form) (form.Values, error) { return Random(f, nil) }

// Random makes an answer that the form accepts: random values, and random
// optional fields left out. Without a source of randomness it is what Valid
// makes. It fails where no value can be found, such as for a pattern that
// contradicts the length.
func Random(f *form.Form, random *rand.Rand) (form.Values, error) {
	g := generator{random}
	all := form.Values{}
	for i := range f.Fields() {
		field := &f.Fields()[i]
		if bound := field.Hints.ReadOnly || field.Hints.Hidden; bound {
			continue // the form fills in what these have
		}
		if !field.Required && (field.Type == form.File || g.chance()) {
			continue
		}
		v, err := g.value(field)
		if err != nil {
			return nil, err
		}
		all[field.ID] = v
	}
	return visible(f, all), nil
}

// visible leaves out what the form's conditions hide. Which fields are asked
// is known only when those they depend on are settled, so the answer grows
// until nothing changes.
func visible(f *form.Form, all form.Values) form.Values {
	answer := form.Values{}
	for range len(f.Fields()) + 1 {
		strings, files := map[string][]string{}, map[string][]form.Upload{}
		for id, v := range answer {
			if uploads, ok := v.([]form.Upload); ok {
				files[id] = uploads
			} else {
				strings[id] = answer.Strings(id)
			}
		}
		next := form.Values{}
		for i, s := range f.States(strings, files) {
			id := f.Fields()[i].ID
			if v, ok := all[id]; ok && s.Shown && s.Enabled {
				next[id] = v
			}
		}
		answer = next
	}
	return answer
}

// Invalid makes an answer that is valid but for one thing. It fails where the
// form has no field that could be wrong in this way.
func Invalid(f *form.Form, s Scenario) (form.Values, error) {
	values, err := Valid(f)
	if err != nil {
		return nil, err
	}
	for i := range f.Fields() {
		field := &f.Fields()[i]
		if _, asked := values[field.ID]; !asked {
			continue
		}
		switch {
		case s == MissingRequiredField && field.Required:
			delete(values, field.ID)
			return values, nil
		case s == TooShortText && field.Type == form.Text && field.Constraints.MinLength > 1:
			values[field.ID] = strings.Repeat("a", field.Constraints.MinLength-1)
			return values, nil
		case s == InvalidURLPrivateIP && field.Type == form.URL:
			values[field.ID] = "https://192.168.1.1/webhook"
			return values, nil
		}
	}
	return nil, fmt.Errorf("formtest: the form %s has no field for %s", f.Definition().ID, s)
}
