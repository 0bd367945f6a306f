// Package formtest is the test kit of package form: forms to test with, valid
// and invalid answers made from any definition, a simulated person who answers
// through whatever runs the forms, assertions, and the timing of validation.
//
// It is for tests. The answers are made up, and none of them is a good
// example.
package formtest

import (
	"time"

	"github.com/answerback/answerback/form"
)

// Comprehensive is a form with a field of every type.
func Comprehensive() *form.Form {
	return must(form.Definition{
		ID:    "test_form_all_types",
		Title: "Comprehensive Test Form",
		Fields: []form.Field{
			{
				ID: "username", Type: form.Text, Label: "Username", Required: true,
				Constraints: form.Constraints{MinLength: 3, MaxLength: 32, Pattern: "^[a-zA-Z0-9_-]+$"},
			},
			{
				ID: "port", Type: form.Number, Label: "Port Number", Required: true,
				Constraints: form.Constraints{Minimum: "1024", Maximum: "65535", MultipleOf: "1"},
			},
			{ID: "enable_ssl", Type: form.Boolean, Label: "Enable SSL/TLS", Default: true},
			{
				ID: "start_date", Type: form.Date, Label: "Start Date", Required: true,
				Constraints: form.Constraints{Earliest: "2026-01-01", Latest: "2026-12-31"},
			},
			{
				ID: "log_level", Type: form.Select, Label: "Log Level", Required: true, Default: "info",
				Options: []form.Option{{Value: "debug"}, {Value: "info"}, {Value: "warning"}, {Value: "error"}, {Value: "critical"}},
			},
			{
				ID: "features", Type: form.MultiSelect, Label: "Enabled Features", Default: []string{"logging", "metrics"},
				Options: []form.Option{
					{Value: "logging", Title: "Application Logging"}, {Value: "metrics", Title: "Performance Metrics"},
					{Value: "tracing", Title: "Distributed Tracing"}, {Value: "profiling", Title: "CPU/Memory Profiling"},
				},
				Constraints: form.Constraints{MinItems: 1, MaxItems: 4},
			},
			{ID: "webhook_url", Type: form.URL, Label: "Webhook URL", Required: true},
			{
				ID: "config_file", Type: form.File, Label: "Configuration File",
				Constraints: form.Constraints{MaxSize: 10 << 20, MimeTypes: []string{"application/json"}, Extensions: []string{".json"}},
			},
		},
		Timeout: form.Timeouts{Initial: time.Minute},
	})
}

// Minimal is a form with one required text.
func Minimal() *form.Form {
	return must(form.Definition{
		ID:      "test_form_minimal",
		Title:   "Minimal Test Form",
		Fields:  []form.Field{{ID: "field1", Type: form.Text, Label: "Field 1", Required: true}},
		Timeout: form.Timeouts{Initial: 30 * time.Second},
	})
}

func must(d form.Definition) *form.Form {
	f, err := form.New(d)
	if err != nil {
		panic(err) // the definitions above are constants
	}
	return f
}
