package catalog

import (
	"fmt"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// Limits of one view. A backend that goes beyond them is broken, and is told so
// rather than cut short: half a list would look like a whole one.
const (
	MaxItems     = 10_000   // items of a list
	MaxTemplates = 1_000    // items of Templates, each of which may have to be matched
	MaxBytes     = 32 << 20 // all pages together
	MaxPages     = 100
)

// View is one backend's list as one kind of caller sees it, in the backend's
// order. It is immutable and safe for concurrent use.
type View struct {
	list      List
	items     []item
	index     map[string]int // key of an item to its place
	templates []template     // one for each item of Templates
	size      int
}

// item is one element of a list.
type item struct {
	raw []byte
	key string    // name, uri or uriTemplate
	at  wire.Span // the key's token in raw
}

// NewView makes a view of all pages of a list, each the raw result object of a
// response. The pages are kept, not copied, and must not change afterwards.
//
// Members that are not known are no obstacle. An item without a name (or uri)
// is left out, and so is one that spells it twice, which two readers could take
// for two different items; of several items with one name the first is kept.
// An error is an *ask.Error with the code BackendBroken.
func NewView(backend string, l List, pages ...[]byte) (*View, error) {
	b := newBuilder(backend, l)
	for _, page := range pages {
		if _, err := b.add(page); err != nil {
			return nil, err
		}
	}
	return b.view, nil
}

// Len is the number of items.
func (v *View) Len() int { return len(v.items) }

// Size is about how many bytes the view keeps in memory.
func (v *View) Size() int { return v.size }

// Has reports whether the list has an item of this name, URI or URI template.
func (v *View) Has(name string) bool {
	_, ok := v.index[name]
	return ok
}

// Item is the raw item of this name, URI or URI template, nil where there is
// none. The bytes must not be changed.
func (v *View) Item(name string) []byte {
	i, ok := v.index[name]
	if !ok {
		return nil
	}
	return v.items[i].raw
}

// Match reports whether one of the list's URI templates could have made the
// URI. It is false for every list but Templates. See template for what matches.
func (v *View) Match(uri string) bool {
	_, ok := v.match(uri)
	return ok
}

// match gives the number of literal characters of the template that has most of
// those that match: a catch-all takes nothing from a template that is meant.
func (v *View) match(uri string) (literals int, ok bool) {
	var m matcher
	for i := range v.templates {
		t := &v.templates[i]
		if (!ok || t.literals > literals) && m.matches(t, uri) {
			literals, ok = t.literals, true
		}
	}
	return literals, ok
}

// builder makes a view page by page.
type builder struct {
	backend string
	limit   int
	view    *View
}

func newBuilder(backend string, l List) *builder {
	limit := MaxItems
	if l == Templates {
		limit = MaxTemplates
	}
	return &builder{
		backend: backend,
		limit:   limit,
		view:    &View{list: l, index: make(map[string]int)},
	}
}

// add takes the items of a page and gives the token of its next cursor, nil
// where there is no further page.
func (b *builder) add(page []byte) (next []byte, err error) {
	l := b.view.list
	b.view.size += len(page)
	if b.view.size > MaxBytes {
		return nil, b.broken(fmt.Sprintf("is larger than %d MiB", MaxBytes>>20), nil)
	}
	result, err := wire.Value(page)
	if err != nil {
		return nil, b.broken("is not JSON", err)
	}
	if page[result.Start] != '{' {
		return nil, b.broken("is not an object", nil)
	}
	array, ok := only(page, result, l.Member())
	if !ok {
		return nil, b.broken("has two members "+l.Member(), nil)
	}
	cursor, ok := only(page, result, "nextCursor")
	if !ok {
		return nil, b.broken("has two members nextCursor", nil)
	}
	// Some servers write null for an empty list.
	if token := array.Of(page); len(token) > 0 && token[0] != '[' && token[0] != 'n' {
		return nil, b.broken("has "+l.Member()+" that are not an array", nil)
	}
	for span := range wire.Elements(page, array) {
		if err := b.item(span.Of(page)); err != nil {
			return nil, err
		}
	}
	switch token := cursor.Of(page); {
	case len(token) == 0 || token[0] == 'n':
		return nil, nil
	case token[0] != '"':
		return nil, b.broken("has a nextCursor that is not a string", nil)
	default:
		return token, nil
	}
}

func (b *builder) item(raw []byte) error {
	v := b.view
	at, ok := only(raw, wire.Whole(raw), v.list.key())
	if !ok {
		return nil
	}
	key, ok := wire.Unquote(at.Of(raw))
	if !ok || key == "" || v.Has(key) {
		return nil
	}
	if len(v.items) == b.limit {
		return b.broken(fmt.Sprintf("has more than %d items", b.limit), nil)
	}
	v.index[key] = len(v.items)
	v.items = append(v.items, item{raw: raw, key: key, at: at})
	if v.list == Templates {
		v.templates = append(v.templates, parseTemplate(key))
	}
	v.size += len(key) + itemOverhead
	return nil
}

// itemOverhead is about what an item costs in memory beside its bytes.
const itemOverhead = 128

func (b *builder) broken(what string, cause error) *ask.Error {
	return ask.Wrap(ask.BackendBroken, fmt.Sprintf("The %s result of backend %s cannot be used: it %s.",
		b.view.list.Method(), b.backend, what), cause)
}

// only is the value of an object's member, zero where it has none; not ok where
// it is there more than once in a spelling that some reader takes for the same.
func only(raw []byte, obj wire.Span, key string) (value wire.Span, ok bool) {
	for m := range wire.Members(raw, obj) {
		name, valid := wire.Unquote(m.Key.Of(raw))
		if !valid || !strings.EqualFold(name, key) {
			continue
		}
		if name != key || !value.IsZero() {
			return wire.Span{}, false
		}
		value = m.Value
	}
	return value, true
}
