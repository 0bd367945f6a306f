package page

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
)

//go:embed templates static
var files embed.FS

// The pages, by the file that holds their main part.
const (
	pageAsk         = "ask"
	pageChoose      = "choose"
	pageConnect     = "connect"
	pageConnections = "connections"
	pageHistory     = "history"
	pageInbox       = "inbox"
	pageLocal       = "local"
	pageNote        = "note"
)

// renderer turns data into pages. It is not modified after it was made.
type renderer struct {
	pages  map[string]*template.Template
	sheet  asset
	icon   asset
	script asset
	// uploader is the script of pages that take files.
	uploader asset
	// hints is the script of pages with fields.
	hints asset
	log   *slog.Logger
}

// parsed are the pages: the same for everybody, and dear to make.
var parsed = sync.OnceValue(func() map[string]*template.Template {
	pages := map[string]*template.Template{}
	for _, name := range []string{pageAsk, pageChoose, pageConnect, pageConnections, pageHistory, pageInbox, pageLocal, pageNote} {
		pages[name] = template.Must(template.ParseFS(files,
			"templates/layout.html", "templates/fields.html", "templates/"+name+".html"))
	}
	return pages
})

func newRenderer(log *slog.Logger) *renderer {
	return &renderer{
		pages:    parsed(),
		sheet:    newAsset("static/look.css", "text/css; charset=utf-8"),
		icon:     newAsset("static/mark.svg", "image/svg+xml"),
		script:   newAsset("static/ask.js", "text/javascript; charset=utf-8"),
		uploader: newAsset("static/files.js", "text/javascript; charset=utf-8"),
		hints:    newAsset("static/hints.js", "text/javascript; charset=utf-8"),
		log:      log,
	}
}

// frame is what every page has.
type frame struct {
	Title    string
	Sheet    string
	Icon     string
	Script   string
	Uploader string
	Hints    string
	Me       *me
	Tabs     []tab // the parts of the page of a person, where this is one of them
	Body     any
}

// me is who is signed in, and their token for signing out.
type me struct {
	Name  string
	Token string
}

// note is a page that only says something.
type note struct {
	About    *about // the question that it is about, where whoever reads it may see that
	Heading  string
	Words    []string
	Steps    []string
	Link     string
	LinkText string
	NewTab   bool
	Mark     bool // all is well
	Over     bool // the browser can forget what was typed here
	Typed    []typed
}

// typed is something that somebody wrote.
type typed struct {
	Label string
	Value string
}

// about is a question in a few words.
type about struct {
	Who    who
	Teaser string
}

// show writes a page, whole or not at all. Pages are for one person and one
// moment, so nobody keeps them.
func (rd *renderer) show(w http.ResponseWriter, status int, name string, f frame) {
	f.Sheet, f.Icon, f.Script = rd.sheet.path, rd.icon.path, rd.script.path
	f.Uploader, f.Hints = rd.uploader.path, rd.hints.path
	var b bytes.Buffer
	if err := rd.pages[name].ExecuteTemplate(&b, "layout.html", f); err != nil {
		rd.log.Error("page could not be rendered", "page", name, "err", err)
		http.Error(w, "Something went wrong inside the gateway.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever went away does not want it
}

func (rd *renderer) note(w http.ResponseWriter, status int, who *me, n note) {
	rd.show(w, status, pageNote, frame{Title: n.Heading, Me: who, Body: n})
}
