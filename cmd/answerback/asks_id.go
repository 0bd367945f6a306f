package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/surface/api"
	"github.com/answerback/answerback/internal/surface/terminal"
)

const (
	// minShort is how short an id may be made.
	minShort = 4
	// maxCandidates is among how many open questions a short id is looked
	// up: as many as one list has.
	maxCandidates = 1000
)

// whole gives the id of the one open question that a short id stands for. All
// questions of one person begin alike, so the end of an id serves as well as
// its beginning. What stands for none is left for the gateway to refuse.
func whole(ctx context.Context, c *api.Client, short string) (string, error) {
	if len(short) < minShort || len(short) >= seal.IDLen {
		return short, nil
	}
	p, err := c.List(ctx, maxCandidates)
	if err != nil {
		return "", refused(err)
	}
	var found []string
	for i := range p.Asks {
		if id := p.Asks[i].ID; strings.HasPrefix(id, short) || strings.HasSuffix(id, short) {
			found = append(found, id)
		}
	}
	named := terminal.Line(short, 256)
	switch {
	case len(found) > 1:
		return "", fmt.Errorf("%s stands for %d open questions: give more of the id, as answerback asks list prints it; nothing was sent", named, len(found))
	case p.More:
		return "", fmt.Errorf("there are too many open questions to look %s up among them: give the whole id; nothing was sent", named)
	case len(found) == 1:
		return found[0], nil
	}
	return short, nil
}
