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
		{Name: "fields[].rendering", Doc: "How the author would like the field to look. The pages of Answerback do what this table says, and ignore a hint that the type has no row for; another renderer may ignore all of these but `readonly`, `hidden` and `conditionalDisplay`, which also decide what is accepted.", Keys: hintKeys()},
		{Name: "fields[].accessibility", Doc: "Hints for assistive technology. The pages add them to what they say themselves, and take nothing away, so that a form cannot be made unusable.", Keys: accessKeys()},
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
	typed, choices := []Type{Text, Number, URL}, []Type{Select, MultiSelect}
	return []Key{
		{Name: "placeholder", Types: []Type{Text, Number, URL, Select}, Takes: "text", Example: `"spring-24"`, Doc: "An example in the empty field; of a dropdown, the words of its empty choice. Other controls have no room for one."},
		{Name: "helpText", Takes: "text", Example: `"Small letters and digits."`, Doc: "The help between the label and the field."},
		{Name: "displayStyle", Types: []Type{Text}, Takes: "text", Example: `"email"`, Doc: "`text` (one line), `email`, `tel` or `password`, as in `inputType`."},
		{Name: "displayStyle", Types: []Type{Number}, Takes: "text", Example: `"slider"`, Doc: "`slider`: a slider beside the number, for a field with `minimum` and `maximum`. Without a script the number stands alone, because a native slider does not show its value."},
		{Name: "displayStyle", Types: []Type{Boolean}, Takes: "text", Example: `"toggle"`, Doc: "`checkbox`, `toggle` (a switch) or `radio` (Yes and No, neither of them chosen unless there is a default)."},
		{Name: "displayStyle", Types: []Type{Select}, Takes: "text", Example: `"segmented"`, Doc: "`dropdown`, `radio` or `segmented`. Without it, up to seven choices are radio buttons and more are a dropdown; more than seven segments are a dropdown as well."},
		{Name: "displayStyle", Types: []Type{MultiSelect}, Takes: "text", Example: `"chips"`, Doc: "`checkbox`, `multiselect_dropdown` (checkboxes that unfold; with a script, the folded field says what is chosen) or `chips`."},
		{Name: "inputType", Types: typed, Takes: "text", Example: `"email"`, Doc: "One of " + names(inputTypes) + ", each the HTML type of that name for a text field. `number` gives a text field the keyboard for numbers, and a number field arrow buttons. `date`, `time` and `datetime_local` need a text field without a `format`, or with the one that fits. `password` makes the field sensitive."},
		{Name: "autocomplete", Takes: "text", Example: `"email"`, Doc: "What the browser may offer: a value of the HTML attribute, such as `given-name` or `work email`. Unknown tokens are dropped. Of a sensitive field only `one-time-code` and `new-password` are passed on, because a browser would offer the passwords and cards that it keeps for the gateway."},
		{Name: "readonly", Takes: "true or false", Types: []Type{Text, Number, Boolean, Select, MultiSelect, URL, Date}, Example: `false`, Doc: "Shown as text, not to be changed: the answer is the default."},
		{Name: "hidden", Takes: "true or false", Types: []Type{Text, Number, Boolean, Select, MultiSelect, URL, Date}, Example: `false`, Doc: "Not shown: the answer is the default."},
		{Name: "conditionalDisplay", Takes: "a condition", Example: `{"operator":"present","field":"other"}`, Doc: "Shown, required and accepted only while it holds. Without a script the field stands there, with the condition in words."},
		{Name: "gridColumn", Takes: "whole number", Example: `2`, Doc: "How many columns the field spans, of four; 4 and more are the whole width, which is also the default. A phone has one column."},
		{Name: "gridRow", Takes: "whole number", Example: `2`, Doc: "How many rows the field spans, at most six. A phone ignores it."},
		{Name: "breakAfter", Takes: "true or false", Example: `true`, Doc: "The next field begins a new row."},
		{Name: "rows", Types: []Type{Text}, Takes: "whole number", Example: `4`, Doc: "Lines of a text; more than one makes it a text area, of at most 20."},
		{Name: "step", Types: []Type{Number}, Takes: "number", Example: `0.5`, Doc: "What one press of an arrow, or one step of a slider, adds. What is accepted is said by `multipleOf`."},
		{Name: "searchable", Types: choices, Takes: "true or false", Example: `true`, Doc: "A search field above the choices. It needs a script; without one, a dropdown has the search that the browser has in it."},
		{Name: "testButton", Types: []Type{URL}, Takes: "true or false", Example: `true`, Doc: "A link that opens the address in a new tab of the person's browser. The gateway requests nothing. Without a script, the link is there for a default and after a mistake, because only a script sees what is being typed."},
		{Name: "acceptAttribute", Types: []Type{File}, Takes: "text", Example: `"image/*"`, Doc: "Which files the browser offers; what is accepted is said in `validation`."},
		{Name: "dragAndDrop", Types: []Type{File}, Takes: "true or false", Example: `true`, Doc: "A large area to drop files on."},
		{Name: "preview", Types: []Type{File}, Takes: "true or false", Example: `true`, Doc: "Images and texts are shown when they are chosen. It needs a script: the browser draws them on a canvas, so that the content security policy of the pages need not allow more images."},
		{Name: "displayFormat", Types: []Type{Date}, Takes: "text", Example: `"D.M.YYYY"`, Doc: "How the date is written below its field, and in a `readonly` field; the browser decides how it is typed. Made of `YYYY`, `YY`, `MMMM`, `MMM`, `MM`, `M`, `DD`, `D`, `HH`, `H`, `mm`, `ss`."},
		{Name: "enableTime", Types: []Type{Date}, Takes: "true or false", Example: `true`, Doc: "Asks for a time as well: `format` is then `date-time`, unless the field has a `format`. `inputType: datetime_local` does the same."},
		{Name: "validationTrigger", Takes: "text", Example: `"on_blur"`, Doc: "When the page says what is wrong: `on_change` (while it is typed), `on_blur` (when it is left) or `on_submit`. Without it, when a changed field is left. It needs a script; without one, the answer to a submission says it."},
		{Name: "debounceMs", Takes: "whole number", Example: `300`, Doc: "With `on_change`: for how many milliseconds the typing must have paused; 300 unless it says otherwise, at most 10000."},
	}
}

func accessKeys() []Key {
	return []Key{
		{Name: "ariaLabel", Takes: "text", Example: `"Name of the release"`, Doc: "What a screen reader says after the label. The label stays part of the name, so that people who speak to their computer reach the field (WCAG 2.5.3)."},
		{Name: "ariaDescribedBy", Takes: "text", Example: `"other"`, Doc: "Ids of other fields, with spaces between them, whose help describes this field as well; their label, where they have no help. Other ids name nothing on the page and are ignored."},
		{Name: "tabIndex", Takes: "whole number", Example: `0`, Doc: "Ignored: another order than that of the page, or a field that the tab key does not reach, fails WCAG 2.4.3 and 2.1.1. Put the fields into the order in which they are to be answered."},
		{Name: "required", Takes: "true or false", Example: `true`, Doc: "Announced as required and not marked as optional. Whether an empty answer is accepted is said by the field's own `required`."},
		{Name: "invalid", Takes: "true or false", Example: `false`, Doc: "Marked and announced as wrong until it is changed, for a server that asks again."},
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
