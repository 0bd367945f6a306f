package wire

// Edit replaces the bytes of a span. An empty span, which may stand anywhere,
// inserts before the byte at its Start.
type Edit struct {
	Span Span
	With []byte
}

// Splice appends raw to dst with the edits made; all other bytes stay as they
// are. The edits are sorted and do not overlap, or Splice panics: that is a
// fault of the program, never of a message. Insertions at one place are made
// in their order. Nothing of raw or the edits is kept.
func Splice(dst, raw []byte, edits ...Edit) []byte {
	at := 0
	for _, e := range edits {
		start, end := int(e.Span.Start), int(e.Span.End)
		if start < at || end < start || end > len(raw) {
			panic("wire: edits out of order, overlapping or outside of the message")
		}
		dst = append(dst, raw[at:start]...)
		dst = append(dst, e.With...)
		at = end
	}
	return append(dst, raw[at:]...)
}

// Set returns the edit that gives the object at obj the member key: it
// replaces the value at old, or inserts the member at the front when old is
// zero. A null at obj counts as an object without members; with anything else
// there Set panics, for Scan has refused it.
//
// To make more than one change to the members of one object, use Amend: edits
// that were made one by one do not know of each other's commas.
func Set(raw []byte, obj, old Span, key string, value []byte) Edit {
	if !old.IsZero() {
		return Edit{old, value}
	}
	return insert(raw, obj, appendMember(nil, key, value), !isEmpty(raw, obj))
}

// Drop returns the edit that removes the member whose value is at value from
// the object at obj, with its comma. It changes nothing when there is no such
// member. For more than one change to an object, see Set.
func Drop(raw []byte, obj, value Span) Edit {
	for _, e := range Amend(raw, obj, Change{Old: value}) {
		return e
	}
	return Edit{Span: Span{obj.Start, obj.Start}}
}

// Change is one change to the members of an object: a new value for the one
// whose value is at Old, its removal when Value is nil, or a new member Key
// when Old is zero.
type Change struct {
	Old   Span
	Key   string
	Value []byte
}

// Amend returns the edits, sorted, that make several changes to the members of
// the object at obj. New members are put at the front, in their order. A null
// at obj counts as an object without members, as for Set; an Old that is no
// member of the object is passed over.
func Amend(raw []byte, obj Span, changes ...Change) []Edit {
	var added []byte
	for _, c := range changes {
		if c.Old.IsZero() && c.Value != nil {
			if len(added) > 0 {
				added = append(added, ',')
			}
			added = appendMember(added, c.Key, c.Value)
		}
	}

	var edits []Edit
	var kept Span    // the last member that stays
	var dropped Span // the members after kept, all of which go
	for m := range Members(raw, obj) {
		whole := Span{m.Key.Start, m.Value.End}
		c, found := changeOf(changes, m.Value)
		if found && c.Value == nil {
			if dropped.IsZero() {
				dropped.Start = whole.Start
			}
			dropped.End = whole.End
			continue
		}
		if !dropped.IsZero() {
			// The commas between what stays before and after: one remains.
			if !kept.IsZero() {
				dropped.Start = kept.End
			} else {
				dropped.End = whole.Start
			}
			edits = append(edits, Edit{Span: Span{dropped.Start, dropped.End}})
			dropped = Span{}
		}
		if found {
			edits = append(edits, Edit{m.Value, c.Value})
		}
		kept = whole
	}
	if !dropped.IsZero() {
		if !kept.IsZero() {
			dropped.Start = kept.End
		}
		edits = append(edits, Edit{Span: dropped})
	}
	if added == nil {
		return edits
	}
	return append([]Edit{insert(raw, obj, added, !kept.IsZero())}, edits...)
}

// changeOf finds the change to the member whose value is at value.
func changeOf(changes []Change, value Span) (Change, bool) {
	for _, c := range changes {
		if c.Old == value {
			return c, true
		}
	}
	return Change{}, false
}

// insert returns the edit that puts members at the front of the object at obj.
func insert(raw []byte, obj Span, members []byte, more bool) Edit {
	start := space(raw, int(obj.Start))
	switch peek(raw[:obj.End], start) {
	case '{':
		if more {
			members = append(members, ',')
		}
		return Edit{span(start+1, start+1), members}
	case 'n':
		whole := append([]byte{'{'}, members...)
		return Edit{span(start, start+len("null")), append(whole, '}')}
	}
	panic("wire: a member was set in what is not an object")
}

func appendMember(dst []byte, key string, value []byte) []byte {
	dst = AppendString(dst, key)
	dst = append(dst, ':')
	return append(dst, value...)
}

// isEmpty reports whether the object at obj has no members.
func isEmpty(raw []byte, obj Span) bool {
	return peek(raw, space(raw, space(raw, int(obj.Start))+1)) == '}'
}
