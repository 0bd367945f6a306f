package formtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/form/formtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// F19: the two forms of seed 004.
func TestForms(t *testing.T) {
	types := map[form.Type]bool{}
	for _, f := range formtest.Comprehensive().Fields() {
		types[f.Type] = true
	}
	if len(types) != 8 {
		t.Errorf("comprehensive has %d types", len(types))
	}
	if d := formtest.Minimal().Definition(); len(d.Fields) != 1 || d.ID != "test_form_minimal" || d.Timeout.Initial != 30*time.Second {
		t.Errorf("minimal is %+v", d)
	}
}

// F19: valid answers are accepted, wrong ones are wrong in the way asked for.
func TestAnswers(t *testing.T) {
	for _, f := range []*form.Form{formtest.Comprehensive(), formtest.Minimal()} {
		v, err := formtest.Valid(f)
		if err != nil {
			t.Fatal(err)
		}
		formtest.AssertValid(t, f, v)
		if again, _ := formtest.Valid(f); !reflect.DeepEqual(v, again) {
			t.Error("Valid is not the same twice")
		}
		wrong, err := formtest.Invalid(f, formtest.MissingRequiredField)
		if err != nil {
			t.Fatal(err)
		}
		formtest.AssertErrors(t, f, wrong, formtest.Want{Field: f.Fields()[0].ID, Constraint: "required"})
	}
	f := formtest.Comprehensive()
	for scenario, want := range map[formtest.Scenario]formtest.Want{
		formtest.TooShortText:        {Field: "username", Constraint: "minLength"},
		formtest.InvalidURLPrivateIP: {Field: "webhook_url", Constraint: "blockPrivateIPs"},
	} {
		wrong, err := formtest.Invalid(f, scenario)
		if err != nil {
			t.Fatal(err)
		}
		formtest.AssertErrors(t, f, wrong, want)
		if _, errs := f.Validate(wrong); len(errs) != 1 {
			t.Errorf("%s: more is wrong: %v", scenario, errs)
		}
		if _, err := formtest.Invalid(formtest.Minimal(), scenario); err == nil {
			t.Errorf("%s of a form that has no such field", scenario)
		}
	}
}

