package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// operator runs commands of a page in a directory of its own.
type operator struct {
	t   *testing.T
	dir string
	env []string
	g   *rig.Gateway
}

// run runs one line as it stands on the page.
func (o *operator) run(line string) {
	o.t.Helper()
	switch line {
	case "# stop the gateway":
		if err := o.g.Stop(); err != nil {
			o.t.Fatal(err)
		}
		o.g = nil
		return
	case "# start the gateway":
		o.g = rig.StartFile(o.t, filepath.Join(o.dir, "answerback.yaml"))
		return
	}
	cmd := exec.CommandContext(o.t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = o.dir, o.env
	out, err := cmd.CombinedOutput()
	// The page has an account that is not here: that it is not is said.
	if strings.Contains(line, "grants confirm") && strings.Contains(string(out), "no such account is suspended") {
		return
	}
	if err != nil {
		o.t.Errorf("%s: %v\n%s", line, err, out)
	}
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestOperatingPage runs every command of docs/operating.md in its order.
func TestOperatingPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "answerback.yaml")
	rig.Write(t, config, "listen: 127.0.0.1:0\ndata_dir: "+filepath.Join(dir, "data")+"\nbackends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(rig.Binary(t), filepath.Join(bin, "answerback")); err != nil {
		t.Fatal(err)
	}
	o := &operator{t: t, dir: dir, env: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "ANSWERBACK_CONFIG="+config), g: rig.StartFile(t, config)}
	blocks := shellBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 10 {
		t.Fatalf("the page has %d blocks of commands", len(blocks))
	}
	for _, b := range blocks {
		for line := range strings.Lines(b[1]) {
			o.run(strings.TrimSpace(line))
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 2 { // the configuration and bin
		t.Errorf("after everything was removed there are %v %v", left, err)
	}
}
