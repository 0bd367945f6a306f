package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// asset is a file that pages load, the same for everybody.
type asset struct {
	path string // has a digest of the content in it
	kind string
	body []byte
}

// newAsset takes an embedded file, such as "static/look.css".
func newAsset(name, kind string) asset {
	body, err := files.ReadFile(name)
	if err != nil {
		panic(err) // what is embedded is there
	}
	sum := sha256.Sum256(body)
	stem, ext, _ := strings.Cut(name, ".")
	return asset{path: "/" + stem + "-" + hex.EncodeToString(sum[:8]) + "." + ext, kind: kind, body: body}
}

// serve gives the file, to be kept for ever: another content has another path.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}
