package page

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// node is an element of a parsed page.
type node struct {
	name     string
	attr     map[string]string
	children []*node
	content  string // of a piece of text
}

func parse(t testing.TB, body string) *node {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(body))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	root := &node{}
	stack := []*node{root}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			if len(stack) != 1 {
				t.Fatalf("<%s> is never closed:\n%s", stack[len(stack)-1].name, body)
			}
			return root
		}
		if err != nil {
			t.Fatalf("the page does not parse: %v\n%s", err, body)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				if _, twice := n.attr[a.Name.Local]; twice {
					t.Errorf("<%s> has %s twice", n.name, a.Name.Local)
				}
				n.attr[a.Name.Local] = a.Value
			}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.children = append(top.children, &node{content: string(token)})
		}
	}
}

func (n *node) walk(f func(*node)) {
	f(n)
	for _, c := range n.children {
		c.walk(f)
	}
}

func (n *node) all(name string) []*node {
	var found []*node
	n.walk(func(e *node) {
		if e.name == name {
			found = append(found, e)
		}
	})
	return found
}

func (n *node) text() string {
	var b strings.Builder
	n.walk(func(e *node) { b.WriteString(e.content) })
	return b.String()
}

var ourScript = regexp.MustCompile(`^/static/(ask|files|hints)-[0-9a-f]+\.js$`)

// check holds what every page keeps: no script but ours, no style of its own, nothing
// from elsewhere, and what people with a screen reader or a keyboard need.
func (p *page) check() {
	p.t.Helper()
	ids, labelled := map[string]bool{}, map[string]bool{}
	p.root.walk(func(n *node) {
		if id := n.attr["id"]; id != "" {
			if ids[id] {
				p.t.Errorf("two elements have the id %s", id)
			}
			ids[id] = true
		}
		if n.name == "label" {
			labelled[n.attr["for"]] = true
			if strings.TrimSpace(n.text()) == "" {
				p.t.Errorf("the label of %s is empty", n.attr["for"])
			}
		}
	})
	p.root.walk(func(n *node) {
		switch n.name {
		case "script":
			if n.attr["type"] != "module" || !ourScript.MatchString(n.attr["src"]) || len(n.children) > 0 {
				p.t.Errorf("the page has a script %v %s", n.attr, n.text())
			}
		case "style", "iframe", "img", "object", "embed", "base", "svg":
			p.t.Errorf("the page has an element <%s>", n.name)
		case "select", "textarea":
			if !labelled[n.attr["id"]] {
				p.t.Errorf("field %s has no label", n.attr["name"])
			}
		case "input":
			if n.attr["type"] != "hidden" && !labelled[n.attr["id"]] {
				p.t.Errorf("field %s has no label", n.attr["name"])
			}
		case "form":
			if !strings.HasPrefix(n.attr["action"], "/") || n.attr["method"] != "post" {
				p.t.Errorf("a form goes to %s %s", n.attr["method"], n.attr["action"])
			}
		}
		for name, value := range n.attr {
			switch {
			case strings.HasPrefix(name, "on"), name == "style", name == "srcdoc":
				p.t.Errorf("<%s> has an attribute %s=%q", n.name, name, value)
			case name == "formaction" && !strings.HasPrefix(value, "/asks/"):
				p.t.Errorf("a button posts to %s", value)
			case name == "data-rule" && !json.Valid([]byte(value)):
				p.t.Errorf("the script is told %q", value)
			case name == "href" && strings.HasPrefix(value, "#") && !ids[value[1:]]:
				p.t.Errorf("a link leads to %s, which is not there", value)
			case name == "href" && !strings.HasPrefix(value, "#") && !strings.HasPrefix(value, "/") &&
				!(n.attr["target"] == "_blank" && n.attr["rel"] == "noopener noreferrer"):
				p.t.Errorf("<%s> leads away to %s", n.name, value)
			case name == "aria-describedby" || name == "aria-labelledby":
				for _, id := range strings.Fields(value) {
					if !ids[id] {
						p.t.Errorf("%s names %s, which is not there", name, id)
					}
				}
			}
		}
	})
	// One for every page, one for fields, and one for files.
	fields, files := 0, 0
	p.root.walk(func(n *node) {
		if _, field := n.attr["data-rule"]; field {
			fields = 1
		}
		if n.name == "input" && n.attr["type"] == "file" {
			files = 1
		}
	})
	want := 1 + fields + files
	if n := len(p.root.all("script")); n != want {
		p.t.Errorf("the page has %d scripts, want %d", n, want)
	}
	if n := len(p.root.all("h1")); n != 1 {
		p.t.Errorf("the page has %d first headings, want 1", n)
	}
	if titles := p.root.all("title"); len(titles) != 1 || strings.TrimSpace(titles[0].text()) == "" {
		p.t.Error("the page has no title")
	}
	if p.root.all("html")[0].attr["lang"] == "" || len(p.root.all("main")) != 1 {
		p.t.Error("the page lacks its language or its main part")
	}
	if got := p.header.Get("Cache-Control"); got != "no-store" {
		p.t.Errorf("caches are told %q", got)
	}
}
