package form_test

import (
	"testing"

	"github.com/answerback/answerback/form"
)

// A file is written as MCP can say it, or with all that is known of it.
func TestFilesAreWrittenInTwoWays(t *testing.T) {
	f, err := form.Parse([]byte(`{"id":"f","title":"F","fields":[
		{"id":"cv","type":"file","label":"CV"},
		{"id":"more","type":"file","label":"More","validation":{"maxItems":2}},
		{"id":"n","type":"number","label":"N"},
		{"id":"none","type":"file","label":"None"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	one := form.Upload{Name: `a "b".pdf`, Type: "application/pdf", Size: 19, URL: "https://x.example/1"}
	two := form.Upload{Name: "b.txt", Type: "text/plain", Size: 2, URL: "https://x.example/2"}
	values := form.Values{"cv": []form.Upload{one}, "more": []form.Upload{one, two}, "none": []form.Upload{}, "n": true}
	const first = `{"filename":"a \"b\".pdf","content_type":"application/pdf","size":19,"content":{"type":"url","location":"https://x.example/1"}}`
	for _, c := range []struct{ got, want string }{
		{string(f.Encode(values)), `{"cv":"https://x.example/1","more":["https://x.example/1","https://x.example/2"],"n":true}`},
		{string(f.EncodeFiles(values)), `{"cv":` + first + `,"more":[` + first + `,{"filename":"b.txt","content_type":"text/plain","size":2,"content":{"type":"url","location":"https://x.example/2"}}],"n":true}`},
	} {
		if c.got != c.want {
			t.Errorf("got\n%s, want\n%s", c.got, c.want)
		}
	}
}
