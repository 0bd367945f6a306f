package form

import (
	"fmt"
	"strings"
)

// Code is the JSON-RPC error code of a value that is not accepted.
const Code = -32007

// Error says why the value of one field is not accepted. Its JSON form is
// what clients of the form API are sent.
type Error struct {
	Field      string   `json:"field"`
	Code       int      `json:"code"`    // always [Code]
	Message    string   `json:"message"` // a sentence for people, in English
	Constraint string   `json:"constraint"`
	Expected   any      `json:"expected,omitempty"`
	Actual     any      `json:"actual,omitempty"` // a length, a count or else the value; nothing for sensitive fields
	Path       []string `json:"path"`
}

// Errors are all the reasons why an answer is not accepted, in the order of
// the form's fields.
type Errors []Error

// Error joins the messages.
func (e Errors) Error() string {
	messages := make([]string, len(e))
	for i := range e {
		messages[i] = e[i].Message
	}
	return strings.Join(messages, "; ")
}

// For gives the errors of one field.
func (e Errors) For(field string) Errors {
	var of Errors
	for i := range e {
		if e[i].Field == field {
			of = append(of, e[i])
		}
	}
	return of
}

// Problem is something wrong with a definition, and where.
type Problem struct {
	Path    string // such as fields[2].validation.minLength; "" for the whole
	Message string
}

// DefinitionError is everything that is wrong with a definition.
type DefinitionError struct {
	Problems []Problem // at least one
}

// Error lists the problems, each with its path.
func (e *DefinitionError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = strings.TrimSpace(p.Path + " " + p.Message)
	}
	return "the form is not valid: " + strings.Join(lines, "; ")
}

// maxProblems bounds the report on a definition that is wrong all over.
const maxProblems = 100

// problems collects what is wrong with a definition.
type problems struct{ found []Problem }

func (p *problems) add(path, format string, args ...any) {
	if len(p.found) < maxProblems {
		p.found = append(p.found, Problem{path, fmt.Sprintf(format, args...)})
	}
}

func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	return &DefinitionError{p.found}
}
