package e2e

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

var demoLink = regexp.MustCompile(`^\s+(http://127\.0\.0\.1:\d+/signin/local\?token=\S+)$`)

// TestDemo does what a newcomer does: start the demo, follow the link, answer.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		fields     url.Values
	}{
		{"accept", "Lunch is ordered: 3 × Ramen, spicy. To the kitchen: no onions.", url.Values{
			"action": {"accept"}, "f0": {"1"}, "f1": {"3"}, "f2": {"true"}, "f3": {"no onions"},
		}},
		{"decline", "No lunch was ordered: the person said no.", url.Values{"action": {"decline"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			demo, lines := startDemo(t, temp)
			person := rig.Follow(t, next(t, lines, demoLink))
			page := awaitPage(t, person)
			if status, body := person.Answer(page, c.fields); status >= 400 {
				t.Fatalf("the answer: %d %s", status, body)
			}
			next(t, lines, regexp.MustCompile(`^\s+(`+regexp.QuoteMeta(c.want)+`)$`))
			if err := demo.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			for range lines { // until it has ended
			}
			if err := demo.Wait(); err != nil {
				t.Errorf("the demo ended with %v", err)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("the demo left something behind: %v %v", left, err)
			}
		})
	}
}

// TestDemoWaitsAsLongAsItSays answers after a minute and a half, which is
// longer than the gateway waits for clients of which nothing is known: the
// result of the call is printed, and nothing else in its place.
func TestDemoWaitsAsLongAsItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 90 seconds")
	}
	t.Parallel()
	_, lines := startDemo(t, t.TempDir())
	person := rig.Follow(t, next(t, lines, demoLink))
	page := awaitPage(t, person)
	late := time.After(90 * time.Second)
	for waiting := true; waiting; {
		select {
		case line, ok := <-lines:
			if !ok || strings.TrimSpace(line) != "" {
				t.Fatalf("before the answer the demo says %q", line)
			}
		case <-late:
			waiting = false
		}
	}
	fields := url.Values{"action": {"accept"}, "f0": {"1"}, "f1": {"2"}}
	if status, body := person.Answer(page, fields); status >= 400 {
		t.Fatalf("the answer: %d %s", status, body)
	}
	next(t, lines, regexp.MustCompile(`^\s+(Lunch is ordered: 2 × Ramen\.)$`))
}

// startDemo gives the demo and the lines that it prints.
func startDemo(t *testing.T, temp string) (*exec.Cmd, <-chan string) {
	t.Helper()
	cmd := exec.Command(rig.Binary(t), "demo")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TMPDIR="+temp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd, lines
}

// next gives what the pattern catches of the first line that fits.
func next(t *testing.T, lines <-chan string, pattern *regexp.Regexp) string {
	t.Helper()
	var seen []string
	for late := time.After(rig.Patience); ; {
		select {
		case line, ok := <-lines:
			if m := pattern.FindStringSubmatch(line); m != nil {
				return m[1]
			}
			seen = append(seen, line)
			if !ok {
				t.Fatalf("the demo ended; it said:\n%s", strings.Join(seen, "\n"))
			}
		case <-late:
			t.Fatalf("nothing like %s came; it said:\n%s", pattern, strings.Join(seen, "\n"))
		}
	}
}

// awaitPage looks at the person's list until a question is in it.
func awaitPage(t *testing.T, person *rig.Person) string {
	t.Helper()
	for late := time.After(rig.Patience); ; {
		_, inbox := person.Do("GET", "/", nil)
		if page := askPath.FindString(inbox); page != "" {
			return page
		}
		select {
		case <-late:
			t.Fatalf("no question came: %s", inbox)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
