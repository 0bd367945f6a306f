//go:build browser

package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// driver is a running browser.mjs. Any number of tests use it at once.
type driver struct {
	in   io.WriteCloser
	ids  atomic.Int64
	done chan struct{} // closed when it ended

	mu      sync.Mutex
	waiting map[int64]chan answer // nil when it ended
}

type answer struct {
	N     int64
	OK    json.RawMessage
	Error string
}

// startDriver runs browser.mjs until the house is closed.
func (h *house) startDriver(program, shots string) (*driver, error) {
	cmd := exec.Command(h.node, filepath.Join(h.dir, "browser.mjs"), program, shots)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	cmd.WaitDelay = rig.Patience
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &driver{in: in, done: make(chan struct{}), waiting: map[int64]chan answer{}}
	go d.read(out)
	h.ends = append(h.ends, func() error {
		in.Close() // it then closes the browser and ends
		<-d.done
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("the browser's driver ended with %w\n%s", err, &complaints)
		}
		return nil
	})
	return d, nil
}

func (d *driver) read(out io.Reader) {
	defer close(d.done)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		var a answer
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		d.mu.Lock()
		if err != nil {
			for _, ch := range d.waiting {
				ch <- answer{Error: "do anything more: its driver ended"}
			}
			d.waiting = nil
			d.mu.Unlock()
			return
		}
		if ch := d.waiting[a.N]; ch != nil {
			ch <- a
			delete(d.waiting, a.N)
		}
		d.mu.Unlock()
	}
}

// do has the driver do something, and gives what comes of it.
func (d *driver) do(command map[string]any) (json.RawMessage, error) {
	n, ch := d.ids.Add(1), make(chan answer, 1)
	command["n"] = n
	line, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	if d.waiting == nil {
		d.mu.Unlock()
		return nil, errors.New("the browser's driver is gone")
	}
	d.waiting[n] = ch
	_, err = d.in.Write(append(line, '\n'))
	d.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("the browser's driver is gone: %w", err)
	}
	a := <-ch
	if a.Error != "" {
		return nil, fmt.Errorf("the browser could not %s", a.Error)
	}
	return a.OK, nil
}

// page is what a person sees, and what came with it where they just came
// there.
type page struct {
	URL, Title, Text, HTML string
	Status                 int
	Headers                map[string]string
	Body                   string // as it was sent
}

// eyes is how somebody's browser is set up. The zero value is a desktop with
// everything as usual.
type eyes struct {
	noJS  bool
	plain bool // our script does nothing: what checks themselves are scripts for
	large bool // text of twice the usual size
	width int
	clock bool // time passes only where the test lets it
}

// String names the way in which somebody sees pages.
func (e eyes) String() string {
	name := fmt.Sprintf("%d px", e.width)
	if e.large {
		name += ", large text"
	}
	if e.noJS {
		name += ", no script"
	}
	return name
}

// tab is a tab of somebody's browser.
type tab struct {
	t    testing.TB
	d    *driver
	name string // whose it is
	id   string
}

// person gives somebody a browser of their own. What its console complains of
// until the test ends fails the test.
func (s *stage) person(name string, e eyes) *tab {
	s.t.Helper()
	d := home(s.t).driver
	v := &tab{s.t, d, name, fmt.Sprintf("%s %s %d", s.t.Name(), name, d.ids.Add(1))}
	how := map[string]any{"js": !e.noJS, "plain": e.plain, "large": e.large, "clock": e.clock}
	if e.width > 0 {
		how["width"] = e.width
	}
	v.do("person", how, nil)
	s.t.Cleanup(func() {
		for _, fault := range v.faults() {
			s.t.Errorf("the console of %s: %s", name, fault)
		}
		v.do("close", nil, nil)
	})
	return v
}

func (v *tab) do(what string, more map[string]any, into any) {
	v.t.Helper()
	command := map[string]any{"do": what, "page": v.id}
	for key, value := range more {
		command[key] = value
	}
	got, err := v.d.do(command)
	if err == nil && into != nil {
		err = json.Unmarshal(got, into)
	}
	if err != nil {
		v.t.Fatalf("%s: %v", v.name, err)
	}
}

