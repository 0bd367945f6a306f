package grant

import (
	"slices"

	"github.com/answerback/answerback/internal/secret"
)

// union gives the scopes that are in any of the lists, in their order.
func union(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		for _, s := range l {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

func prefixed(prefix string, s secret.Text) secret.Text { return secret.New(prefix + s.Reveal()) }
