package form

import (
	"fmt"
	"slices"
	"strings"
)

// Key is one key of the language, as references describe it.
type Key struct {
	Name    string
	Types   []Type // the field types that it is for; nil for all
	Takes   string // what kind of value
	Example string // a value, as JSON
	Doc     string // what it means, in Markdown
}

// Part is one object of the language.
type Part struct {
	Name string // where it stands in a definition, such as "fields[].rendering"
	Doc  string
	Keys []Key
}

// Types describes the field types. Takes is what a type asks for, and Example an
// answer to it.
func Types() []Key {
	return []Key{
		{Name: string(Text), Takes: "words, or one of the formats", Example: `"spring-24"`, Doc: "Text, with line breaks as one character each."},
		{Name: string(Number), Takes: "a number", Example: `8080`, Doc: "A number, exactly as it was written."},
		{Name: string(Boolean), Takes: "yes or no", Example: `true`, Doc: "`true` or `false`."},
		{Name: string(Select), Takes: "one choice", Example: `"x"`, Doc: "The value of the choice."},
		{Name: string(MultiSelect), Takes: "several choices", Example: `["x","y"]`, Doc: "Their values."},
		{Name: string(URL), Takes: "an address", Example: `"https://example.com/hook"`, Doc: "The address, as text."},
		{Name: string(File), Takes: "a file, or several", Example: `"https://gateway.example/files/AXc7Q…"`, Doc: "An address at which the server that asked can get it; a list of them where several are allowed."},
		{Name: string(Date), Takes: "a day, or a day and a time", Example: `"2026-12-01"`, Doc: "Text; with a time as RFC 3339 has it, such as `2026-12-01T14:30:00Z`."},
	}
}

// Parts describes the whole language, for whoever writes references of it or
// tools for it. The caller owns what it gets.
func Parts() []Part {
	return []Part{
		{Name: "the form", Doc: "A definition is one JSON object. Unknown keys are refused, everywhere.", Keys: formKeys()},
		{Name: "timeout", Doc: "A number of milliseconds, which is `initial_timeout`, or an object. What is not said is decided by whoever runs the form; at most a year each.", Keys: timeoutKeys()},
		{Name: "validation", Doc: "What concerns more than one field.", Keys: []Key{
			{Name: "dependencies", Takes: "object", Example: `{"why":{"condition":{"operator":"present","field":"name"},"action":"show"}}`, Doc: "For a field, by its id: a `condition` and the `action` that it decides (" + names(actions) + "). A field that is hidden or disabled is neither required nor accepted. Conditions must not go round in circles."},
			{Name: "custom_validators", Takes: "list of text", Example: `[]`, Doc: "Names of checks that the program which runs the form has. Unknown ones are refused."},
		}},
		{Name: "fields[]", Doc: "One question each, in the order in which they are asked; at most " + fmt.Sprint(MaxFields) + ".", Keys: fieldKeys()},
		{Name: "fields[].options[]", Doc: "A text, which is both value and title, or an object; at most " + fmt.Sprint(MaxOptions) + " for a field, each value once.", Keys: []Key{
			{Name: "value", Takes: "text", Example: `"eu"`, Doc: "What the answer holds. Required."},
			{Name: "title", Takes: "text", Example: `"Europe"`, Doc: "What people see."},
		}},
		{Name: "fields[].validation", Doc: "Which values are accepted. What a type has no row for, it does not take.", Keys: constraintKeys()},
		{Name: "fields[].rendering", Doc: "How the author would like the field to look. A renderer may ignore all of these but `readonly`, `hidden` and `conditionalDisplay`, which also decide what is accepted.", Keys: hintKeys()},
		{Name: "fields[].accessibility", Doc: "Hints for assistive technology. The pages of Answerback make their own, so that a form cannot be made unusable.", Keys: []Key{
			{Name: "ariaLabel", Takes: "text", Example: `"Name of the release"`, Doc: "A name for the field beside its label."},
			{Name: "ariaDescribedBy", Takes: "text", Example: `"more"`, Doc: "The id of an element that describes the field."},
			{Name: "tabIndex", Takes: "whole number", Example: `0`, Doc: "Its place in the order of the tab key; -1 takes it out."},
			{Name: "required", Takes: "true or false", Example: `true`, Doc: "Announced as required."},
			{Name: "invalid", Takes: "true or false", Example: `false`, Doc: "Announced as wrong."},
		}},
		{Name: "a condition", Doc: "A test over other fields, in `conditionalDisplay` and `dependencies`. It is data and not code; a field that is hidden or not filled in has no value.", Keys: []Key{
			{Name: "operator", Takes: "text", Example: `"equals"`, Doc: "One of " + names(operators) + ". Of a multi_select, `equals` and `in` ask whether a choice is among the chosen."},
			{Name: "field", Takes: "text", Example: `"name"`, Doc: "The id of the field: for `equals`, `in` and `present`."},
			{Name: "value", Takes: "text, number, true or false", Example: `"x"`, Doc: "For `equals`."},
			{Name: "values", Takes: "list of these", Example: `["x","y"]`, Doc: "For `in`."},
			{Name: "condition", Takes: "a condition", Example: `{"operator":"present","field":"name"}`, Doc: "For `not`."},
			{Name: "conditions", Takes: "list of conditions", Example: `[{"operator":"present","field":"name"}]`, Doc: "For `all` and `any`."},
		}},
	}
}

