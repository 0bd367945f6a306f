package config

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Environment variables of another gateway that this one understands, so that
// a deployment which sets them keeps its settings. An explicit key of the file
// has precedence over its variable.
const (
	EnvEnabled       = "MCPGATEWAY_ELICITATION_ENABLED"
	EnvTimeout       = "MCPGATEWAY_ELICITATION_TIMEOUT"
	EnvMaxConcurrent = "MCPGATEWAY_ELICITATION_MAX_CONCURRENT"
)

// compatible is a variable of another gateway and the key that it stands for.
type compatible struct {
	name string
	key  string
	doc  string
	// set writes the value into the configuration and reports whether it
	// could be read.
	set func(c *Config, value string) bool
	fix string
}

var compatibles = []compatible{
	{
		name: EnvEnabled, key: "asks.enabled",
		doc: "true or false; the other gateway's default is true",
		set: func(c *Config, value string) (ok bool) {
			c.Asks.Enabled, ok = truth(value)
			return ok
		},
		fix: "set it to true or false, or unset it",
	},
	{
		name: EnvTimeout, key: "asks.timeout",
		doc: "seconds; the other gateway's default is 60",
		set: func(c *Config, value string) bool {
			n, ok := natural(value)
			c.Asks.Timeout = time.Duration(n) * time.Second
			return ok
		},
		fix: "set it to a whole number of seconds, such as 60, or unset it",
	},
	{
		name: EnvMaxConcurrent, key: "asks.max_open",
		doc: "a number; the other gateway's default is 100",
		set: func(c *Config, value string) bool {
			n, ok := natural(value)
			c.Asks.MaxOpen = int(n)
			return ok
		},
		fix: "set it to a whole number, such as 100, or unset it",
	},
}

// compat applies the variables of another gateway to keys that the file does
// not set. A bad value is refused also where the file has precedence: the
// variable would count as soon as its key were taken out of the file.
func (d *decoder) compat(c *Config) {
	for _, v := range compatibles {
		value, _ := d.env(v.name)
		if value == "" {
			continue // set to nothing and not set are the same, as in ${NAME:-default}
		}
		changed := *c
		what := "the value of this environment variable cannot be read"
		good := v.set(&changed, strings.TrimSpace(value))
		if good {
			what, good = v.within(&changed)
		}
		line, given := d.lines[v.key]
		switch {
		case !good:
			d.problems = append(d.problems, Problem{Key: v.name, What: what, Fix: v.fix})
		case given:
			d.note(line, v.key, "is set in this file, so the environment variable "+v.name+" is not used")
		default:
			*c = changed
			if c.fromEnv == nil {
				c.fromEnv = map[string]string{}
			}
			c.fromEnv[v.key] = v.name
			d.note(0, v.key, "is set by the environment variable "+v.name)
		}
	}
}

// within reports whether c keeps to the bounds of the variable's key, and what
// is wrong where it does not.
func (v compatible) within(c *Config) (what string, ok bool) {
	asks := reflect.ValueOf(c.Asks)
	for _, f := range fieldsOf(asks.Type()) {
		if "asks."+f.key != v.key || f.min == "" {
			continue
		}
		if n := asks.FieldByIndex(f.index).Int(); n < limit(f, f.min) || n > limit(f, f.max) {
			return "the value of this environment variable is out of the bounds of " + v.key + ", " + f.min + " to " + f.max, false
		}
	}
	return "", true
}

// natural reads a whole number that is not negative, small enough to be a
// number of seconds in a duration.
func natural(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int64(n), err == nil
}

// truth reads the words that settings of the other gateway may use.
func truth(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "t", "1", "yes", "y", "on":
		return true, true
	case "false", "f", "0", "no", "n", "off":
		return false, true
	}
	return false, false
}
