//go:build browser

package browser

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// chromium is a running browser. It does one thing after the other.
type chromium struct {
	t       testing.TB
	in      io.Writer
	answers *bufio.Reader
}

// startChromium runs browser.mjs until the test ends.
func startChromium(t testing.TB, cmd *exec.Cmd) *chromium {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	cmd.WaitDelay = rig.Patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close() // it then closes the browser and ends
		if err := cmd.Wait(); err != nil {
			t.Errorf("the browser's driver ended with %v\n%s", err, &complaints)
		}
	})
	return &chromium{t: t, in: in, answers: bufio.NewReaderSize(out, 1<<20)}
}

// do has the driver do something, and reads what comes of it.
func (c *chromium) do(command map[string]any, into any) {
	c.t.Helper()
	line, err := json.Marshal(command)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		c.t.Fatalf("the browser's driver is gone: %v", err)
	}
	said, err := c.answers.ReadBytes('\n')
	if err != nil {
		c.t.Fatalf("the browser's driver said nothing to %s: %v", line, err)
	}
	var answer struct {
		OK    json.RawMessage
		Error string
	}
	if err := json.Unmarshal(said, &answer); err != nil {
		c.t.Fatalf("the browser's driver said %q", said)
	}
	if answer.Error != "" {
		c.t.Fatalf("the browser could not %s", answer.Error)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer.OK, into); err != nil {
		c.t.Fatalf("the browser's driver said %q: %v", said, err)
	}
}

// page is what a person sees, and what came with it where they just came
// there.
type page struct {
	URL, Title, Text, HTML string
	Status                 int
	Headers                map[string]string
	Body                   string // as it was sent
}

// tab is a tab of somebody's browser.
type tab struct {
	c    *chromium
	name string
}

// person gives somebody a browser of their own. What its console complains of
// until the test ends fails the test.
func (c *chromium) person(name string) *tab {
	c.t.Helper()
	v := &tab{c, name}
	v.do("person", nil, nil)
	c.t.Cleanup(func() {
		for _, fault := range v.faults() {
			c.t.Errorf("the console of %s: %s", name, fault)
		}
	})
	return v
}

func (v *tab) do(what string, more map[string]any, into any) {
	v.c.t.Helper()
	command := map[string]any{"do": what, "page": v.name}
	for key, value := range more {
		command[key] = value
	}
	v.c.do(command, into)
}

func (v *tab) see(what string, more map[string]any) (p page) {
	v.c.t.Helper()
	v.do(what, more, &p)
	return p
}

func (v *tab) open(url string) page {
	v.c.t.Helper()
	return v.see("go", map[string]any{"url": url})
}

func (v *tab) reload() page { v.c.t.Helper(); return v.see("reload", nil) }
func (v *tab) back() page   { v.c.t.Helper(); return v.see("back", nil) }

// press presses a button that leads to another page.
func (v *tab) press(button string) page {
	v.c.t.Helper()
	return v.see("press", map[string]any{"role": "button", "name": button})
}

// click follows a link.
func (v *tab) click(link string) page {
	v.c.t.Helper()
	return v.see("press", map[string]any{"role": "link", "name": link})
}

// follow follows a link that opens a tab of its own.
func (v *tab) follow(link string) (*tab, page) {
	v.c.t.Helper()
	opened := &tab{v.c, v.name + "'s other tab"}
	return opened, v.see("follow", map[string]any{"role": "link", "name": link, "as": opened.name})
}

// post sends a form that is on no page.
func (v *tab) post(url string, fields map[string]string) page {
	v.c.t.Helper()
	return v.see("post", map[string]any{"url": url, "fields": fields})
}

func (v *tab) fill(label, value string) {
	v.c.t.Helper()
	v.do("fill", map[string]any{"label": label, "value": value}, nil)
}

func (v *tab) check(label string) {
	v.c.t.Helper()
	v.do("check", map[string]any{"label": label}, nil)
}

type cookie struct {
	Name, Value, Domain, Path, SameSite string
	HTTPOnly, Secure                    bool
}

func (v *tab) cookies() (all []cookie) {
	v.c.t.Helper()
	v.do("cookies", nil, &all)
	return all
}

// faults gives what the console complained of since the last time.
func (v *tab) faults() (all []string) {
	v.c.t.Helper()
	v.do("faults", nil, &all)
	return all
}

// shoot keeps a picture of the page at every width, and fails the test where
// it has to be scrolled sideways.
func (v *tab) shoot(name string) {
	v.c.t.Helper()
	if wide := v.tooWide(name); len(wide) > 0 {
		v.c.t.Errorf("the page %s scrolls sideways at %v pixels", name, wide)
	}
}

func (v *tab) tooWide(name string) (widths []int) {
	v.c.t.Helper()
	v.do("shoot", map[string]any{"name": name}, &widths)
	return widths
}
