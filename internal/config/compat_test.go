package config_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/config"
)

// with is testEnv with further variables.
func with(vars map[string]string) config.LookupEnv {
	return func(name string) (string, bool) {
		if value, ok := vars[name]; ok {
			return value, true
		}
		return testEnv(name)
	}
}

const oneBackend = "backends: { a: { command: x } }\n"

var another = map[string]string{
	"MCPGATEWAY_ELICITATION_ENABLED":        "false",
	"MCPGATEWAY_ELICITATION_TIMEOUT":        "60",
	"MCPGATEWAY_ELICITATION_MAX_CONCURRENT": "100",
}

// Variables of another gateway set what the file leaves out, and nothing else;
// the description names them.
func TestVariablesOfAnotherGateway(t *testing.T) {
	c, notes, err := config.Parse("/etc/answerback/test.yaml", []byte(oneBackend), with(another))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default().Asks
	want.Enabled, want.Timeout, want.MaxOpen = false, time.Minute, 100
	if c.Asks != want {
		t.Errorf("asks are %+v", c.Asks)
	}
	text := describe(t, c)
	for _, line := range []string{
		"  enabled: false  # MCPGATEWAY_ELICITATION_ENABLED\n",
		"  timeout: 1m  # MCPGATEWAY_ELICITATION_TIMEOUT\n",
		"  max_open: 100  # MCPGATEWAY_ELICITATION_MAX_CONCURRENT\n",
		"  sampling_timeout: 5m  # default\n",
		"  max_open_per_session: 100  # default\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the description lacks %q:\n%s", line, text)
		}
	}
	var said []string
	for _, n := range notes {
		said = append(said, n.String())
	}
	if got := strings.Join(said, "\n"); len(notes) != 3 || !strings.Contains(got, "asks.timeout: is set by the environment variable MCPGATEWAY_ELICITATION_TIMEOUT") {
		t.Errorf("notes:\n%s", got)
	}

	// What is printed is a file that means the same without the variables.
	again, _ := parse(t, text)
	sameButSecrets(t, c, again)
	if strings.Contains(describe(t, again), "MCPGATEWAY") {
		t.Error("a file's own values are said to come from variables")
	}
}

// A value that happens to be the default is shown with its origin too.
func TestVariableThatIsTheDefault(t *testing.T) {
	c, _, err := config.Parse("x.yaml", []byte(oneBackend), with(map[string]string{"MCPGATEWAY_ELICITATION_ENABLED": "true"}))
	if err != nil {
		t.Fatal(err)
	}
	if text := describe(t, c); !strings.Contains(text, "  enabled: true  # MCPGATEWAY_ELICITATION_ENABLED\n") {
		t.Errorf("described as:\n%s", text)
	}
}

// A key of the file has precedence, key by key, and a note says so.
func TestFileHasPrecedenceOverVariables(t *testing.T) {
	c, notes, err := config.Parse("x.yaml", []byte(oneBackend+"asks:\n  timeout: 2m\n  enabled:\n"), with(another))
	if err != nil {
		t.Fatal(err)
	}
	if c.Asks.Timeout != 2*time.Minute || c.Asks.MaxOpen != 100 || c.Asks.Enabled {
		t.Errorf("asks are %+v", c.Asks)
	}
	if text := describe(t, c); !strings.Contains(text, "  timeout: 2m\n") {
		t.Errorf("described as:\n%s", text)
	}
	const want = "x.yaml:3: asks.timeout: is set in this file, so the environment variable MCPGATEWAY_ELICITATION_TIMEOUT is not used"
	if last := notes[len(notes)-1].String(); last != want {
		t.Errorf("the note is %q", last)
	}
}

func TestVariableSetToNothingIsNotSet(t *testing.T) {
	none := maps.Clone(another)
	for name := range none {
		none[name] = ""
	}
	c, notes, err := config.Parse("x.yaml", []byte(oneBackend), with(none))
	if err != nil || c.Asks != config.Default().Asks || len(notes) != 0 {
		t.Errorf("asks %+v, notes %v, %v", c.Asks, notes, err)
	}
}

func TestWordsForTrueAndFalse(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "True": true, "1": true, "yes": true, "on": true, " true ": true,
		"false": false, "FALSE": false, "0": false, "no": false, "off": false,
	} {
		c, _, err := config.Parse("x.yaml", []byte(oneBackend), with(map[string]string{"MCPGATEWAY_ELICITATION_ENABLED": value}))
		if err != nil || c.Asks.Enabled != want {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// A bad value stops the start with the variable's name, also where the file has
// precedence, and its value is not repeated.
func TestBadVariablesAreRefusedByName(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"MCPGATEWAY_ELICITATION_ENABLED", "hunter2", "cannot be read; set it to true or false, or unset it"},
		{"MCPGATEWAY_ELICITATION_TIMEOUT", "hunter2", "cannot be read; set it to a whole number of seconds, such as 60, or unset it"},
		{"MCPGATEWAY_ELICITATION_TIMEOUT", "60s", "cannot be read; set it to a whole number of seconds, such as 60, or unset it"},
		{"MCPGATEWAY_ELICITATION_TIMEOUT", "1.5", "cannot be read; set it to a whole number of seconds, such as 60, or unset it"},
		{"MCPGATEWAY_ELICITATION_TIMEOUT", "-1", "cannot be read; set it to a whole number of seconds, such as 60, or unset it"},
		{"MCPGATEWAY_ELICITATION_TIMEOUT", "99999999999999999999", "cannot be read; set it to a whole number of seconds, such as 60, or unset it"},
		{"MCPGATEWAY_ELICITATION_TIMEOUT", "0", "out of the bounds of asks.timeout, 1s to 30d; set it to a whole number of seconds, such as 60, or unset it"},
		{"MCPGATEWAY_ELICITATION_TIMEOUT", "2592001", "out of the bounds of asks.timeout, 1s to 30d; set it to a whole number of seconds, such as 60, or unset it"},
		{"MCPGATEWAY_ELICITATION_MAX_CONCURRENT", "many", "cannot be read; set it to a whole number, such as 100, or unset it"},
		{"MCPGATEWAY_ELICITATION_MAX_CONCURRENT", "0", "out of the bounds of asks.max_open, 1 to 10000000; set it to a whole number, such as 100, or unset it"},
	} {
		for _, file := range []string{oneBackend, oneBackend + "asks: { enabled: true, timeout: 1m, max_open: 5 }\n"} {
			_, _, err := config.Parse("x.yaml", []byte(file), with(map[string]string{test.name: test.value}))
			if err == nil || !strings.HasPrefix(err.Error(), test.name+": the value of this environment variable ") || !strings.HasSuffix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s=%s: %v", test.name, test.value, err)
			}
		}
	}

	// What does not fit together with the file is the variable's fault too.
	_, _, err := config.Parse("x.yaml", []byte(oneBackend+"limits: { call_cap: 10m }\n"), with(map[string]string{"MCPGATEWAY_ELICITATION_TIMEOUT": "601"}))
	if err == nil || !strings.HasPrefix(err.Error(), "MCPGATEWAY_ELICITATION_TIMEOUT: 10m1s is longer than limits.call_cap") {
		t.Errorf("a timeout beyond the cap: %v", err)
	}
}
