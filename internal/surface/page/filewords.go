package page

import (
	"fmt"
	"strings"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/upload"
)

// fileSentence says what to do about a file that was not taken. It is empty
// for what is no constraint of files.
func fileSentence(fd *form.Field, e *form.Error) string {
	switch e.Constraint {
	case "maxSize":
		n, _ := e.Expected.(int64)
		return "The file is too large, and was not kept. Choose one of at most " + sizeWords(n) + "."
	case "allowedMimeTypes":
		return "The file is not what it has to be, and was not kept. Choose one of type " + list3(fd.Constraints.MimeTypes) + "."
	case "allowedExtensions":
		return "The file was not kept. Choose one whose name ends in " + list3(fd.Constraints.Extensions) + "."
	case upload.ConstraintTotal:
		n, _ := e.Expected.(int64)
		return "The file was not kept: all files of this form together can have at most " + sizeWords(n) + "."
	}
	return ""
}

// hintFile says what files a field takes.
func hintFile(f *form.Form, fd *form.Field) string {
	c := &fd.Constraints
	what := "One file"
	switch {
	case !fd.Multiple():
	case c.MinItems > 0 && c.MinItems == c.MaxItems:
		what = fmt.Sprintf("%d files", c.MinItems)
	case c.MinItems > 1 && c.MaxItems > 0:
		what = fmt.Sprintf("%d to %d files", c.MinItems, c.MaxItems)
	case c.MaxItems > 0:
		what = fmt.Sprintf("Up to %d files", c.MaxItems)
	default:
		what = fmt.Sprintf("%d or more files", c.MinItems)
	}
	what += ", at most " + sizeWords(f.Largest(fd.ID)) + pick(fd.Multiple(), " each", "")
	switch {
	case len(c.Extensions) > 0:
		what += ": " + list3(c.Extensions)
	case len(c.MimeTypes) > 0:
		what += ": " + list3(c.MimeTypes)
	}
	return what + "."
}

// list3 is a choice of words: "a, b or c".
func list3(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return line(strings.Join(words, ""), maxHelp)
	}
	return line(strings.Join(words[:last], ", ")+" or "+words[last], maxHelp)
}

// sizeWords is a number of bytes for people, rounded up so that it is never
// less than there is.
func sizeWords(n int64) string {
	unit, name := int64(1), "bytes"
	switch {
	case n >= 1<<20:
		unit, name = 1<<20, "MB"
	case n >= 1<<10:
		unit, name = 1<<10, "KB"
	case n == 1:
		return "1 byte"
	}
	if n%unit == 0 {
		return fmt.Sprintf("%d %s", n/unit, name)
	}
	tenths := (n*10 + unit - 1) / unit
	return fmt.Sprintf("%d.%d %s", tenths/10, tenths%10, name)
}
