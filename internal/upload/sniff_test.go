package upload

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"
)

func sniff(content []byte, name string, step int, takes ...string) string {
	s := newSniffer()
	for len(content) > 0 {
		n := min(step, len(content))
		s.Write(content[:n])
		content = content[n:]
	}
	return s.Type(name, func(t string) bool {
		for _, want := range takes {
			if t == want {
				return true
			}
		}
		return len(takes) == 0
	})
}

func zipped(t testing.TB, method uint16, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, n := range names {
		name, content, _ := strings.Cut(n, "=")
		e, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: method, CompressedSize64: uint64(len(content)), UncompressedSize64: uint64(len(content))})
		if err != nil {
			t.Fatal(err)
		}
		e.Write([]byte(content))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// F16: a file is what its content is, whatever it is called.
func TestTypesAreFoundByContent(t *testing.T) {
	docx := zipped(t, zip.Store, "[Content_Types].xml=x", "word/document.xml=x")
	odt := zipped(t, zip.Store, "mimetype=application/vnd.oasis.opendocument.text", "content.xml=x")
	both := zipped(t, zip.Store, "[Content_Types].xml=x", "word/document.xml=x", "xl/workbook.xml=x")
	bare := zipped(t, zip.Store, "word/document.xml=x")
	talks := zipped(t, zip.Store, "[Content_Types].xml=x", "notes.txt=see word/document.xml")
	behind := append(zipped(t, zip.Store, "notes.txt=x"), docx...)
	liar := zipped(t, zip.Store, "mimetype=application/json", "x=x")
	for _, c := range []struct {
		name, content, want string
		takes               []string
	}{
		{"x.png", string(png), "image/png", nil},
		{"x.txt", string(png), "image/png", []string{"text/plain"}},
		{"x.pdf", "%PDF-1.7\n", "application/pdf", nil},
		{"x.json", `{"a":[1,2]}`, "application/json", nil},
		{"x.json", ` [] `, "text/plain", []string{"text/plain"}},
		{"x.json", `{"a":`, "text/plain", nil},
		{"x.json", `"just words"`, "text/plain", nil},
		{"x.yaml", "a: 1", "application/yaml", nil},
		{"x.yml", "a: 1", "text/yaml", []string{"text/yaml", "application/json"}},
		{"x.yml", "a: 1\x00", binaryType, nil},
		{"x.csv", "a,b\n1,2\n", "text/csv", nil},
		{"x.csv", "a,b\n1,2\n", "text/plain", []string{"text/plain"}},
		{"x.csv", "MZ\x90\x00\x03", binaryType, []string{"text/csv"}},
		{"x.md", "# Título", "text/markdown", nil},
		{"x.txt", "\xff\xfea\x00", binaryType, nil}, // UTF-16 is not read
		{"x.txt", "caf\xc3", binaryType, nil},
		{"x.png", "<html>", "text/html", nil},
		{"x.png", "<svg/>", "image/svg+xml", nil},
		{"x.xml", "<?xml version='1.0'?><a/>", "text/xml", []string{"text/xml"}},
		{"x.docx", string(docx), zipTypes[0].name, nil},
		{"x.zip", string(docx), zipType, []string{zipType}},
		{"x.txt", "BMW is a car, and no bitmap", "text/plain", nil},
		{"x.bmp", "BMF\x00\x00\x00\x00\x00\x00\x006\x00\x00\x00\x29\x00\x00\x00", binaryType, nil},
		{"x.svg", "<?xml version='1.0'?><svg/>\x00\x01", binaryType, nil},
		{"x.svg", "<svgs/>", "text/plain", nil},
		{"x.docx", string(bare), zipTypes[0].name, nil},
		{"x.md", "<details><svg/></details>", "text/markdown", nil},
		{"x.docx", string(both), zipType, nil},
		{"x.docx", string(talks), zipType, nil},
		{"x.docx", string(behind), zipType, nil},
		{"x.odt", string(odt), "application/vnd.oasis.opendocument.text", nil},
		{"x.json", string(liar), zipType, []string{"application/json"}},
		{"x.gz", "\x1f\x8b\x08\x00", "application/gzip", nil},
		{"x.exe", "MZ\x90\x00\x03\x00\x00", binaryType, nil},
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			if c.name == "x.json" && step < 1<<20 && strings.HasPrefix(c.content, `{"a":`) {
				continue // in several parts only the ends of JSON are looked at
			}
			if got := sniff([]byte(c.content), c.name, step, c.takes...); got != c.want {
				t.Errorf("%.20q called %s in steps of %d is %s, want %s", c.content, c.name, step, got, c.want)
			}
		}
	}
	long := `{"a":"` + strings.Repeat("é", partSize) + `"}`
	if got := sniff([]byte(long), "x.json", partSize); got != jsonType {
		t.Errorf("long JSON is %s", got)
	}
}