func formKeys() []Key {
	return []Key{
		{Name: "id", Takes: "text", Example: `"release"`, Doc: "Names the form. Required."},
		{Name: "title", Takes: "text", Example: `"Release details"`, Doc: "What people see first where the question has no message. Required."},
		{Name: "description", Takes: "text", Example: `"Needed to create the release."`, Doc: "Why the form is there."},
		{Name: "fields", Takes: "list", Example: `[]`, Doc: "The questions. Required; empty where a yes is all that is wanted."},
		{Name: "validation", Takes: "object", Example: `{}`, Doc: "What concerns more than one field."},
		{Name: "metadata", Takes: "object", Example: `{"team":"ops"}`, Doc: "For the author's own use."},
		{Name: "timeout", Takes: "number or object", Example: `300000`, Doc: "How long the form waits."},
		{Name: "allow_partial", Takes: "true or false", Example: `true`, Doc: "A missing required field is then no error."},
	}
}

func timeoutKeys() []Key {
	return []Key{
		{Name: "initial_timeout", Takes: "milliseconds", Example: `300000`, Doc: "How long people have to answer."},
		{Name: "warn_before", Takes: "milliseconds", Example: `60000`, Doc: "How long before the end they are warned."},
		{Name: "extension_duration", Takes: "milliseconds", Example: `300000`, Doc: "What one extension gives, from the old end on."},
		{Name: "max_extensions", Takes: "whole number", Example: `2`, Doc: "How often; 0 means never."},
		{Name: "extension_allowed", Takes: "true or false", Example: `true`, Doc: "false means never."},
	}
}

func fieldKeys() []Key {
	return []Key{
		{Name: "id", Takes: "text", Example: `"name"`, Doc: "The field's name in answers. Required, and once in a form."},
		{Name: "type", Takes: "text", Example: `"text"`, Doc: "One of " + names(fieldTypes) + ". Required."},
		{Name: "label", Takes: "text", Example: `"Name"`, Doc: "The question, short. Required."},
		{Name: "description", Takes: "text", Example: `"As it will be shown."`, Doc: "The question at length."},
		{Name: "required", Takes: "true or false", Example: `true`, Doc: "Whether it must be answered."},
		{Name: "sensitive", Takes: "true or false", Example: `true`, Doc: "A secret: kept out of logs, the audit, drafts and reports, never shown again, never sent through a client. Fields that look like a secret's (`inputType` or `displayStyle` `password`, an `autocomplete` such as `one-time-code`) are sensitive anyway."},
		{Name: "default", Takes: "a value of the type", Example: `"spring"`, Types: []Type{Text, Number, Boolean, Select, MultiSelect, URL, Date}, Doc: "What an optional field holds that was not answered. It must be acceptable itself; sensitive fields have none."},
		{Name: "options", Takes: "list", Types: []Type{Select, MultiSelect}, Example: `["x","y"]`, Doc: "The choices. Required."},
		{Name: "validation", Takes: "object", Example: `{}`, Doc: "Which values are accepted."},
		{Name: "rendering", Takes: "object", Example: `{}`, Doc: "How it would like to look."},
		{Name: "accessibility", Takes: "object", Example: `{}`, Doc: "Hints for assistive technology."},
		{Name: "dependencies", Takes: "list of text", Example: `[]`, Doc: "Ids of fields that it depends on: it is judged after them."},
	}
}

