//go:build browser

package browser

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var update = flag.Bool("update", false, "write testdata and docs/images anew; read the difference before you commit it")

const images = "../../docs/images"

// inspect holds the page to what every page is held to, and keeps pictures of
// it, with -update those in docs/images.
func (v *tab) inspect(name string) {
	v.t.Helper()
	v.hold(name)
	for _, suffix := range []string{"-390", "-390-dark", "-1280", "-1280-dark"} {
		v.keep(name + suffix + ".png")
	}
}

// keep puts pictures into docs/images, with -update.
func (v *tab) keep(files ...string) {
	v.t.Helper()
	if !*update {
		return
	}
	for _, file := range files {
		if err := shrink(filepath.Join(os.Getenv("ANSWERBACK_SHOTS"), file), filepath.Join(images, file)); err != nil {
			v.t.Fatal(err)
		}
	}
}

// hold is inspect for what is another page over again, of which the docs need
// no picture: it fits on a phone and a desktop, axe-core finds nothing in light
// and in dark, and assistive technology is told what testdata has.
func (v *tab) hold(name string) {
	v.t.Helper()
	var seen struct {
		Faults []string
		Tree   string
	}
	v.do("inspect", map[string]any{"name": name}, &seen)
	for _, fault := range seen.Faults {
		v.t.Errorf("the page %s: %s", name, fault)
	}
	tree := timeless(seen.Tree)
	golden := filepath.Join("testdata", name+".aria.yaml")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(tree), 0o644)); err != nil {
			v.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		v.t.Fatalf("%v; if the page is new, run make images", err)
	}
	if tree != string(want) {
		v.t.Errorf("assistive technology is told this of the page %s:\n%s\nand was told:\n%s\nIf that is as it should be, run make images.", name, tree, want)
	}
}

// misfits says what does not fit at these widths, each on a line.
func (v *tab) misfits(widths ...int) string {
	v.t.Helper()
	var faults []string
	v.do("misfits", map[string]any{"widths": widths}, &faults)
	return strings.Join(faults, "\n")
}

var moments = []struct {
	is  *regexp.Regexp
	was string
}{
	{regexp.MustCompile(`\d+ (seconds?|minutes?) ago|just now`), "<some time> ago"},
	{regexp.MustCompile(`(1 min )?\d+ (s|seconds?|minutes?) left(, until \d\d:\d\d( UTC)?)?`), "<some time> left"},
	{regexp.MustCompile(`\d\d:\d\d UTC`), "<hour>"},
	{regexp.MustCompile(`(/asks/|\?ask=)[\w.-]+`), "$1<id>"},
	{regexp.MustCompile(`(localhost|127\.0\.0\.\d)(:|%3A)\d+`), "$1$2<port>"},
	{regexp.MustCompile(`(Ann|Bob|Cyn) Example`), "<name>"},
	{regexp.MustCompile(`from (ann|cyn)`), "from <name>"}, // whoever lost the race
	{regexp.MustCompile(`token=[\w-]+`), "token=<token>"},
}

// timeless leaves out of a tree what differs from one moment to the next.
func timeless(tree string) string {
	for _, m := range moments {
		tree = m.is.ReplaceAllString(tree, m.was)
	}
	return strings.TrimSpace(tree) + "\n"
}
