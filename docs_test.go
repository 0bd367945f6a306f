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

// TestArchitectureNamesEveryPackage: the page that newcomers read has a line
// for each package of the product.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	page := tree(t)["docs/architecture.md"]
	for dir := range packages(t) {
		if under(dir, product) && !strings.Contains(page, "/"+path.Base(dir)+"`") && !strings.Contains(page, "`"+path.Base(dir)+"`") {
			t.Errorf("docs/architecture.md does not name the package %s", dir)
		}
	}
}