func constraintKeys() []Key {
	text, number, several := []Type{Text}, []Type{Number}, []Type{MultiSelect, File}
	return []Key{
		{Name: "minLength", Types: text, Takes: "whole number", Example: `3`, Doc: "Fewest characters."},
		{Name: "maxLength", Types: []Type{Text, URL}, Takes: "whole number", Example: `32`, Doc: fmt.Sprintf("Most characters; %d unless the operator says otherwise.", DefaultMaxLength)},
		{Name: "pattern", Types: text, Takes: "text", Example: `"^[a-z]+$"`, Doc: fmt.Sprintf("A regular expression (RE2) that the text must contain a match of; at most %d bytes. People are told the field's help text instead, so give one.", MaxPattern)},
		{Name: "format", Types: text, Takes: "text", Example: `"email"`, Doc: "One of " + names(formatNames) + "."},
		{Name: "format", Types: []Type{URL}, Takes: "text", Example: `"uri"`, Doc: "`uri`, which it is anyway."},
		{Name: "format", Types: []Type{Date}, Takes: "text", Example: `"date-time"`, Doc: "`date`, which is the default, or `date-time`, which asks for a time as well."},
		{Name: "minimum", Types: number, Takes: "number", Example: `1`, Doc: "The smallest."},
		{Name: "maximum", Types: number, Takes: "number", Example: `9`, Doc: "The largest."},
		{Name: "exclusiveMinimum", Types: number, Takes: "number", Example: `0`, Doc: "It must be larger."},
		{Name: "exclusiveMaximum", Types: number, Takes: "number", Example: `10`, Doc: "It must be smaller."},
		{Name: "multipleOf", Types: number, Takes: "number", Example: `1`, Doc: "A step: 1 for whole numbers. Reckoned in decimals, so 0.1 works."},
		{Name: "minimum", Types: []Type{Date}, Takes: "text", Example: `"2026-01-01"`, Doc: "The earliest, in the field's format."},
		{Name: "maximum", Types: []Type{Date}, Takes: "text", Example: `"2026-12-31"`, Doc: "The latest."},
		{Name: "enum", Types: []Type{Select, MultiSelect}, Takes: "list of text", Example: `["x","y"]`, Doc: "The values of `options` once more, in their order."},
		{Name: "minItems", Types: several, Takes: "whole number", Example: `1`, Doc: "Fewest choices or files."},
		{Name: "maxItems", Types: several, Takes: "whole number", Example: `2`, Doc: "Most choices or files; a file field takes one unless this or `minItems` says more."},
		{Name: "uniqueItems", Types: []Type{MultiSelect}, Takes: "`true`", Example: `true`, Doc: "True anyway."},
		{Name: "allowedSchemes", Types: []Type{URL}, Takes: "list of text", Example: `["https","http"]`, Doc: "`https` unless it says otherwise: of " + names(urlSchemes) + "."},
		{Name: "blockPrivateIPs", Types: []Type{URL}, Takes: "true or false", Example: `true`, Doc: "Addresses of private and special networks are refused, in all their spellings. false counts only where the operator allows it."},
		{Name: "blockLocalhost", Types: []Type{URL}, Takes: "true or false", Example: `true`, Doc: "The same for the machine itself."},
		{Name: "maxSize", Types: []Type{File}, Takes: "bytes", Example: `1000000`, Doc: fmt.Sprintf("The largest file; %d unless the operator says otherwise.", DefaultMaxSize)},
		{Name: "allowedMimeTypes", Types: []Type{File}, Takes: "list of text", Example: `["image/*"]`, Doc: "Judged by what the file holds, not by what it is called."},
		{Name: "allowedExtensions", Types: []Type{File}, Takes: "list of text", Example: `[".png"]`, Doc: "Ends of file names, with their dot."},
	}
}

