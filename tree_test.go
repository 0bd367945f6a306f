package answerback_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// goFile is a Go file of the tree, parsed.
type goFile struct {
	path   string // slash-separated, from the root
	dir    string // its package's path below the module
	test   bool
	text   string
	fset   *token.FileSet
	syntax *ast.File
}

// tree gives the text of every file that is, or would be, checked in.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var readTree = sync.OnceValues(func() (map[string]string, error) {
	ignored := []string{".git", ".out", ".peers", "bin"}
	files := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(ignored, name):
			return filepath.SkipDir
		case slices.Contains(ignored, name): // in a work tree .git is a file
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(name)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	return files, err
})

// goFiles gives every Go file of the tree but those in testdata. It is parsed
// once for all tests, which only read it.
func goFiles(t *testing.T) []*goFile {
	t.Helper()
	files, err := parseTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("found no Go file")
	}
	return files
}

var parseTree = sync.OnceValues(func() (files []*goFile, err error) {
	all, err := readTree()
	for name, text := range all {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			continue
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, &goFile{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), text, fset, syntax})
	}
	return files, err
})

// packages gives the files of each package by its directory: what is built,
// or the test files where there is nothing else.
func packages(t *testing.T) map[string][]*goFile {
	t.Helper()
	built, tests := map[string][]*goFile{}, map[string][]*goFile{}
	for _, f := range goFiles(t) {
		if f.test {
			tests[f.dir] = append(tests[f.dir], f)
		} else {
			built[f.dir] = append(built[f.dir], f)
		}
	}
	for dir, files := range tests {
		if built[dir] == nil {
			built[dir] = files
		}
	}
	return built
}

func (f *goFile) at(n ast.Node) string { return f.fset.Position(n.Pos()).String() }

func (f *goFile) imports() []string {
	var paths []string
	for _, i := range f.syntax.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// nameOf gives the name under which the file imports a package.
func (f *goFile) nameOf(imported string) (string, bool) {
	for _, i := range f.syntax.Imports {
		if p, _ := strconv.Unquote(i.Path.Value); p != imported {
			continue
		}
		if i.Name != nil {
			return i.Name.Name, true
		}
		return path.Base(imported), true
	}
	return "", false
}

// isSelector reports whether n is pkg.X for one of the names X.
func isSelector(n ast.Node, pkg string, names []string) bool {
	e, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := e.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, e.Sel.Name)
}

// under reports whether p is one of the roots or below one.
func under(p string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return p == root || strings.HasPrefix(p, root+"/")
	})
}
