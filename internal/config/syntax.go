package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxInput bounds the file.
	maxInput = 1 << 20
	// maxDepth bounds the nesting; the deepest key that exists lies at 5.
	maxDepth = 32
)

// readTree turns the bytes of a file into a tree of nodes with line numbers.
// Only syntax is judged. A nil tree without a problem is an empty file.
func readTree(name string, data []byte) (*yaml.Node, *Problem) {
	problem := func(line int, what, fix string) *Problem {
		return &Problem{File: name, Line: line, What: what, Fix: fix}
	}
	if len(data) > maxInput {
		return nil, problem(0, "the file is larger than 1 MiB", "a configuration is smaller; check that this is the right file")
	}
	if !utf8.Valid(data) {
		return nil, problem(0, "the file is not UTF-8 text", "save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))

	// What opens with a brace is read as JSON first, because JSON escapes
	// and tabs are not quite YAML's. A YAML flow mapping fails as JSON and is
	// then read as YAML, unless the file's name says that JSON was meant.
	isJSON := strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonc")
	if isJSON || bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		tree, line, err := readJSON(withoutComments(data))
		if err == nil {
			return tree, nil
		}
		if isJSON {
			return nil, problem(line, "this is not JSON: "+err.Error(), "comments and trailing commas are allowed, everything else must be JSON")
		}
	}
	return readYAML(data, problem)
}

var (
	yamlErrorLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)
	// yamlFromZero tells the errors of yaml's parser from those of its
	// scanner: the parser counts lines from 0, the scanner from 1.
	yamlFromZero = regexp.MustCompile(`^did not find expected ('[,-]'|key|node content|<)`)
)

func readYAML(data []byte, problem func(int, string, string) *Problem) (*yaml.Node, *Problem) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		switch err = dec.Decode(&more); {
		case errors.Is(err, io.EOF):
			return doc.Content[0], nil
		case err == nil:
			return nil, problem(more.Line, "a second document begins here", "keep everything in one document and remove the ---")
		}
	}
	found := yamlErrorLine.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(found[1])
	what := err.Error()[len(found[0]):]
	if yamlFromZero.MatchString(what) {
		line++
	}
	if at := tabLine(data); at > 0 && strings.Contains(what, "cannot start any token") {
		return nil, problem(at, "the line is indented with a tab", "YAML is indented with spaces: replace the tab by two of them, here and in the lines that follow")
	}
	return nil, problem(line, "this is not YAML: "+what, "check brackets and indentation of what begins here, and put quotes around values that contain { } : or #")
}

// withoutComments blanks comments and trailing commas, so that offsets and
// lines stay what they were.
func withoutComments(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1 // the last comma, while nothing but space follows it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := len(out)
			if n := bytes.Index(out[i+2:], []byte("*/")); n >= 0 {
				end = i + 2 + n + 2
			}
			for ; i < end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// jsonReader builds the tree that YAML would have given, keeping duplicate
// keys for the decoder to refuse.
type jsonReader struct {
	dec  *json.Decoder
	data []byte
	at   int // offset up to which lines were counted
	line int
}

func readJSON(data []byte) (tree *yaml.Node, line int, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, 0, nil
	}
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	r.dec.UseNumber()
	tree, err = r.value(0)
	if err == nil {
		if _, err = r.dec.Token(); err == nil {
			err = errors.New("something follows the closing brace")
		} else if errors.Is(err, io.EOF) {
			return tree, 0, nil
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return nil, r.here(), err
}

// here gives the line that the decoder has reached.
func (r *jsonReader) here() int {
	end := int(r.dec.InputOffset())
	r.line += bytes.Count(r.data[r.at:end], []byte("\n"))
	r.at = end
	return r.line
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errors.New("it is nested too deeply")
	}
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.here()}
	switch t := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.dec.More() {
			// Keys come as values too: the decoder itself sees to it that
			// they are strings.
			child, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.dec.Token()
		return n, err
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}
