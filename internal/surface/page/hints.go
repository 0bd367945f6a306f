package page

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/answerback/answerback/form"
)

// How the choices of a field are drawn, as classes of the stylesheet. Whatever
// they look like, they are checkboxes and radio buttons.
const (
	styleSwitch  = "switch"
	styleSegment = "seg"
	styleChips   = "chips"
	styleFold    = "fold" // folded up until it is opened
)

// The grid that gridColumn and gridRow count in. The stylesheet has a class for
// each span, and makes it one column on a phone.
const (
	gridColumns = 4
	gridRows    = 6
)

const maxDebounce = 10_000 // milliseconds

// kindOf is how a field is drawn. A display style that the type does not have
// changes nothing.
func kindOf(fd *form.Field) string {
	h := &fd.Hints
	switch {
	case h.Hidden:
		return kindHidden
	case h.ReadOnly:
		return kindFixed
	}
	switch fd.Type {
	case form.Boolean:
		if h.DisplayStyle == "radio" || h.DisplayStyle == "segmented" {
			return kindRadio
		}
		return kindCheck
	case form.File:
		return kindFile
	case form.MultiSelect:
		return kindChecks
	case form.Select:
		return selectKind(fd)
	case form.Date:
		if fd.WithTime() {
			return kindDateTime
		}
		return kindDate
	}
	switch {
	case fd.Sensitive && h.Rows <= 1:
		return kindSecret
	case fd.Type == form.Number:
		return kindNumber
	case fd.Type == form.URL:
		return kindText
	case longer(fd):
		return kindArea
	}
	switch nativeType(fd) {
	case "date":
		return kindDate
	case "time":
		return kindTime
	case "datetime-local":
		return kindDateTime
	}
	return kindText
}

func selectKind(fd *form.Field) string {
	few := len(fd.Options) <= fewOptions
	switch style := fd.Hints.DisplayStyle; {
	case style == "radio", style == "segmented" && few:
		return kindRadio
	case style == "dropdown", fd.Hints.Searchable, !few:
		return kindSelect
	}
	return kindRadio
}

// longer reports whether a text field gets several lines.
func longer(fd *form.Field) bool {
	h := &fd.Hints
	if h.Rows > 1 || strings.Contains(strings.Join(fd.DefaultStrings(), ""), "\n") { // one line would lose the others
		return true
	}
	oneLine := h.InputType != "" || h.DisplayStyle == "text" || h.DisplayStyle == "email" || h.DisplayStyle == "tel"
	return !oneLine && fd.Constraints.Format == "" && fd.Constraints.MaxLength > longText
}

// styleOf is the class of a field's choices.
func styleOf(fd *form.Field, kind string) string {
	switch style := fd.Hints.DisplayStyle; {
	case kind == kindCheck && style == "toggle":
		return styleSwitch
	case kind == kindRadio && style == "segmented":
		return styleSegment
	case kind == kindChecks && style == "chips":
		return styleChips
	case kind == kindChecks && style == "multiselect_dropdown":
		return styleFold
	}
	return ""
}

// nativeType is the type of the input element that the hints ask for. The type
// of a text field with a format is the format's, so that what the browser sends
// is what the form takes.
func nativeType(fd *form.Field) string {
	wish := fd.Hints.InputType
	if wish == "" && (fd.Hints.DisplayStyle == "email" || fd.Hints.DisplayStyle == "tel") {
		wish = fd.Hints.DisplayStyle
	}
	format := fd.Constraints.Format
	switch {
	case fd.Type == form.Number && (wish == "number" || fd.Hints.Step != ""):
		return "number"
	case fd.Type == form.URL && wish == "url":
		return "url"
	case fd.Type != form.Text:
		return "text"
	}
	switch wish {
	case "email", "tel", "url":
		return wish
	case "date":
		if format == "" || format == "date" {
			return "date"
		}
	case "time":
		if format == "" || format == "time" {
			return "time"
		}
	case "datetime_local":
		if format == "" || format == "date-time" {
			return "datetime-local"
		}
	}
	return "text"
}

// completed reports whether a browser's control for times sends less than the
// format of the field wants: it has no offset, and may have no seconds. What is
// missing is UTC.
func completed(fd *form.Field) bool {
	return fd.WithTime() || fd.Type == form.Text && (fd.Constraints.Format == "date-time" && nativeType(fd) == "datetime-local" ||
		fd.Constraints.Format == "time" && nativeType(fd) == "time")
}

var (
	shortTime = regexp.MustCompile(`(^|T)\d\d:\d\d$`)
	fullTime  = regexp.MustCompile(`(^|T)\d\d:\d\d:\d\d(\.\d+)?$`)
)

// complete adds what a browser's control for times leaves out.
func complete(s string) string {
	switch {
	case shortTime.MatchString(s):
		return s + ":00Z"
	case fullTime.MatchString(s):
		return s + "Z"
	}
	return s
}

// keeps are the values that native controls show. They drop all others, and
// with them what a person typed; such a value is shown in a plain text field.
var keeps = map[string]*regexp.Regexp{
	"number":         regexp.MustCompile(`^-?(\d{1,15}(\.\d+)?|\.\d+)([eE][+-]?\d{1,2})?$`),
	"date":           regexp.MustCompile(`^[1-9]\d{3}-\d\d-\d\d$`),
	"time":           regexp.MustCompile(`^\d\d:\d\d(:\d\d(\.\d{1,3})?)?$`),
	"datetime-local": regexp.MustCompile(`^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$`),
	"email":          regexp.MustCompile(`^\S*$`),
	"url":            regexp.MustCompile(`^\S*$`),
}

