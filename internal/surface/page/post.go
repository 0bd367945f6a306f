package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/answerback/answerback/form"
)

// noText stands for what no page posts. It is not UTF-8, so that no field takes
// it for a value.
const noText = "\xff"

// readPost reads what a page posted into the values of an answer: of what the
// form declares and nothing else. With errors there is no
// answer. The files are those that are kept for its file fields.
func readPost(f *form.Form, posted map[string][]string, files map[string][]form.Upload) (answer form.Values, errs form.Errors) {
	values := make(map[string][]string, len(f.Fields()))
	for i := range f.Fields() {
		fd := &f.Fields()[i]
		if bound(fd) {
			continue // the default is all that it can be
		}
		if typed, asked := asTyped(fd, posted[fieldID(i)]); asked {
			values[fd.ID] = typed
		}
	}
	asked := f.Prune(values, files)
	for i, s := range f.States(values, files) {
		if !s.Shown || !s.Enabled {
			delete(files, f.Fields()[i].ID)
		}
	}
	if answer, errs = f.Read(asked, files); len(errs) > 0 {
		return nil, errs
	}
	return answer, nil
}

// asTyped gives what a page posted for a field as the form reads it. Whatever
// stood on the page and was not posted was left empty: that is not to be
// taken for a field about which nothing was said, which has its default.
func asTyped(fd *form.Field, posted []string) (typed []string, asked bool) {
	switch fd.Type {
	case form.Boolean:
		switch {
		case len(posted) == 0 && kindOf(fd) == kindRadio:
			return []string{""}, true // neither yes nor no
		case len(posted) == 0:
			return []string{"false"}, true
		}
	case form.Select:
		if len(posted) == 0 || len(posted) == 1 && posted[0] == "" {
			return []string{""}, !emptyChoice(fd)
		}
		return chosen(fd, posted), true
	case form.MultiSelect:
		if typed = chosen(fd, posted); len(typed) == 0 {
			return []string{""}, !emptyChoice(fd)
		}
		return typed, true
	}
	switch {
	case len(posted) == 0:
		return []string{""}, true
	case len(posted) == 1 && fd.Type == form.Text && fd.Constraints.Format != "":
		// As browsers do in the fields that they have for addresses.
		typed := strings.TrimSpace(posted[0])
		if completed(fd) {
			typed = complete(typed)
		}
		return []string{typed}, true
	}
	return posted, true
}

// emptyChoice reports whether an empty text is a choice. It would then be taken
// for chosen where nothing is.
func emptyChoice(fd *form.Field) bool {
	return slices.ContainsFunc(fd.Options, func(o form.Option) bool { return o.Value == "" })
}

// chosen gives the options that were posted by their places, in the order of
// the list and each once.
func chosen(fd *form.Field, places []string) []string {
	var values []string
	for i, o := range fd.Options {
		if slices.Contains(places, strconv.Itoa(i)) {
			values = append(values, o.Value)
		}
	}
	for _, p := range places {
		if i, err := strconv.Atoi(p); err != nil || i < 0 || i >= len(fd.Options) || strconv.Itoa(i) != p {
			return []string{noText}
		}
	}
	return values
}