func hintKeys() []Key {
	return []Key{
		{Name: "placeholder", Takes: "text", Example: `"spring-24"`, Doc: "An example in the empty field."},
		{Name: "helpText", Takes: "text", Example: `"Small letters and digits."`, Doc: "What stands beside the field."},
		{Name: "displayStyle", Takes: "text", Example: `"text"`, Doc: "One of " + names(displayStyles) + "."},
		{Name: "inputType", Takes: "text", Example: `"email"`, Doc: "One of " + names(inputTypes) + ". `password` makes the field sensitive."},
		{Name: "autocomplete", Takes: "text", Example: `"email"`, Doc: "What the browser may offer, as in HTML."},
		{Name: "readonly", Takes: "true or false", Example: `false`, Doc: "Shown, not to be changed: the answer is the default."},
		{Name: "hidden", Takes: "true or false", Example: `false`, Doc: "Not shown: the answer is the default."},
		{Name: "conditionalDisplay", Takes: "a condition", Example: `{"operator":"present","field":"other"}`, Doc: "Shown, required and accepted only while it holds."},
		{Name: "layout", Takes: "text", Example: `"wide"`, Doc: "How much room it would like."},
		{Name: "gridColumn", Takes: "whole number", Example: `1`, Doc: "Its column."},
		{Name: "gridRow", Takes: "whole number", Example: `1`, Doc: "Its row."},
		{Name: "breakAfter", Takes: "true or false", Example: `true`, Doc: "The next field begins a new row."},
		{Name: "rows", Takes: "whole number", Example: `4`, Doc: "Lines of a text; more than one makes it an area."},
		{Name: "step", Takes: "number", Example: `0.5`, Doc: "What one press of an arrow adds."},
		{Name: "slider", Takes: "true or false", Example: `true`, Doc: "A number as a slider."},
		{Name: "searchable", Takes: "true or false", Example: `true`, Doc: "Choices that can be searched."},
		{Name: "testButton", Takes: "true or false", Example: `true`, Doc: "Offers to look at an address. Nothing is ever fetched."},
		{Name: "acceptAttribute", Takes: "text", Example: `"image/*"`, Doc: "Which files the browser offers; what is allowed is said in `validation`."},
		{Name: "dragAndDrop", Takes: "true or false", Example: `true`, Doc: "Files can be dropped."},
		{Name: "preview", Takes: "true or false", Example: `true`, Doc: "Files are shown before they are sent."},
		{Name: "displayFormat", Takes: "text", Example: `"D.M.YYYY"`, Doc: "How a date is written."},
		{Name: "enableTime", Takes: "true or false", Example: `true`, Doc: "Would like a time; `format` decides."},
		{Name: "validationTrigger", Takes: "text", Example: `"on_blur"`, Doc: "One of " + names(triggers) + "."},
		{Name: "debounceMs", Takes: "whole number", Example: `300`, Doc: "How long to wait before checking while somebody types."},
	}
}

// names lists words as Markdown.
func names[T ~string](words []T) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = "`" + string(w) + "`"
	}
	return strings.Join(all, ", ")
}

// For reports whether fields of a type can have the key.
func (k *Key) For(t Type) bool { return k.Types == nil || slices.Contains(k.Types, t) }
