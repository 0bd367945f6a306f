package form

import (
	"encoding/json"
	"strings"
	"time"
)

// Type is what kind of answer a field takes.
type Type string

// The eight field types. The comment is the Go type of the field's value in
// [Values].
const (
	Text        Type = "text"         // string
	Number      Type = "number"       // json.Number
	Boolean     Type = "boolean"      // bool
	Select      Type = "select"       // string
	MultiSelect Type = "multi_select" // []string
	URL         Type = "url"          // string
	File        Type = "file"         // []Upload
	Date        Type = "date"         // string
)

// Definition is a form as its author writes it. It is data: [New] checks it
// and makes it ready for use.
type Definition struct {
	ID           string          // names the form; required
	Title        string          // what people see first; required
	Description  string          // why the form is there, in plain text
	Fields       []Field         // in the order in which they are asked; not nil, but empty where a yes is all that is wanted
	Validation   Rules           // what concerns more than one field
	Metadata     json.RawMessage // a JSON object for the author's own use, or nil
	Timeout      Timeouts        // how long the form waits for its answer
	AllowPartial bool            // a missing required field is then no error
}

// Field is one question of a form. It carries everything that a renderer needs
// to show it.
type Field struct {
	ID           string // the field's name in answers
	Type         Type
	Label        string // the question, short
	Description  string // the question at length
	Required     bool
	Sensitive    bool // what is typed in is kept out of logs, drafts and reports
	Default      any  // of the type that [Values] has for the field, or nil
	Options      []Option
	Constraints  Constraints
	Hints        Hints
	Access       Accessibility
	Dependencies []string // fields that this one's meaning depends on; it is judged after them
}

// Option is one choice of a select or multi_select field. A choice without a
// title is shown by its value.
type Option struct {
	Value string
	Title string
}

// Text is what people see of the choice.
func (o Option) Text() string {
	if o.Title != "" {
		return o.Title
	}
	return o.Value
}

// Help is the text that stands beside the field: its description and its
// helpText, whichever there are.
func (f *Field) Help() string {
	switch help := f.Hints.HelpText; {
	case f.Description == "" || f.Description == help:
		return help
	case help == "":
		return f.Description
	default:
		return f.Description + "\n" + help
	}
}

// DefaultStrings is the default as an HTML form or a terminal would send it:
// one string, one per choice for a multi_select, none without a default.
func (f *Field) DefaultStrings() []string { return valueStrings(f.Default) }

// Multiple reports whether the field takes several values.
func (f *Field) Multiple() bool {
	return f.Type == MultiSelect || f.Type == File && max(f.Constraints.MinItems, f.Constraints.MaxItems) > 1
}

// OptionText is what people see of an option's value.
func (f *Field) OptionText(value string) string {
	for _, o := range f.Options {
		if o.Value == value {
			return o.Text()
		}
	}
	return value
}

// titled reports whether any choice has a title of its own.
func (f *Field) titled() bool {
	for _, o := range f.Options {
		if o.Title != "" && o.Title != o.Value {
			return true
		}
	}
	return false
}

// WithTime reports whether a date field asks for a time as well.
func (f *Field) WithTime() bool { return f.Type == Date && f.Constraints.Format == "date-time" }

// Accept is the value of the HTML accept attribute of a file field: the hint
// where there is one, else what the constraints allow.
func (f *Field) Accept() string {
	if f.Hints.AcceptAttribute != "" {
		return f.Hints.AcceptAttribute
	}
	return strings.Join(append(append([]string(nil), f.Constraints.Extensions...), f.Constraints.MimeTypes...), ",")
}

// Timeouts says how long a form waits. Zero values leave the decision to
// whoever runs the form. On the wire it is a number of milliseconds, or an
// object where more than the first is said.
type Timeouts struct {
	Initial       time.Duration // initial_timeout
	WarnBefore    time.Duration // warn_before
	Extension     time.Duration // extension_duration
	MaxExtensions int           // max_extensions
	NoExtension   bool          // extension_allowed: false
}

// Constraints says which values a field accepts. Zero values constrain
// nothing; which constraints a field may have depends on its type.
type Constraints struct {
	// text; MaxLength and Format also url; Format also date
	MinLength int    // characters
	MaxLength int    // characters
	Pattern   string // a regular expression that the text must contain a match of (RE2 syntax)
	Format    string // see [Formats]

	// number
	Minimum          json.Number
	Maximum          json.Number
	ExclusiveMinimum json.Number
	ExclusiveMaximum json.Number
	MultipleOf       json.Number

	// date: minimum and maximum on the wire
	Earliest string
	Latest   string

	// multi_select and file; a file field takes one file unless one of
	// these says more
	MinItems int
	MaxItems int

	// url: addresses are kept off private networks unless both the
	// definition and the operator say otherwise
	Schemes        []string // "https" when empty
	AllowPrivate   bool     // blockPrivateIPs: false
	AllowLocalhost bool     // blockLocalhost: false

	// file
	MaxSize    int64    // bytes
	MimeTypes  []string // allowedMimeTypes; "image/*" is understood
	Extensions []string // allowedExtensions, with their dot
}

// Hints says how an author would like a field to look. A renderer may ignore
// any of them, except ReadOnly and Hidden, which also bind the answer to the
// default.
type Hints struct {
	Placeholder     string
	HelpText        string
	DisplayStyle    string
	InputType       string
	Autocomplete    string
	ReadOnly        bool
	Hidden          bool
	GridColumn      int // how many columns it spans
	GridRow         int // how many rows it spans
	BreakAfter      bool
	Rows            int
	Step            json.Number
	Searchable      bool
	TestButton      bool // a link that opens the address in the person's browser; nothing is ever fetched
	AcceptAttribute string
	DragAndDrop     bool
	Preview         bool
	DisplayFormat   string
	EnableTime      bool       // a date field without a format asks for a time as well
	Condition       *Condition // conditionalDisplay: the field is shown while this holds
	Trigger         string     // validationTrigger
	DebounceMS      int
}

// Accessibility holds the hints for assistive technology.
type Accessibility struct {
	Label       string // ariaLabel
	DescribedBy string // ariaDescribedBy
	TabIndex    int
	Required    bool
	Invalid     bool
}

// Rules is what a definition says about more than one field.
type Rules struct {
	Dependencies []Rule   // at most one for a field
	Validators   []string // custom_validators: names that the [Compiler] knows
}
