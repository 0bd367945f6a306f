package bridge

import (
	"context"
	"net/http"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// maxMirrored bounds the headers and the depth at which a schema may ask for
// them.
const maxMirrored = 64

// mirrored gives the headers in which the server wants arguments repeated, as
// far as its schemas are known.
func (l *Line) mirrored(m *wire.Message) http.Header {
	tools := l.tools.Load()
	if tools == nil || m.Method() != "tools/call" {
		return nil
	}
	item := tools.Item(m.Text(m.Name))
	at, err := wire.Value(item)
	if err != nil {
		return nil
	}
	h := make(http.Header)
	mirror(h, item, wire.Get(item, at, "inputSchema"), m.Raw, m.Arguments, 0)
	return h
}

// mirror walks schema and arguments side by side: only members of properties
// can be mirrored.
func mirror(h http.Header, schema []byte, at wire.Span, args []byte, value wire.Span, depth int) {
	if depth > maxMirrored {
		return
	}
	for p := range wire.Members(schema, wire.Get(schema, at, "properties")) {
		name, _ := wire.Unquote(p.Key.Of(schema))
		arg := wire.Get(args, value, name)
		if arg.IsZero() || len(h) >= maxMirrored {
			continue
		}
		if header, ok := wire.Unquote(wire.Get(schema, p.Value, "x-mcp-header").Of(schema)); ok && validName(header) {
			if text, ok := headerText(arg.Of(args)); ok {
				h["Mcp-Param-"+http.CanonicalHeaderKey(header)] = []string{era.EncodeHeader(text)}
			}
		}
		mirror(h, schema, p.Value, args, arg, depth+1)
	}
}

// headerText writes an argument as the header repeats it; null is left out.
func headerText(token []byte) (string, bool) {
	if text, ok := wire.Unquote(token); ok {
		return text, true
	}
	switch token[0] {
	case 'n', '{', '[':
		return "", false
	}
	return string(token), true
}

// validName reports whether a schema's word can be part of a header's name.
func validName(s string) bool {
	return s != "" && len(s) <= 128 && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) < 0
}

// readTools reads the server's tools anew, for their schemas.
func (l *Line) readTools(ctx context.Context) error {
	view, err := catalog.AllPages(ctx, l.cfg.Backend, catalog.Tools, func(ctx context.Context, cursor []byte) ([]byte, error) {
		raw := []byte(`{"jsonrpc":"2.0","id":"tools","method":"tools/list","params":{`)
		if cursor != nil {
			raw = append(append(raw, `"cursor":`...), cursor...)
		}
		m, err := wire.Scan(append(raw, "}}"...), l.cfg.Scan)
		if err != nil {
			return nil, err
		}
		m, err = wire.Scan(wire.Splice(nil, m.Raw, era.Modernise(&m, l.client())...), l.cfg.Scan)
		if err != nil {
			return nil, err
		}
		reply, err := l.cfg.Far.Call(ctx, contract.Outgoing{Msg: &m}, nothing{})
		if err != nil {
			return nil, err
		}
		if reply.Msg.Kind == wire.Failure {
			return nil, ask.Errorf(ask.BackendBroken, "Backend "+l.cfg.Backend+" wants headers and does not list its tools.")
		}
		return reply.Msg.Field(reply.Msg.Result), nil
	})
	if err != nil {
		return err
	}
	l.tools.Store(view)
	return nil
}

// nothing takes what comes beside the response of a request of our own.
type nothing struct{}

func (nothing) Notify(*wire.Message)        {}
func (nothing) Question(*contract.Question) {}
