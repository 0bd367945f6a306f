package form

import (
	"crypto/sha256"
	"regexp"
	"slices"
)

// Limits on what a definition may hold, so that a hostile one costs little.
const (
	MaxDefinition    = 1 << 20 // bytes of a definition
	MaxAnswer        = 4 << 20 // bytes of a JSON answer
	MaxFields        = 500
	MaxOptions       = 2000   // of one field
	MaxPattern       = 1000   // bytes
	MaxPatterns      = 10_000 // instructions of all patterns together
	DefaultMaxLength = 100_000
	DefaultMaxSize   = 10 << 20 // bytes of an uploaded file
)

// Compiler makes definitions ready for use. Its fields are what the program
// that runs the forms decides, and authors cannot. The zero Compiler is ready
// and is what [Parse], [New] and [FromRequested] use. A Compiler must not be
// changed while it is in use.
type Compiler struct {
	// Validators are the custom validators that definitions can name.
	Validators map[string]Validator

	// MaxLength bounds texts whose definition sets no maxLength;
	// DefaultMaxLength when 0. Longer ones cannot be allowed by a definition.
	MaxLength int

	// MaxSize bounds files whose definition sets no maxSize;
	// DefaultMaxSize when 0. Larger ones cannot be allowed by a definition.
	MaxSize int64

	// ToASCII turns an international host name into its ASCII form, as
	// idna.Lookup.ToASCII of golang.org/x/net does. Without it url fields take
	// ASCII names only.
	ToASCII func(host string) (string, error)

	// InsecureAllowPrivateURLs lets a definition switch blockPrivateIPs and
	// blockLocalhost off for its url fields.
	InsecureAllowPrivateURLs bool
}

// Validator checks what no constraint can say. It is given the values that
// are acceptable so far, which it must not change; any field may be missing.
// It may be called by several goroutines at once.
type Validator func(Values) []Fault

// Fault is an objection of a [Validator].
type Fault struct {
	Field    string // the field to show it at, or ""
	Message  string // a sentence for people; it must not repeat sensitive values
	Expected any
}

// Form is a definition made ready for use.
type Form struct {
	def        Definition
	fields     []field
	index      map[string]int
	order      []int // the fields, each after those it depends on
	validators []Validator
	schema     []byte
	digest     [sha256.Size]byte
}

// field is a Field with what was computed from it.
type field struct {
	*Field
	at       int
	path     []string
	pattern  *regexp.Regexp
	cost     int // instructions of the pattern
	options  map[string]bool
	expected []string // the values of the options, for reports
	min, max *decimal // inclusive
	above    *decimal // exclusive minimum
	below    *decimal // exclusive maximum
	step     *decimal
	url      URLRules
	longest  int // the longest text
	largest  int64
	rules    []rule
}

// rule is a Rule made ready.
type rule struct {
	action Action
	when   predicate
}

// New checks a definition and makes it ready for use. It keeps the
// definition, which must not be changed afterwards. The error is a
// [*DefinitionError].
func (c *Compiler) New(def Definition) (*Form, error) {
	var p problems
	f := c.compile(def, &p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// New is [Compiler.New] of the zero Compiler.
func New(def Definition) (*Form, error) { return new(Compiler).New(def) }

// Parse reads a definition from JSON and makes it ready for use. Keys that
// the language does not have are refused. The error is a [*DefinitionError].
func (c *Compiler) Parse(raw []byte) (*Form, error) {
	var p problems
	def, ok := parseDefinition(raw, &p)
	if !ok {
		return nil, p.err()
	}
	// A definition that was not read in full is checked all the same, so
	// that its author sees all problems at once.
	f := c.compile(def, &p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// Parse is [Compiler.Parse] of the zero Compiler.
func Parse(raw []byte) (*Form, error) { return new(Compiler).Parse(raw) }

// Definition is what the form was made from. It must not be changed.
func (f *Form) Definition() *Definition { return &f.def }

// Fields are the form's fields in their order. They must not be changed.
func (f *Form) Fields() []Field { return f.def.Fields }

// Field finds a field by its id.
func (f *Form) Field(id string) (*Field, bool) {
	at, ok := f.index[id]
	if !ok {
		return nil, false
	}
	return f.fields[at].Field, true
}

// Sensitive reports whether any field of the form is sensitive.
func (f *Form) Sensitive() bool {
	return slices.ContainsFunc(f.fields, func(f field) bool { return f.Sensitive })
}

// Rules are the rules of one field, its conditionalDisplay included.
func (f *Form) Rules(id string) []Rule {
	at, ok := f.index[id]
	if !ok {
		return nil
	}
	var rules []Rule
	if c := f.fields[at].Hints.Condition; c != nil {
		rules = append(rules, Rule{id, *c, Show})
	}
	for _, r := range f.def.Validation.Dependencies {
		if r.Field == id {
			rules = append(rules, r)
		}
	}
	return rules
}

// Schema is the form as JSON Schema 2020-12, members in the order of the
// fields. It must not be changed. It describes the values that the form
// accepts, as [Form.Encode] writes them: strings read and defaults filled in.
// Not everything that a form demands can be
// said in a schema: addresses, sizes of files, ranges of dates (which are
// there as formatMinimum and formatMaximum) and custom validators are checked
// by the form alone.
func (f *Form) Schema() []byte { return f.schema }

// Digest identifies what the form asks for: the SHA-256 of its definition in
// canonical form.
func (f *Form) Digest() [sha256.Size]byte { return f.digest }