// slider is the range of a slider, as its element takes it.
type slider struct {
	Min  string `json:"min"`
	Max  string `json:"max"`
	Step string `json:"step"`
}

// sliderOf gives the slider of a number field that asks for one and has two
// limits, else nil. It begins at a value that multipleOf allows, because a
// slider counts its steps from its beginning.
func sliderOf(fd *form.Field) *slider {
	c := &fd.Constraints
	low, okLow := rational(string(c.Minimum))
	high, okHigh := rational(string(c.Maximum))
	if fd.Type != form.Number || fd.Hints.DisplayStyle != "slider" || fd.Sensitive || !okLow || !okHigh || low.Cmp(high) >= 0 {
		return nil
	}
	multiple, limited := rational(string(c.MultipleOf))
	step, given := rational(string(fd.Hints.Step))
	if !given {
		if step = multiple; !limited {
			step = new(big.Rat).Sub(high, low)
			if step.Cmp(big.NewRat(10, 1)) >= 0 && low.IsInt() && high.IsInt() {
				step = big.NewRat(1, 1)
			} else {
				step.Mul(step, big.NewRat(1, 100))
			}
		}
	}
	if limited {
		n := new(big.Rat).Quo(low, multiple)
		ceil := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(n.Num()), n.Denom()))
		low = new(big.Rat).Mul(new(big.Rat).SetInt(ceil), multiple)
	}
	return &slider{decimalText(low), decimalText(high), decimalText(step)}
}

// rational reads a number of a size that a slider can have.
func rational(s string) (*big.Rat, bool) {
	if f, err := strconv.ParseFloat(s, 64); err != nil || f > 1e15 || f < -1e15 || f != 0 && f < 1e-9 && f > -1e-9 || len(s) > 40 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

func decimalText(r *big.Rat) string {
	s := r.FloatString(12)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// cell is the class of a field's place in the grid: "" for the whole width.
func cell(fd *form.Field) string {
	var classes []string
	if n := fd.Hints.GridColumn; n > 0 && n < gridColumns {
		classes = append(classes, "col-"+strconv.Itoa(n))
	}
	if n := min(fd.Hints.GridRow, gridRows); n > 1 {
		classes = append(classes, "row-"+strconv.Itoa(n))
	}
	return strings.Join(classes, " ")
}

// spoken is what a screen reader adds to the label of a field. The label stays
// part of the name, so that people who say what they see reach the field (WCAG
// 2.5.3).
func spoken(label, ariaLabel string) string {
	added := line(ariaLabel, maxLabel)
	if len(added) < len(label) || !strings.EqualFold(added[:len(label)], label) {
		return added
	}
	rest := added[len(label):]
	if first, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(first) || unicode.IsDigit(first) {
		return added
	}
	return strings.TrimSpace(rest)
}

// related are the places of the fields whose help describes a field as well:
// ariaDescribedBy names fields of the form by their ids.
func related(f *form.Form, fd *form.Field) []int {
	var places []int
	for _, id := range strings.Fields(fd.Access.DescribedBy) {
		at := slices.IndexFunc(f.Fields(), func(o form.Field) bool { return o.ID == id })
		if at >= 0 && f.Fields()[at].ID != fd.ID && !f.Fields()[at].Hints.Hidden && !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	return places
}

// Tokens of the HTML autocomplete attribute. A token that is not here is not
// passed on.
var (
	autoGroups   = []string{"shipping", "billing"}
	autoContacts = []string{"home", "work", "mobile", "fax", "pager"}
	autoNames    = []string{
		"name", "honorific-prefix", "given-name", "additional-name", "family-name", "honorific-suffix", "nickname", "username",
		"organization-title", "organization", "street-address", "address-line1", "address-line2", "address-line3",
		"address-level4", "address-level3", "address-level2", "address-level1", "country", "country-name", "postal-code",
		"transaction-currency", "transaction-amount", "language", "bday", "bday-day", "bday-month", "bday-year", "sex", "url", "photo",
	}
	autoReach = []string{
		"tel", "tel-country-code", "tel-national", "tel-area-code", "tel-local", "tel-local-prefix", "tel-local-suffix", "tel-extension", "email", "impp",
	}
	// A browser has a password or a card for the site of the page, which is the
	// gateway and not the server that asks. Codes and new passwords are made
	// for the occasion.
	autoSecrets = []string{"new-password", "one-time-code"}
)

// autocomplete is the value of a field's autocomplete attribute: what its
// definition says where that is known to HTML.
func autocomplete(fd *form.Field, mode string) string {
	tokens := strings.Fields(strings.ToLower(fd.Hints.Autocomplete))
	if fd.Sensitive {
		if len(tokens) == 1 && slices.Contains(autoSecrets, tokens[0]) {
			return tokens[0]
		}
		return "off"
	}
	if auto := known(tokens); auto != "" {
		return auto
	}
	switch {
	case fd.Type == form.Number:
		return "off"
	case mode == "email" || mode == "url" || mode == "tel":
		return mode
	}
	return ""
}

// known gives the tokens as one text where HTML has them in this order, else
// "".
func known(tokens []string) string {
	rest := tokens
	switch {
	case len(rest) == 0:
		return ""
	case len(rest) == 1 && (rest[0] == "on" || rest[0] == "off"):
		return rest[0]
	}
	if slices.Contains(autoGroups, rest[0]) {
		rest = rest[1:]
	}
	contact := len(rest) > 0 && slices.Contains(autoContacts, rest[0])
	if contact {
		rest = rest[1:]
	}
	if len(rest) != 1 || !slices.Contains(autoReach, rest[0]) && (contact || !slices.Contains(autoNames, rest[0])) {
		return ""
	}
	return strings.Join(tokens, " ")
}
