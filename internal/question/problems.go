package question

import (
	"errors"
	"strings"

	"github.com/answerback/answerback/form"
)

// Problems says what is wrong with a form, for whoever wrote it: at most limit
// sentences, each with its path. There are none where err is about something
// else.
func Problems(err error, limit int) []string {
	bad, ok := errors.AsType[*form.DefinitionError](err)
	if !ok {
		return nil
	}
	var all []string
	for _, p := range bad.Problems[:min(limit, len(bad.Problems))] {
		all = append(all, strings.TrimSpace(p.Path+" "+p.Message))
	}
	return all
}
