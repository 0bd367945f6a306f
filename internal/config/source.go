package config

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
)

// source is what is remembered of the file that a configuration came from.
type source struct {
	file    string
	lines   map[string]int    // of every key that the file gives a value
	origins map[string]string // the key of each backend that was pasted
}

// sets reports whether the file, or a variable of another gateway, gives a
// value to the key or to one inside it.
func (c *Config) sets(key string) bool {
	if c.fromEnv[key] != "" {
		return true
	}
	if c.source == nil {
		return false
	}
	_, ok := c.source.lines[key]
	return ok
}

// Programs finds the commands of enabled backends that cannot be started:
// those that look finds nowhere, as exec.LookPath does. Whether a program is
// there depends on the machine and the moment, so Parse does not ask.
func (c *Config) Programs(look func(string) (string, error)) error {
	var found []Problem
	for _, name := range c.Enabled() {
		b := c.Backends[name]
		if b.Command == "" {
			continue
		}
		command := b.Command
		if strings.ContainsRune(command, filepath.Separator) && !filepath.IsAbs(command) {
			command = filepath.Join(b.Dir, command)
		}
		if _, err := look(command); err == nil {
			continue
		}
		found = append(found, c.missing(name, b))
	}
	return asError(found)
}

// missing is what to do about a program that is not there.
func (c *Config) missing(name string, b Backend) Problem {
	p := Problem{Key: "backends." + name + ".command", What: "there is no program " + quoted(b.Command)}
	if c.source != nil {
		p.File, p.Key = c.source.file, keyOf(name, c.source.origins)+".command"
		p.Line = c.source.lines[p.Key]
	}
	switch words := strings.Fields(b.Command); {
	case len(words) > 1 && len(b.Args) == 0:
		p.Fix = "split it: command: " + text(words[0]) + ", args: [" + quotedList(words[1:]) + "]"
	case len(words) > 1:
		p.Fix = "write the program alone, and its arguments in args"
	case strings.ContainsRune(b.Command, filepath.Separator):
		p.Fix = "check the path, and that the file can be executed"
	default:
		p.Fix = "install it, add its directory to PATH, or write its whole path (this PATH is that of this command; a service has its own)"
	}
	return p
}

func quotedList(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = quoted(w)
	}
	return strings.Join(list, ", ")
}

// tabLine gives the first line whose indentation holds a tab, 0 for none.
func tabLine(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if bytes.ContainsRune(indent, '\t') {
			return n
		}
	}
	return 0
}

// wholeClientFile reports whether the root of a file is that of a client's own
// configuration: servers to paste, and no key of the gateway.
func wholeClientFile(keys []string, fields []field) bool {
	servers := false
	for _, key := range keys {
		switch key {
		case "mcpServers", "servers":
			servers = true
		case "inputs", "$schema":
		default:
			if slices.ContainsFunc(fields, func(f field) bool { return f.key == key }) {
				return false
			}
		}
	}
	return servers
}
