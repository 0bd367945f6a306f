package terminal

import (
	"context"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
)

// errFiles means that a question asks for a file where none can be given.
var errFiles = ask.Errorf(ask.NotAllowed, "This question asks for a file, which cannot be given here. Answer it on its page; nothing was sent.")

// maxPaths is how many files somebody types for one field.
const maxPaths = 100

// files asks for the paths of the files for a field, and gives each file to
// whoever takes it as soon as it was typed. Where some were given before, an
// empty line leaves it at those.
func (t *Terminal) files(ctx context.Context, q *Question, fd *form.Field, given []form.Upload) ([]form.Upload, error) {
	t.describe(fd, nil)
	for _, u := range given {
		t.say("%s", block("  given: ", Line(u.Name, maxLabel), maxLabel))
	}
	fresh := []form.Upload{}
	for range maxPaths {
		line, err := t.prompt(ctx, fd)
		if err != nil {
			return nil, err
		}
		path := strings.TrimSpace(line)
		switch {
		case path == "" && len(fresh) > 0:
			return fresh, nil
		case path == "" && (len(given) > 0 || !fd.Required):
			return given, nil
		case path == "":
			t.say("%sType the path of a file.\n", fail)
			continue
		}
		u, err := q.Upload(ctx, fd.ID, path)
		if err != nil {
			t.say("%s", block(fail, err.Error(), maxHelp))
			continue
		}
		fresh = append(fresh, u)
		if !fd.Multiple() {
			return fresh, nil
		}
		t.say("Another one, or an empty line:\n")
	}
	return nil, errAttempts
}
