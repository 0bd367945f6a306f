package exchange

import (
	"slices"
	"testing"

	"github.com/answerback/answerback/ask"
)

// The ladder, whole: which rungs there are in which standing, best first.
func TestLadderByStanding(t *testing.T) {
	const form, url, sampling = ask.Form, ask.URL, ask.Sampling
	client, link, page := RungClient, RungLink, RungPage
	for name, tt := range map[string]struct {
		in   Standing
		want []Rung
	}{
		"a form, a client with forms":                 {Standing{Kind: form, Live: true, Takes: true, Forms: true, Pages: true, Call: true}, []Rung{client}},
		"a form, a client with forms, no page":        {Standing{Kind: form, Live: true, Takes: true, Forms: true}, []Rung{client}},
		"a form, a client with forms that is doubted": {Standing{Kind: form, Live: true, Takes: true, Forms: true, Pages: true, Call: true, Doubts: true}, []Rung{client, page}},
		"the same without pages":                      {Standing{Kind: form, Live: true, Takes: true, Forms: true, Call: true, Doubts: true}, []Rung{client}},
		"the same without a call":                     {Standing{Kind: form, Live: true, Takes: true, Forms: true, Pages: true, Doubts: true}, []Rung{client}},
		"a form, a client with links":                 {Standing{Kind: form, Live: true, Links: true, Pages: true, Call: true}, []Rung{link}},
		"a form, a client with links, no page":        {Standing{Kind: form, Live: true, Links: true, Call: true}, nil},
		"a form, a client with neither":               {Standing{Kind: form, Live: true, Pages: true, Call: true}, []Rung{page}},
		"the same after its client has gone":          {Standing{Kind: form, Pages: true, Call: true}, []Rung{page}},
		"a form, a client with neither, no page":      {Standing{Kind: form, Live: true, Call: true}, nil},
		"a form, a client with neither, no call":      {Standing{Kind: form, Live: true, Pages: true}, nil},
		"a form, a client with forms that is away":    {Standing{Kind: form, Takes: true, Forms: true, Pages: true, Call: true}, nil},
		"a url, a client with links":                  {Standing{Kind: url, Live: true, Takes: true, Links: true, Pages: true, Call: true}, []Rung{client}},
		"a url, a client with forms":                  {Standing{Kind: url, Live: true, Forms: true, Pages: true, Call: true}, nil},
		"a url, a client with neither":                {Standing{Kind: url, Live: true, Pages: true, Call: true}, []Rung{page}},
		"a form that a group answers":                 {Standing{Kind: form, Group: true, Live: true, Takes: true, Forms: true, Pages: true, Call: true}, []Rung{page}},
		"the same for a caller without pages":         {Standing{Kind: form, Group: true, Live: true}, []Rung{page}},
		"a url never goes to a group":                 {Standing{Kind: url, Group: true, Live: true, Takes: true, Links: true}, []Rung{client}},
		"sampling, a client with a model":             {Standing{Kind: sampling, Live: true, Takes: true, Pages: true, Call: true}, []Rung{client}},
		"sampling never goes to a page":               {Standing{Kind: sampling, Live: true, Pages: true, Call: true, Doubts: true}, nil},
		"an account to connect, a client with links":  {Standing{Kind: ask.Connect, Live: true, Links: true, Pages: true, Call: true}, []Rung{link}},
		"an account to connect, links and no page":    {Standing{Kind: ask.Connect, Live: true, Links: true, Call: true}, nil},
		"an account to connect, a client with forms":  {Standing{Kind: ask.Connect, Live: true, Forms: true, Pages: true, Call: true}, nil},
		"an account to connect, a client of neither":  {Standing{Kind: ask.Connect, Live: true, Pages: true, Call: true}, []Rung{page}},
		"an account never goes to a group":            {Standing{Kind: ask.Connect, Group: true, Live: true, Links: true, Pages: true, Call: true}, []Rung{link}},
		"nobody":                                      {Standing{Kind: form}, nil},
	} {
		if got := Ladder(tt.in.Reach()); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
