package form

// CheckUpload says what is wrong with one file for a file field, whatever the
// rest of the answer is: with its size, what it is, and its name. How many
// files there may be is for [Form.Read] to say. An id of no file field finds
// everything wrong.
func (f *Form) CheckUpload(id string, u Upload) Errors {
	at, ok := f.index[id]
	if !ok || f.fields[at].Type != File {
		return unknownErrors([]string{id})
	}
	var errs Errors
	f.fields[at].checkFile(&u, nil, &errs)
	return errs
}

// Largest is how many bytes one file for a file field may have: what its
// definition says, and never more than the [Compiler] allows. It is 0 where
// there is no such field.
func (f *Form) Largest(id string) int64 {
	if at, ok := f.index[id]; ok && f.fields[at].Type == File {
		return f.fields[at].largest
	}
	return 0
}

// TakesType reports whether a file of this type may be given for the field.
func (f *Field) TakesType(found string) bool {
	return len(f.Constraints.MimeTypes) == 0 || matchesType(f.Constraints.MimeTypes, found)
}
