package api

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/wire"
)

// maxBody is how many bytes of a request are read.
const maxBody = 1 << 20

// readJSON reads a body that says of itself that it is JSON.
func readJSON(r *http.Request) ([]byte, error) {
	return entry.ReadJSON(nil, r, maxBody)
}

// noBody refuses a request that says more than its path: it might mean
// something else.
func noBody(r *http.Request) error {
	n, err := io.ReadFull(r.Body, make([]byte, 1))
	switch {
	case n > 0:
		return bad("This takes no body: the path says it all.")
	case err != io.EOF:
		return bad("The body could not be read to its end.")
	}
	return nil
}

func queryOf(r *http.Request) (url.Values, error) { return url.ParseQuery(r.URL.RawQuery) }

// readAction reads one of the three words. Anything else is no action: least
// of all is it a yes.
func readAction(raw []byte) (ask.Action, error) {
	word, _ := wire.Unquote(raw)
	for _, a := range []ask.Action{ask.Accept, ask.Decline, ask.Cancel} {
		if word == a.String() {
			return a, nil
		}
	}
	return ask.NoAction, bad("action must be accept, decline or cancel.")
}

// checkContent holds an answer to its question. The error says all that is
// wrong.
func (h *Handler) checkContent(ctx context.Context, a *ask.Ask, content []byte, files map[string][]form.Upload) error {
	f, err := h.formOf(a)
	if err != nil {
		return err
	}
	values, errs := f.Decode(content, files)
	errs = append(errs, misspelt(f, content, values, errs)...)
	if len(errs) == 0 {
		errs = h.cfg.Names.Check(ctx, f, values)
	}
	if len(errs) == 0 {
		return nil
	}
	place := map[string]int{}
	for i, field := range f.Fields() {
		place[field.ID] = i - len(f.Fields())
	}
	slices.SortStableFunc(errs, func(a, b form.Error) int { return cmp.Compare(place[a.Field], place[b.Field]) })
	return invalid(errs)
}

// misspelt finds what a form can read and its asker might not: the answer is
// passed on as it was written, so a number must be one, a time complete, and
// what has no value left out.
func misspelt(f *form.Form, content []byte, values form.Values, known form.Errors) form.Errors {
	at, err := wire.Value(content)
	if err != nil {
		return nil // form said so
	}
	var errs form.Errors
	for m := range wire.Members(content, at) {
		name, _ := wire.Unquote(m.Key.Of(content))
		field, ok := f.Field(name)
		if !ok || len(known.For(name)) > 0 {
			continue
		}
		token := m.Value.Of(content)
		value, has := values[name]
		text, isText := wire.Unquote(token)
		say := func(constraint, words, expected string) {
			errs = append(errs, form.Error{
				Field: name, Code: form.Code, Message: field.Label + " " + words,
				Constraint: constraint, Expected: expected, Path: []string{name},
			})
		}
		switch {
		case isText && (field.Type == form.Number || field.Type == form.Boolean):
			say(form.ConstraintType, "must be a JSON "+string(field.Type)+", without quotation marks", string(field.Type))
		case !has && !takesNothing(field):
			say(form.ConstraintRequired, "must be left out where it has no value", "no value")
		case isText && field.Type == form.Date && value != text:
			say("format", "must be written in full, such as 2026-01-31 or 2026-01-31T14:30:00Z", field.Constraints.Format)
		}
	}
	return errs
}

// takesNothing reports whether an empty text is as good an answer as any.
func takesNothing(f *form.Field) bool {
	c := &f.Constraints
	return f.Type == form.Text && c.MinLength == 0 && c.Pattern == "" && c.Format == ""
}
