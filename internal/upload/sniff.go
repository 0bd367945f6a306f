package upload

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	binaryType = "application/octet-stream"
	textType   = "text/plain"
	zipType    = "application/zip"
	jsonType   = "application/json"

	sniffed = 512 // bytes at the beginning that signatures are looked for in
)

// textTypes are the names of what is plain text by its content, and whose
// kind only its author knows: by the end of the file's name. Nothing in here
// is run or drawn by a browser.
var textTypes = map[string][]string{
	".csv":      {"text/csv", "application/csv"},
	".tsv":      {"text/tab-separated-values"},
	".md":       {"text/markdown", "text/x-markdown"},
	".markdown": {"text/markdown", "text/x-markdown"},
	".yaml":     {"application/yaml", "text/yaml", "application/x-yaml", "text/x-yaml"},
	".yml":      {"application/yaml", "text/yaml", "application/x-yaml", "text/x-yaml"},
	".toml":     {"application/toml", "text/x-toml"},
	".ics":      {"text/calendar"},
	".vcf":      {"text/vcard"},
	".pem":      {"application/x-pem-file", "application/x-x509-ca-cert"},
	".log":      {"text/x-log"},
}

// zipTypes are the documents that are an archive, by a file that only they
// have in it.
var zipTypes = []struct{ holds, name string }{
	{"word/document.xml", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{"xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{"ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
}

// packaging are the files, or their directories, with which such documents
// begin, beside those of zipTypes. An archive that begins otherwise is another,
// whatever it holds.
var packaging = []string{"[Content_Types].xml", "_rels/", "docProps/", "customXml/", "[trash]/", "word/", "xl/", "ppt/"}

// The header of a file in an archive: how it begins, where the length of the
// file's name is, and where the name.
const (
	zipHeader     = "PK\x03\x04"
	zipNameLength = 26
	zipNameAt     = 30
)

// mimeEntry begins archives that say themselves what they are: OpenDocument
// and EPUB have a first file of this name, stored as it is.
const mimeEntry = "mimetype"

// saysSo is what such archives may say. Anything else is a claim.
var saysSo = regexp.MustCompile(`^application/(epub\+zip|vnd\.oasis\.opendocument\.[a-z-]{1,40})$`)

// drawing is the first element of an SVG, which may stand behind a declaration
// of XML, and drawn the beginning of one that has none.
var (
	drawing = regexp.MustCompile(`(?i)<svg[\s/>]`)
	drawn   = regexp.MustCompile(`(?i)^\s*<svg[\s/>]`)
)

// sniffer finds out what a file is while it passes by.
type sniffer struct {
	head  []byte
	tail  []byte // the end of what was seen, long enough for whatever is looked for across parts
	size  int64
	whole []byte // all of it, as long as it is one write
	text  bool   // everything so far is UTF-8 without control characters
	rest  []byte // the beginning of a character whose end is in the next part
	first byte   // that is no space
	last  byte
	zip   string // the document that the archive is
	torn  bool   // it could be another as well
}

func newSniffer() *sniffer { return &sniffer{text: true} }

// Write looks at the next part. It keeps no slice.
func (s *sniffer) Write(p []byte) {
	if len(p) == 0 {
		return
	}
	if s.size == 0 {
		s.whole = bytes.Clone(p)
	} else {
		s.whole = nil
	}
	s.size += int64(len(p))
	if more := sniffed - len(s.head); more > 0 {
		s.head = append(s.head, p[:min(more, len(p))]...)
	}
	s.readText(p)
	if bytes.HasPrefix(s.head, []byte(zipHeader)) {
		s.readZip(p)
	}
}

func (s *sniffer) readText(p []byte) {
	if trimmed := bytes.TrimSpace(p); len(trimmed) > 0 {
		if s.first == 0 {
			s.first = trimmed[0]
		}
		s.last = trimmed[len(trimmed)-1]
	}
	if !s.text {
		return
	}
	b := p
	if len(s.rest) > 0 {
		b, s.rest = append(s.rest, p...), nil
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n <= 1 && !utf8.FullRune(b):
			s.rest = bytes.Clone(b)
			return
		case r == utf8.RuneError && n <= 1, r < ' ' && !strings.ContainsRune("\t\n\r\f", r), r == 0x7f:
			s.text = false
			return
		}
		b = b[n:]
	}
}

// readZip looks for the file that makes an archive a document. It counts as the
// name of a file, behind a header: in the content of another file it is a word.
func (s *sniffer) readZip(p []byte) {
	const longest = zipNameAt + 32
	b := append(s.tail, p...)
	if s.size <= sniffed {
		b = s.head // the first parts may have been too short to know an archive
	}
	for at := 0; ; at += len(zipHeader) {
		next := bytes.Index(b[at:], []byte(zipHeader))
		if next < 0 {
			break
		}
		at += next
		for _, z := range zipTypes {
			if zipName(b[at:]) != z.holds {
				continue
			}
			s.torn = s.torn || s.zip != "" && s.zip != z.name
			s.zip = z.name
		}
	}
	s.tail = bytes.Clone(b[max(0, len(b)-longest):])
}

// zipName gives the name of the file whose header is at the beginning of b, ""
// where there is not all of it.
func zipName(b []byte) string {
	if len(b) < zipNameAt {
		return ""
	}
	end := zipNameAt + int(binary.LittleEndian.Uint16(b[zipNameLength:]))
	if len(b) < end {
		return ""
	}
	return string(b[zipNameAt:end])
}

// Type says what the file is, in the words of whoever takes it where the same
// thing has several names. The name of the file decides nothing but which
// kind of plain text it is.
func (s *sniffer) Type(name string, takes func(string) bool) string {
	names := s.names(strings.ToLower(path.Ext(name)))
	for _, n := range names {
		if takes(n) {
			return n
		}
	}
	return names[0]
}

// names are those of what the content is, the most exact first.
func (s *sniffer) names(ext string) []string {
	found, _, _ := strings.Cut(http.DetectContentType(s.head), ";")
	switch {
	case found == zipType:
		return s.zipNames()
	case found == "text/xml":
		if drawing.Match(s.head) {
			return s.ifText("image/svg+xml")
		}
		return s.ifText("application/xml", "text/xml")
	case found == "text/html":
		return s.ifText("text/html")
	case found == "application/x-gzip":
		return []string{"application/gzip", found}
	case found == "audio/wave":
		return []string{"audio/wav", found}
	case found != textType && found != binaryType && (found != "image/bmp" || s.isBMP()):
		return []string{found}
	case !s.text || len(s.rest) > 0:
		return []string{binaryType}
	case drawn.Match(s.head):
		return []string{"image/svg+xml"}
	case s.isJSON():
		return []string{jsonType, "text/json", textType}
	}
	return append(textTypes[ext][:len(textTypes[ext]):len(textTypes[ext])], textType)
}

// ifText gives these names for what is text throughout: what only begins so
// is something else behind it.
func (s *sniffer) ifText(names ...string) []string {
	if s.text && len(s.rest) == 0 {
		return names
	}
	return []string{binaryType}
}

func (s *sniffer) zipNames() []string {
	first := zipName(s.head)
	if first == mimeEntry {
		said := s.head[zipNameAt+len(mimeEntry):]
		if end := bytes.Index(said, []byte("PK")); end > 0 && saysSo.Match(said[:end]) {
			return []string{string(said[:end]), zipType}
		}
	}
	begins := func(p string) bool { return first == p || strings.HasSuffix(p, "/") && strings.HasPrefix(first, p) }
	if s.zip != "" && !s.torn && slices.ContainsFunc(packaging, begins) {
		return []string{s.zip, zipType}
	}
	return []string{zipType}
}

// isBMP reports whether the content has the header of a bitmap behind its two
// letters, with which text can begin as well: the header's size at 14, which is
// one of a few.
func (s *sniffer) isBMP() bool {
	if len(s.head) < 18 {
		return false
	}
	switch binary.LittleEndian.Uint32(s.head[14:]) {
	case 12, 16, 40, 52, 56, 64, 108, 124:
		return true
	}
	return false
}

// isJSON reports whether the content is an object or a list: for certain where
// it fits into one part, else by how it begins and ends.
func (s *sniffer) isJSON() bool {
	if s.whole != nil {
		return (s.first == '{' || s.first == '[') && json.Valid(s.whole)
	}
	return s.first == '{' && s.last == '}' || s.first == '[' && s.last == ']'
}
