package relay

import (
	"context"
	"errors"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// gathered is one list of all backends. A backend that could not be read has
// a part without a view, and a reason.
type gathered struct {
	parts []catalog.Part
	why   []*ask.Error // nil where the part has its view
}

// gather reads a view of every backend at once and waits for all of them.
func gather(ctx context.Context, t *table, read func(context.Context, *Entry) (*catalog.View, error)) gathered {
	g := gathered{parts: make([]catalog.Part, len(t.entries)), why: make([]*ask.Error, len(t.entries))}
	var wg sync.WaitGroup
	for i := range t.entries {
		e := &t.entries[i]
		wg.Go(func() {
			view, err := read(ctx, e)
			g.parts[i] = catalog.Part{Backend: e.Backend.Name(), View: view, Filter: e.Filter}
			g.why[i] = ask.From(err)
		})
	}
	wg.Wait()
	return g
}

// joinedPage builds one page of a joined list. Backends that are missing are
// named in the result's _meta, so that nobody takes a part for the whole.
func joinedPage(r *Relay, t *table, l catalog.List, g gathered, cursor string) ([]byte, error) {
	body, hidden, err := catalog.Page(l, g.parts, catalog.PageOptions{Prefix: r.prefixed(t), Cursor: cursor})
	if err != nil {
		return nil, err
	}
	for _, h := range hidden {
		r.log.Warn("item hidden by an earlier backend's", "list", l.Member(), "name", h.Name, "backend", h.Backend, "by", h.By)
	}
	meta := []byte(`{"answerback/unavailable":[`)
	empty := len(meta)
	for i, why := range g.why {
		if why == nil {
			continue
		}
		backend := g.parts[i].Backend
		r.log.Warn("backend left out of a list", "backend", backend, "list", l.Member(), "code", why.Code, "err", why)
		if len(meta) > empty {
			meta = append(meta, ',')
		}
		meta = append(meta, `{"backend":`...)
		meta = wire.AppendString(meta, backend)
		meta = append(meta, `,"reason":`...)
		meta = wire.AppendString(meta, string(why.Code))
		meta = append(meta, `,"message":`...)
		meta = wire.AppendString(meta, why.Message)
		meta = append(meta, '}')
	}
	if len(meta) == empty {
		return body, nil
	}
	meta = append(meta, `]}`...)
	whole, err := wire.Value(body)
	if err != nil {
		return nil, err
	}
	return wire.Splice(nil, body, wire.Set(body, whole, wire.Span{}, "_meta", meta)), nil
}

// fetchView reads all pages of one list of one backend. meta is the modern
// client's _meta, or nil on a legacy line.
func fetchView(ctx context.Context, r *Relay, line contract.Line, backend string, l catalog.List, meta []byte) (*catalog.View, error) {
	return catalog.AllPages(ctx, backend, l, func(ctx context.Context, cursor []byte) ([]byte, error) {
		reply, err := own(ctx, r, line, l.Method(), listParams(meta, cursor))
		if up, ok := errors.AsType[*contract.UpstreamError](err); ok && isUnknownMethod(&up.Reply.Msg) {
			return []byte("{}"), nil
		}
		if err != nil {
			return nil, named(backend, err)
		}
		return reply.Msg.Field(reply.Msg.Result), nil
	})
}

// named makes a backend's error response an error that names the backend.
func named(backend string, err error) error {
	if up, ok := err.(*contract.UpstreamError); ok {
		m := &up.Reply.Msg
		said, _ := wire.Unquote(wire.Get(m.Raw, m.Error, "message").Of(m.Raw))
		return ask.Wrap(ask.BackendBroken, "The backend "+backend+" answered with an error: "+said, err)
	}
	return err
}

// isUnknownMethod reports whether a server said that it has no such list:
// that is an empty list, not a broken backend.
func isUnknownMethod(m *wire.Message) bool {
	return string(m.Field(m.ErrorCode)) == "-32601"
}

func listParams(meta, cursor []byte) []byte {
	if meta == nil && cursor == nil {
		return nil
	}
	b := []byte{'{'}
	if meta != nil {
		b = append(append(b, `"_meta":`...), meta...)
	}
	if cursor != nil {
		if meta != nil {
			b = append(b, ',')
		}
		b = append(append(b, `"cursor":`...), cursor...)
	}
	return append(b, '}')
}

// filterTools leaves tools that a filter hides out of a tools/list response.
// Where it hides none the response is not touched.
func filterTools(f catalog.Filter, reply contract.Reply) (contract.Reply, error) {
	raw := reply.Msg.Raw
	tools := wire.Get(raw, reply.Msg.Result, "tools")
	kept, hidden := []byte{'['}, false
	for item := range wire.Elements(raw, tools) {
		name, _ := wire.Unquote(wire.Get(raw, item, "name").Of(raw))
		if !f.Allows(name) {
			hidden = true
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, item.Of(raw)...)
	}
	if !hidden {
		return reply, nil
	}
	msg, err := wire.Scan(wire.Splice(nil, raw, wire.Edit{Span: tools, With: append(kept, ']')}), wire.Limits{})
	if err != nil {
		return contract.Reply{}, ask.Wrap(ask.Internal, "The list of tools could not be filtered.", err)
	}
	reply.Msg = msg
	return reply, nil
}
