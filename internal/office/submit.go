package office

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/wire"
)

// MaxMetadata is how many bytes the metadata of a submission may have.
const MaxMetadata = 4 << 10

// Submission is the JSON members of a submission. A member that is missing is
// nil.
type Submission struct {
	Responses json.RawMessage
	FormID    json.RawMessage // the id of the form's definition; optional
	Metadata  json.RawMessage // an object that the creator gets unchanged and unverified; optional
}

// Submit answers a form. An answer that does not fit it is refused with
// InvalidContent and all that is wrong, and can be put right as often as the
// error says. A submission with the id of another form, or with too much
// metadata, is refused with BadMessage and does not count as an attempt. The
// data of an error says of what kind it is.
func (o *Office) Submit(ctx context.Context, who desk.Viewer, via, id string, s Submission) error {
	v, err := o.peek(ctx, who, id)
	if err != nil {
		return err
	}
	if v.Outcome != nil {
		return over(&v)
	}
	f, err := question.Read(v.Ask.Params).Form(o.forms)
	if err != nil {
		return err
	}
	if err := s.check(f); err != nil {
		return err
	}
	values, errs := f.Decode(s.Responses, nil)
	if len(errs) == 0 {
		errs = o.names.Check(ctx, f, values)
	}
	if len(errs) > 0 {
		tries, err := o.desk.Attempted(id, who, via)
		if err != nil {
			return err
		}
		return invalid(errs, tries)
	}
	result := append([]byte(`{"action":"accept","content":`), f.Encode(values)...)
	if given(s.Metadata) {
		result = append(append(result, `,"`+memberMetadata+`":`...), s.Metadata...)
	}
	_, err = o.desk.Submit(id, who, via, ask.Answer{Action: ask.Accept, Result: append(result, '}')})
	return err
}

// check checks the form id and the metadata of a submission.
func (s *Submission) check(f *form.Form) error {
	if given(s.FormID) {
		if named, ok := wire.Unquote(s.FormID); !ok || named != f.Definition().ID {
			return ask.Errorf(ask.BadMessage, "form_id names another form: elicitationId stands for "+strconv.Quote(f.Definition().ID)+".")
		}
	}
	switch {
	case !given(s.Metadata):
	case s.Metadata[0] != '{':
		return ask.Errorf(ask.BadMessage, "metadata must be an object.")
	case len(s.Metadata) > MaxMetadata:
		return ask.Errorf(ask.BadMessage, "metadata may have at most "+strconv.Itoa(MaxMetadata)+" bytes.")
	}
	return nil
}

// given reports whether a member is present and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
