package formtest

import (
	"context"
	"fmt"
	"time"

	"github.com/answerback/answerback/form"
)

// Interaction is what a simulated person does with a form.
type Interaction string

// The interactions.
const (
	ImmediateValidSubmit        Interaction = "immediate_valid_submit"
	SubmitWithErrorsThenCorrect Interaction = "submit_with_errors_then_correct"
	TimeoutAbandonment          Interaction = "timeout_abandonment"
)

// Office is what runs forms, as a person and their author see it.
type Office interface {
	// Create puts a form before people and gives its id.
	Create(ctx context.Context, d *form.Definition) (id string, err error)
	// Submit answers a form. Errors are those of the answer; err is anything
	// else that keeps it from being taken.
	Submit(ctx context.Context, id string, v form.Values) (form.Errors, error)
	// Status is one of pending, active, extended, completed, timeout,
	// cancelled and declined.
	Status(ctx context.Context, id string) (string, error)
}

// Result is how an interaction went.
type Result struct {
	ID      string
	Status  string      // the form's status at the end
	Refused form.Errors // what the first answer was told, where it was meant to be wrong
}

// How long after its timeout a form may still be waiting.
const (
	grace = 5 * time.Second
	pause = 100 * time.Millisecond
)

// Simulate creates a form and has a simulated person deal with it. The error
// says where the office did not behave as the interaction expects.
func Simulate(ctx context.Context, o Office, f *form.Form, i Interaction) (Result, error) {
	id, err := o.Create(ctx, f.Definition())
	if err != nil {
		return Result{}, fmt.Errorf("formtest: create: %w", err)
	}
	r := Result{ID: id}
	want := "completed"
	switch i {
	case ImmediateValidSubmit:
		err = submitValid(ctx, o, f, id)
	case SubmitWithErrorsThenCorrect:
		if r.Refused, err = submitInvalid(ctx, o, f, id); err == nil {
			err = submitValid(ctx, o, f, id)
		}
	case TimeoutAbandonment:
		want = "timeout"
		err = await(ctx, o, f, id)
	default:
		err = fmt.Errorf("formtest: there is no interaction %q", i)
	}
	if err != nil {
		return r, err
	}
	if r.Status, err = o.Status(ctx, id); err != nil {
		return r, fmt.Errorf("formtest: status: %w", err)
	}
	if r.Status != want {
		return r, fmt.Errorf("formtest: after %s the status is %s, want %s", i, r.Status, want)
	}
	return r, nil
}

func submitValid(ctx context.Context, o Office, f *form.Form, id string) error {
	values, err := Valid(f)
	if err != nil {
		return err
	}
	refused, err := o.Submit(ctx, id, values)
	if err != nil {
		return fmt.Errorf("formtest: submit: %w", err)
	}
	if len(refused) > 0 {
		return fmt.Errorf("formtest: a valid answer was refused: %w", refused)
	}
	return nil
}

func submitInvalid(ctx context.Context, o Office, f *form.Form, id string) (form.Errors, error) {
	values, err := Invalid(f, MissingRequiredField)
	if err != nil {
		return nil, err
	}
	refused, err := o.Submit(ctx, id, values)
	if err != nil {
		return nil, fmt.Errorf("formtest: submit: %w", err)
	}
	if len(refused) == 0 {
		return nil, fmt.Errorf("formtest: an answer without a required field was accepted")
	}
	return refused, nil
}

// await does nothing until the form has timed out.
func await(ctx context.Context, o Office, f *form.Form, id string) error {
	timeout := f.Definition().Timeout.Initial
	if timeout == 0 {
		return fmt.Errorf("formtest: the form %s has no timeout to wait for", f.Definition().ID)
	}
	for waited, next := time.Duration(0), timeout+pause; waited < timeout+grace; next = pause {
		select {
		case <-time.After(next):
			waited += next
		case <-ctx.Done():
			return ctx.Err()
		}
		status, err := o.Status(ctx, id)
		if err != nil {
			return fmt.Errorf("formtest: status: %w", err)
		}
		if status == "timeout" {
			return nil
		}
	}
	return nil
}
