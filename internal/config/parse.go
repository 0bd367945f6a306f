package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// smallest is the smallest useful file.
const smallest = `backends:
  everything: { command: npx, args: ["-y", "@modelcontextprotocol/server-everything", "stdio"] }
`

// Find gives the path of the configuration file: given where it is not empty,
// else $ANSWERBACK_CONFIG, ./answerback.yaml, or answerback/config.yaml in
// $XDG_CONFIG_HOME. The error for none shows the smallest file.
func Find(given string, env LookupEnv) (string, error) {
	if given != "" {
		return given, nil
	}
	if path, _ := env("ANSWERBACK_CONFIG"); path != "" {
		return path, nil
	}
	places := []string{"answerback.yaml"}
	if dir := xdg(env, "XDG_CONFIG_HOME", ".config"); dir != "" {
		places = append(places, filepath.Join(dir, "answerback", "config.yaml"))
	}
	for _, path := range places {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("no configuration file: $ANSWERBACK_CONFIG is not set, and there is no %s; give --config, or write answerback.yaml with at least:\n\n%s",
		strings.Join(places, " and no "), smallest)
}

// Load reads and parses the file at path. The notes are worth telling the
// operator, also where there is an error. The error is an *Error where the
// content is wrong.
func Load(path string, env LookupEnv) (*Config, []Note, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return Parse(path, data, env)
}

// readFile reads a little more than is allowed at most, so that Parse can
// refuse what is too large.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxInput+1))
}

// Parse reads a configuration from data. The name stands in messages, tells
// JSON by its ending, and is where relative paths start. The error is an
// *Error with every problem found.
func Parse(name string, data []byte, env LookupEnv) (*Config, []Note, error) {
	tree, problem := readTree(name, data)
	if problem != nil {
		return nil, nil, asError([]Problem{*problem})
	}
	d := newDecoder(name, env)
	f := file{Config: *Default()}
	if tree != nil {
		d.decode("", 0, tree, reflect.ValueOf(&f).Elem())
	}
	if d.nodes >= maxNodes {
		return nil, d.notes, asError(d.problems)
	}
	for name, b := range f.Backends {
		b.written = d.asWritten("backends."+name, "url", len(b.Args))
		f.Backends[name] = b
	}
	origins := d.adopt(&f)
	c := &f.Config
	c.source = &source{file: name, lines: d.lines, origins: origins}
	d.compat(c)
	d.settle(c, origins)
	d.judge(c, origins)
	if err := asError(d.problems); err != nil {
		return nil, d.notes, err
	}
	for _, n := range c.notes() {
		d.note(d.line(n.Key), n.Key, n.Text)
	}
	slices.SortStableFunc(d.notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	return c, d.notes, nil
}

// settle replaces what depends on the environment, on the place of the file or
// on other keys by what it comes to.
func (d *decoder) settle(c *Config, origins map[string]string) {
	base := filepath.Dir(d.file)
	if _, given := d.lines["data_dir"]; !given {
		c.dataDirChosen = true
		if dir := xdg(d.env, "XDG_DATA_HOME", ".local/share"); dir != "" {
			c.DataDir = filepath.Join(dir, "answerback")
		}
	}
	c.DataDir = d.path("data_dir", base, c.DataDir)
	if _, given := d.lines["limits.body_bytes"]; !given {
		c.Limits.BodyBytes = max(c.Limits.BodyBytes, c.Limits.MessageBytes)
	}
	for _, r := range c.Limits.rooms() {
		if _, given := d.lines["limits."+r.key]; !given {
			*r.size = max(*r.size, r.times**r.of)
		}
	}
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	lower(c.AllowedHosts)
	lower(c.AllowedOrigins)
	for name, b := range c.Backends {
		key := keyOf(name, origins)
		b.Dir = d.path(key+".dir", base, b.Dir)
		b.Command = d.home(key+".command", b.Command)
		c.Backends[name] = b
	}
}

// judge adds what validation finds, at the place in the file that it is about,
// but for what only follows from a problem that is reported already.
func (d *decoder) judge(c *Config, origins map[string]string) {
	known := slices.Clone(d.problems)
	for _, p := range c.problems() {
		if rest, ok := strings.CutPrefix(p.Key, "backends."); ok {
			name, rest, hasRest := strings.Cut(rest, ".")
			p.Key = keyOf(name, origins)
			if hasRest {
				p.Key += "." + rest
			}
		}
		follows := p.Key == "backends" && len(known) > 0
		for _, k := range known {
			follows = follows || within(p.Key, k.Key) || within(k.Key, p.Key)
		}
		switch name, compat := c.fromEnv[p.Key]; {
		case follows:
		case compat: // the place to mend it is the environment
			d.problems = append(d.problems, Problem{Key: name, What: p.What, Fix: p.Fix})
		default:
			d.problem(d.line(p.Key), p.Key, p.What, p.Fix)
		}
	}
}

// within reports whether inner is outer or a key inside it.
func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// keyOf gives the key under which a backend stands in the file.
func keyOf(name string, origins map[string]string) string {
	return cmp.Or(origins[name], "backends."+name)
}

// path makes an absolute path of one that starts at home or at base.
func (d *decoder) path(key, base, path string) string {
	path = d.home(key, path)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// home replaces a leading ~ by the home directory.
func (d *decoder) home(key, path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	dir, _ := d.env("HOME")
	if dir == "" {
		d.problem(d.line(key), key, "starts with ~, but HOME is not set", "set HOME, or write the whole path")
		return path
	}
	return filepath.Join(dir, path[1:])
}

// xdg gives a base directory, or "" where the environment names none.
func xdg(env LookupEnv, name, underHome string) string {
	if dir, _ := env(name); filepath.IsAbs(dir) {
		return dir
	}
	if home, _ := env("HOME"); home != "" {
		return filepath.Join(home, underHome)
	}
	return ""
}

func lower(list []string) {
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
}