func (v *tab) see(what string, more map[string]any) (p page) {
	v.t.Helper()
	v.do(what, more, &p)
	return p
}

func (v *tab) open(url string) page {
	v.t.Helper()
	return v.see("go", map[string]any{"url": url})
}

func (v *tab) reload() page { v.t.Helper(); return v.see("reload", nil) }
func (v *tab) back() page   { v.t.Helper(); return v.see("back", nil) }
func (v *tab) look() page   { v.t.Helper(); return v.see("look", nil) }

// press presses a button that leads to another page.
func (v *tab) press(button string) page {
	v.t.Helper()
	return v.see("press", map[string]any{"role": "button", "name": button})
}

// tap presses a button that does not.
func (v *tab) tap(button string) {
	v.t.Helper()
	v.do("tap", map[string]any{"role": "button", "name": button}, nil)
}

// click follows a link.
func (v *tab) click(link string) page {
	v.t.Helper()
	return v.see("press", map[string]any{"role": "link", "name": link})
}

// follow follows a link that opens a tab of its own.
func (v *tab) follow(link string) (*tab, page) {
	v.t.Helper()
	opened := &tab{v.t, v.d, v.name, v.id + "'s other tab"}
	return opened, v.see("follow", map[string]any{"role": "link", "name": link, "as": opened.id})
}

// post sends a form that is on no page.
func (v *tab) post(url string, fields map[string]string) page {
	v.t.Helper()
	return v.see("post", map[string]any{"url": url, "fields": fields})
}

func (v *tab) fill(label, value string) {
	v.t.Helper()
	v.do("fill", map[string]any{"label": label, "value": value}, nil)
}

func (v *tab) choose(label, value string) {
	v.t.Helper()
	v.do("choose", map[string]any{"label": label, "value": value}, nil)
}

func (v *tab) check(label string) {
	v.t.Helper()
	v.do("check", map[string]any{"label": label}, nil)
}

func (v *tab) uncheck(label string) {
	v.t.Helper()
	v.do("uncheck", map[string]any{"label": label}, nil)
}

// pick chooses in a group.
func (v *tab) pick(group, label string) {
	v.t.Helper()
	v.do("pick", map[string]any{"group": group, "label": label}, nil)
}

// touch presses what has these words, whatever it is.
func (v *tab) touch(text string) { v.t.Helper(); v.do("touch", map[string]any{"text": text}, nil) }

// attribute is that of a field, "" where it has none.
func (v *tab) attribute(label, name string) (s string) {
	v.t.Helper()
	v.do("attribute", map[string]any{"label": label, "name": name}, &s)
	return s
}

// top is how far down the page a field begins, in pixels.
func (v *tab) top(label string) (px int) {
	v.t.Helper()
	v.do("top", map[string]any{"label": label}, &px)
	return px
}

// value is what a field holds.
func (v *tab) value(label string) (s string) {
	v.t.Helper()
	v.do("value", map[string]any{"label": label}, &s)
	return s
}

func (v *tab) checked(label string) (is bool) {
	v.t.Helper()
	v.do("checked", map[string]any{"label": label}, &is)
	return is
}

// shown reports whether a field is to be seen.
func (v *tab) shown(label string) (is bool) {
	v.t.Helper()
	v.do("shown", map[string]any{"label": label}, &is)
	return is
}

// described is what a screen reader says of a field beside its label.
func (v *tab) described(label string) (s string) {
	v.t.Helper()
	v.do("describe", map[string]any{"label": label}, &s)
	return s
}

// await waits until the page says something, gone until it says so no more.
func (v *tab) await(text string) { v.t.Helper(); v.do("await", map[string]any{"text": text}, nil) }
func (v *tab) gone(text string)  { v.t.Helper(); v.do("gone", map[string]any{"text": text}, nil) }

type cookie struct {
	Name, Value, Domain, Path, SameSite string
	HTTPOnly, Secure                    bool
}

func (v *tab) cookies() (all []cookie) {
	v.t.Helper()
	v.do("cookies", nil, &all)
	return all
}

// faults gives what the console complained of since the last time.
func (v *tab) faults() (all []string) {
	v.t.Helper()
	v.do("faults", nil, &all)
	return all
}
