package upload

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path"
	"regexp"
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

// mimeEntry begins archives that say themselves what they are: OpenDocument
// and EPUB have a first file of this name, stored as it is.
const (
	mimeEntry   = "mimetype"
	mimeEntryAt = 30 // of the name, behind the header of the first file
)

// saysSo is what such archives may say. Anything else is a claim.
var saysSo = regexp.MustCompile(`^application/(epub\+zip|vnd\.oasis\.opendocument\.[a-z-]{1,40})$`)

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
	if bytes.HasPrefix(s.head, []byte("PK\x03\x04")) {
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

func (s *sniffer) readZip(p []byte) {
	const longest = 32
	b := p
	if len(s.tail) > 0 {
		b = append(s.tail, p...)
	}
	for _, z := range zipTypes {
		if s.zip == "" && bytes.Contains(b, []byte(z.holds)) {
			s.zip = z.name
		}
	}
	s.tail = bytes.Clone(b[max(0, len(b)-longest):])
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
		if bytes.Contains(bytes.ToLower(s.head), []byte("<svg")) {
			return []string{"image/svg+xml"}
		}
		return s.ifText("application/xml", "text/xml")
	case found == "text/html":
		return s.ifText("text/html")
	case found == "application/x-gzip":
		return []string{"application/gzip", found}
	case found == "audio/wave":
		return []string{"audio/wav", found}
	case found != textType && found != binaryType:
		return []string{found}
	case !s.text || len(s.rest) > 0:
		return []string{binaryType}
	case bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(s.head)), []byte("<svg")):
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
	if head := s.head; len(head) > mimeEntryAt+len(mimeEntry) && string(head[mimeEntryAt:mimeEntryAt+len(mimeEntry)]) == mimeEntry {
		said := head[mimeEntryAt+len(mimeEntry):]
		if end := bytes.Index(said, []byte("PK")); end > 0 && saysSo.Match(said[:end]) {
			return []string{string(said[:end]), zipType}
		}
	}
	if s.zip != "" {
		return []string{s.zip, zipType}
	}
	return []string{zipType}
}

// isJSON reports whether the content is an object or a list: for certain where
// it fits into one part, else by how it begins and ends.
func (s *sniffer) isJSON() bool {
	if s.whole != nil {
		return (s.first == '{' || s.first == '[') && json.Valid(s.whole)
	}
	return s.first == '{' && s.last == '}' || s.first == '[' && s.last == ']'
}
