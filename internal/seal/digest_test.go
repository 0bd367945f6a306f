package seal_test

import (
	"bytes"
	"testing"

	"github.com/answerback/answerback/internal/seal"
)

// A digest is known by every ring that has the key it was made with, for its
// purpose and data alone.
func TestDigested(t *testing.T) {
	keys := func(n ...byte) *seal.Ring {
		var all [][]byte
		for _, b := range n {
			all = append(all, bytes.Repeat([]byte{b}, seal.KeySize))
		}
		r, err := seal.New(all...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	data := []byte("data")
	made := keys(1).Digest(seal.Form, data)
	for name, c := range map[string]struct {
		by      *seal.Ring
		purpose seal.Purpose
		data    string
		digest  []byte
		want    bool
	}{
		"the same ring":      {keys(1), seal.Form, "data", made, true},
		"a rotated ring":     {keys(2, 1), seal.Form, "data", made, true},
		"before the new key": {keys(1, 2), seal.Form, "data", made, true},
		"without the key":    {keys(2, 3), seal.Form, "data", made, false},
		"another purpose":    {keys(1), seal.Audit, "data", made, false},
		"other data":         {keys(1), seal.Form, "date", made, false},
		"a piece of it":      {keys(1), seal.Form, "data", made[:16], false},
		"nothing":            {keys(1), seal.Form, "data", nil, false},
	} {
		if got := c.by.Digested(c.purpose, []byte(c.data), c.digest); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
