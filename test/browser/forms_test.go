//go:build browser

package browser

import "strings"

// deployForm is a question as MCP's own schema says it.
const deployForm = `{"message":"Where should it go?","requestedSchema":{"type":"object","properties":{` +
	`"name":{"type":"string","title":"Name"},` +
	`"place":{"type":"string","title":"Place","enum":["staging","production"]},` +
	`"copies":{"type":"integer","title":"Copies","minimum":1,"maximum":9},` +
	`"loud":{"type":"boolean","title":"Tell everybody"}},"required":["name","copies"]}}`

// defined is a question in the form language. The schema beside it is what
// clients are held to that know nothing of the language.
func defined(message, definition string) string {
	return `{"message":"` + message + `","requestedSchema":{"type":"object","properties":{}},"formDefinition":` + definition + `}`
}

// releaseForm has fields of every type but files, a condition, and a secret.
const releaseForm = `{"id":"release","title":"Release details","timeout":{"initial_timeout":300000,"warn_before":60000},"fields":[
	{"id":"name","type":"text","label":"Release name","required":true,"validation":{"minLength":3,"maxLength":32,"pattern":"^[a-z0-9-]+$"},"rendering":{"placeholder":"spring-24","helpText":"Small letters, digits and dashes."}},
	{"id":"region","type":"select","label":"Region","required":true,"options":[{"value":"eu","title":"Europe (Ireland)"},{"value":"us","title":"US East (Virginia)"},{"value":"ap","title":"Asia (Singapore)"}]},
	{"id":"size","type":"select","label":"Size","default":"m","options":[{"value":"s","title":"Small"},{"value":"m","title":"Medium"},{"value":"l","title":"Large"}],"rendering":{"displayStyle":"dropdown"}},
	{"id":"with","type":"multi_select","label":"What to include","required":true,"options":["Logging","Metrics","Tracing"],"validation":{"minItems":1,"maxItems":2}},
	{"id":"port","type":"number","label":"Port","required":true,"validation":{"minimum":1024,"maximum":65535,"multipleOf":1}},
	{"id":"start","type":"date","label":"Start date","validation":{"minimum":"2026-01-01"}},
	{"id":"hook","type":"url","label":"Webhook address","rendering":{"placeholder":"https://example.com/hook"}},
	{"id":"notes","type":"text","label":"Notes","rendering":{"rows":4}},
	{"id":"tls","type":"boolean","label":"Encrypt connections","description":"Turn off only for a network that you trust.","default":true},
	{"id":"why","type":"text","label":"Why not?","required":true,"rendering":{"conditionalDisplay":{"operator":"equals","field":"tls","value":false}}},
	{"id":"key","type":"text","label":"Deploy key","required":true,"rendering":{"inputType":"password"}}]}`

// everyForm is the same with a file: fields of all eight types.
var everyForm = strings.Replace(releaseForm, `{"id":"key",`, `{"id":"plan","type":"file","label":"Plan"},{"id":"key",`, 1)

const releaseQuestion = "Where should this release go?"

// release is what fillRelease answers, as the server gets it.
const release = `{"action":"accept","content":{"hook":"https://hooks.example.com/r/1","key":"s3cret-k3y","name":"spring-24","notes":"First line\nsecond <b>line</b>","port":8080,"region":"eu","size":"l","start":"2026-12-01","tls":false,"why":"It is a test network","with":["Logging","Tracing"]}}`

// fillRelease answers the release form, but for its secret.
func fillRelease(v *tab) {
	v.t.Helper()
	v.fill("Release name", "spring-24")
	v.check("Europe (Ireland)")
	v.choose("Size (optional)", "Large")
	v.check("Logging")
	v.check("Tracing")
	v.fill("Port", "8080")
	v.fill("Start date (optional)", "2026-12-01")
	v.fill("Webhook address (optional)", "https://hooks.example.com/r/1")
	v.fill("Notes (optional)", "First line\nsecond <b>line</b>")
	v.uncheck("Encrypt connections")
	v.fill("Why not?", "It is a test network")
}

// keepsRelease checks that what fillRelease typed is on the page.
func keepsRelease(v *tab) {
	v.t.Helper()
	for label, want := range map[string]string{
		"Release name": "spring-24", "Size (optional)": "2", "Port": "8080", "Start date (optional)": "2026-12-01",
		"Webhook address (optional)": "https://hooks.example.com/r/1", "Notes (optional)": "First line\nsecond <b>line</b>", "Why not?": "It is a test network",
	} {
		equal(v.t, label+" is", v.value(label), want)
	}
	for label, want := range map[string]bool{
		"Europe (Ireland)": true, "Asia (Singapore)": false, "Logging": true, "Metrics": false, "Tracing": true, "Encrypt connections": false,
	} {
		if v.checked(label) != want {
			v.t.Errorf("%s is %v", label, !want)
		}
	}
}
