package catalog

import "github.com/answerback/answerback/internal/wire"

// Part is what one backend gives to a joined list. No two parts of a list have
// the same backend.
type Part struct {
	Backend string
	View    *View  // nil where the backend cannot be listed at the moment
	Filter  Filter // which of its tools are offered; other lists are not filtered
}

// offers reports whether the filter lets an item of this name through.
func (p *Part) offers(l List, name string) bool { return l != Tools || p.Filter.Allows(name) }

// PageOptions say which page of a joined list is wanted, and how.
type PageOptions struct {
	Prefix bool   // names become "backend__name"
	Cursor string // as an earlier page gave it, "" for the first page
	Size   int    // most items of a page, 0 for DefaultPageSize
}

// DefaultPageSize is large because many clients never ask for a second page.
const DefaultPageSize = 1000

// maxPageBytes ends a page early; a page has at least one item.
const maxPageBytes = 4 << 20

// Hidden is an item that is left out because an earlier backend has another of
// the same name or URI.
type Hidden struct {
	Backend, Name string
	By            string // the earlier backend
}

// entry is an item of a joined list.
type entry struct {
	backend string
	*item
}

// Page gives one page of the joined list as a raw result object, such as
// `{"tools":[...],"nextCursor":"..."}`, and all that is hidden in the list.
//
// The order is that of the parts, and within a part that of its backend. With
// Prefix set the names of tools and prompts are prefixed; without it, and for
// URIs always, an item that an earlier part has already is hidden. All else in
// an item stays byte for byte.
//
// A cursor outlives items that come and go, as long as one of the two items on
// both sides of the cut is there: no item is given twice. The order of a backend
// that shuffles its list is not kept. The error for a cursor that leads nowhere
// is an *ask.Error with the code UnknownName.
func Page(l List, parts []Part, opt PageOptions) (result []byte, hidden []Hidden, err error) {
	entries, hidden := join(l, parts, opt.Prefix)
	start, err := resume(l, entries, opt.Cursor)
	if err != nil {
		return nil, nil, err
	}
	size := opt.Size
	if size <= 0 {
		size = DefaultPageSize
	}
	prefix := opt.Prefix && l.named()
	out := append([]byte(`{"`), l.Member()...)
	out = append(out, `":[`...)
	end := start
	for end < len(entries) && end-start < size && (end == start || len(out)+len(entries[end].raw) <= maxPageBytes) {
		if end > start {
			out = append(out, ',')
		}
		out = appendItem(out, entries[end], prefix)
		end++
	}
	out = append(out, ']')
	if end < len(entries) {
		out = append(out, `,"nextCursor":`...)
		out = wire.AppendString(out, cursor(l, entries[end-1], entries[end]))
	}
	return append(out, '}'), hidden, nil
}

// join lists what is visible of all parts.
func join(l List, parts []Part, prefix bool) (entries []entry, hidden []Hidden) {
	var owner map[string]string
	if len(parts) > 1 && !(prefix && l.named()) {
		owner = make(map[string]string)
	}
	for _, part := range parts {
		if part.View == nil {
			continue
		}
		for i := range part.View.items {
			it := &part.View.items[i]
			if !part.offers(l, it.key) {
				continue
			}
			if by, taken := owner[it.key]; taken {
				hidden = append(hidden, Hidden{Backend: part.Backend, Name: it.key, By: by})
				continue
			}
			if owner != nil {
				owner[it.key] = part.Backend
			}
			entries = append(entries, entry{part.Backend, it})
		}
	}
	return entries, hidden
}

// appendItem writes the prefix into the name's own token, so that even the
// spelling of the name stays as it is.
func appendItem(dst []byte, e entry, prefix bool) []byte {
	if !prefix {
		return append(dst, e.raw...)
	}
	quote := e.at.Start + 1
	return wire.Splice(dst, e.raw, wire.Edit{
		Span: wire.Span{Start: quote, End: quote},
		With: []byte(Join(e.backend, "")),
	})
}
