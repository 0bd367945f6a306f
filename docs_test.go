package answerback_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var picture = regexp.MustCompile(`!\[[^\]]+\]\(([^)]+\.png)\)`)

// TestPictures: every picture that a page shows is there and has words for
// those who cannot see it; every picture that is there is shown, or is the dark
// or wide sibling of one that is; and all together are small.
func TestPictures(t *testing.T) {
	const most = 3 << 20
	files, shown, size := tree(t), map[string]bool{}, 0
	stem := func(name string) string {
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".png"), "-dark")
		return strings.TrimSuffix(strings.TrimSuffix(name, "-390"), "-1280")
	}
	for name, text := range files {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range picture.FindAllStringSubmatch(text, -1) {
			at := path.Join(path.Dir(name), m[1])
			if _, ok := files[at]; !ok {
				t.Errorf("%s shows %s, which is not there", name, at)
			}
			shown[stem(at)] = true
		}
	}
	if len(shown) == 0 {
		t.Error("no page shows a picture")
	}
	for name, content := range files {
		if !strings.HasPrefix(name, "docs/images/") {
			continue
		}
		if size += len(content); !shown[stem(name)] {
			t.Errorf("%s is shown on no page", name)
		}
	}
	if size > most {
		t.Errorf("the pictures are %d bytes together, want at most %d", size, most)
	}
}