func TestHardFields(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, field := range []string{
		`"type": "text", "validation": {"pattern": "^sk-[a-zA-Z0-9]{40,}$", "minLength": 32, "maxLength": 64}`,
		`"type": "text", "validation": {"pattern": "^(?:[0-9]{4}[ -]?){3}x?(a|b)+$"}`,
		`"type": "text", "validation": {"pattern": "needle", "minLength": 20}`,
		`"type": "text", "validation": {"pattern": "^.+\\..*$", "minLength": 12}`,
		`"type": "text", "validation": {"format": "email", "minLength": 30}`,
		`"type": "text", "validation": {"format": "uri", "minLength": 40}`,
		`"type": "number", "validation": {"exclusiveMinimum": 1, "exclusiveMaximum": 1.02, "multipleOf": 0.01}`,
		`"type": "number", "validation": {"minimum": 7, "maximum": 13, "multipleOf": 13}`,
		`"type": "number", "validation": {"maximum": -3, "multipleOf": 2}`,
		`"type": "date", "validation": {"minimum": "2026-03-01", "maximum": "2026-03-01"}`,
		`"type": "date", "validation": {"maximum": "1999-01-01"}`,
		`"type": "date", "validation": {"minimum": "2050-01-01"}`,
		`"type": "date", "validation": {"format": "date-time", "maximum": "1999-01-01T00:00:00Z"}`,
		`"type": "date", "validation": {"format": "date-time", "minimum": "2050-01-01T00:00:00Z"}`,
		`"type": "url", "validation": {"allowedSchemes": ["wss"]}`,
		`"type": "file", "validation": {"minItems": 2, "maxItems": 4, "maxSize": 5, "allowedMimeTypes": ["image/*"], "allowedExtensions": [".png"]}`,
	} {
		f, err := form.Parse([]byte(`{"id": "f", "title": "F", "fields": [{"id": "a", "label": "A", "required": true, ` + field + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, random := range []*rand.Rand{nil, random, random, random} {
			v, err := formtest.Random(f, random)
			if err != nil {
				t.Errorf("%s: %v", field, err)
				continue
			}
			formtest.AssertValid(t, f, v)
		}
	}
	f, err := form.Parse([]byte(`{"id": "f", "title": "F", "fields": [{"id": "a", "label": "A", "required": true, "type": "text", "validation": {"pattern": "^aa$", "minLength": 3}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := formtest.Valid(f); err == nil || !strings.Contains(err.Error(), "found no value") {
		t.Error(v, err)
	}
	if _, err := formtest.Invalid(f, formtest.TooShortText); err == nil {
		t.Error("made a wrong answer where there is no right one")
	}
	if _, err := formtest.Measure(f, 1); err == nil {
		t.Error("measured nothing")
	}
}

// recorder notes that an assertion failed.
type recorder struct{ failed []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func TestAssertionsFail(t *testing.T) {
	f := formtest.Minimal()
	for name, assert := range map[string]func(formtest.T){
		"refuses the values": func(t formtest.T) { formtest.AssertValid(t, f, form.Values{}) },
		"accepts the values": func(t formtest.T) { formtest.AssertErrors(t, f, form.Values{"field1": "x"}) },
		"it reports required of field1": func(t formtest.T) {
			formtest.AssertErrors(t, f, form.Values{}, formtest.Want{Field: "field1", Constraint: "x"})
		},
		"does not report required of else": func(t formtest.T) {
			formtest.AssertErrors(t, f, form.Values{}, formtest.Want{Field: "else", Constraint: "required"})
		},
	} {
		var r recorder
		if assert(&r); len(r.failed) != 1 || !strings.Contains(r.failed[0], name) {
			t.Errorf("%s: %v", name, r.failed)
		}
	}
}

// F19, F20: timing after 100 warm-ups.
func TestMeasure(t *testing.T) {
	timing, err := formtest.Measure(formtest.Comprehensive(), 500)
	if err != nil {
		t.Fatal(err)
	}
	if timing.Avg <= 0 || timing.P50 > timing.P95 || timing.P95 > timing.P99 || timing.P99 == 0 {
		t.Errorf("%+v", timing)
	}
}

// office runs forms in memory.
type office struct {
	mu      sync.Mutex
	forms   map[string]*form.Form
	status  map[string]string
	fault   error
	careful bool
	deaf    bool // never times out
}

func newOffice() *office {
	return &office{forms: map[string]*form.Form{}, status: map[string]string{}, careful: true}
}

func (o *office) Create(_ context.Context, d *form.Definition) (string, error) {
	f, err := form.New(*d)
	if err != nil {
		return "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	id := fmt.Sprintf("elic_%d", len(o.forms))
	o.forms[id], o.status[id] = f, "pending"
	if !o.deaf {
		time.AfterFunc(d.Timeout.Initial, func() { o.settle(id, "timeout") })
	}
	return id, o.fault
}

func (o *office) settle(id, status string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status[id] == "pending" {
		o.status[id] = status
	}
}

func (o *office) Submit(_ context.Context, id string, v form.Values) (form.Errors, error) {
	o.mu.Lock()
	f := o.forms[id]
	o.mu.Unlock()
	if _, errs := f.Validate(v); len(errs) > 0 && o.careful {
		return errs, nil
	}
	o.settle(id, "completed")
	return nil, nil
}

func (o *office) Status(_ context.Context, id string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.status[id], nil
}

// F19: the simulated person, against something that behaves.
func TestSimulate(t *testing.T) {
	for _, i := range []formtest.Interaction{formtest.ImmediateValidSubmit, formtest.SubmitWithErrorsThenCorrect, formtest.TimeoutAbandonment} {
		for _, f := range []*form.Form{formtest.Comprehensive(), formtest.Minimal()} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				r, err := formtest.Simulate(t.Context(), newOffice(), f, i)
				if err != nil {
					t.Fatalf("%s: %v", i, err)
				}
				if (len(r.Refused) > 0) != (i == formtest.SubmitWithErrorsThenCorrect) {
					t.Errorf("%s: refused %v", i, r.Refused)
				}
				if waited := time.Since(start) >= f.Definition().Timeout.Initial; waited != (i == formtest.TimeoutAbandonment) {
					t.Errorf("%s took %v", i, time.Since(start))
				}
				time.Sleep(time.Hour) // let the office's timers end
			})
		}
	}
}

// F19: the simulated person notices what does not behave.
func TestSimulateNotices(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		spoil       func(*office)
		interaction formtest.Interaction
		want        string
	}{
		"cannot create":    {func(o *office) { o.fault = down }, formtest.ImmediateValidSubmit, "create: down"},
		"accepts anything": {func(o *office) { o.careful = false }, formtest.SubmitWithErrorsThenCorrect, "without a required field was accepted"},
		"never times out":  {func(o *office) { o.deaf = true }, formtest.TimeoutAbandonment, "status is pending, want timeout"},
		"unknown":          {func(*office) {}, "dance", "no interaction"},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := newOffice()
			c.spoil(o)
			if _, err := formtest.Simulate(t.Context(), o, formtest.Minimal(), c.interaction); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			time.Sleep(time.Hour)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o := newOffice()
		o.deaf = true
		if _, err := formtest.Simulate(ctx, o, formtest.Minimal(), formtest.TimeoutAbandonment); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	endless, err := form.Parse([]byte(`{"id": "f", "title": "F", "fields": []}`))
	if err != nil {
		t.Fatal(err)
	}
	o := newOffice()
	o.deaf = true
	if _, err := formtest.Simulate(t.Context(), o, endless, formtest.TimeoutAbandonment); err == nil {
		t.Error("waited for a timeout that there is not")
	}
}
