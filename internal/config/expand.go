package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// LookupEnv finds an environment variable, as os.LookupEnv does.
type LookupEnv = func(name string) (value string, ok bool)

// maxExpanded bounds what all expansions of a file may add up to.
const maxExpanded = 4 * maxInput

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${NAME} and ${NAME:-default} in s; $${ stands for a literal
// ${. What a variable contains is not expanded again. Errors say what is wrong
// and what to do, and never contain the value of a variable.
func expand(s string, env LookupEnv, budget *int) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		inner, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed {
			return "", errors.New("has ${ without a closing }; close it, or write $${ for a literal ${")
		}
		value, err := variable(inner, env)
		if err != nil {
			return "", err
		}
		if *budget -= len(value); *budget < 0 {
			return "", errors.New("expands to too much text; shorten the variables that the file uses")
		}
		b.WriteString(value)
		s = rest
	}
}

// variable gives the value of what stands between ${ and }. An empty variable
// takes the default, as in a shell.
func variable(inner string, env LookupEnv) (string, error) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	if id, ok := strings.CutPrefix(name, "input:"); ok {
		return "", fmt.Errorf("uses ${input:%s}, which only VS Code can ask for; set an environment variable and write ${NAME} instead", shown(id))
	}
	name = strings.TrimPrefix(name, "env:")
	if !variableName.MatchString(name) {
		return "", fmt.Errorf("has %s between ${ and }, which is not a variable name; write ${NAME}, or $${ for a literal ${", quoted(name))
	}
	value, ok := env(name)
	switch {
	case strings.Contains(fallback, "${"):
		return "", fmt.Errorf("has a variable inside the default of ${%s:-…}; write the default out", name)
	case hasFallback && value == "":
		return fallback, nil
	case !ok:
		return "", fmt.Errorf("the environment variable %s is not set; set it, or give a default: ${%s:-default}", name, name)
	case !utf8.ValidString(value):
		return "", fmt.Errorf("the environment variable %s is not UTF-8; set it to text", name)
	}
	return value, nil
}

// escape writes s so that expand gives s.
func escape(s string) string { return strings.ReplaceAll(s, "${", "$${") }
