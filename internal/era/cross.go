package era

import (
	"slices"

	"github.com/answerback/answerback/internal/wire"
)

const metaLogLevel = "io.modelcontextprotocol/logLevel"

// Client is what a legacy client said of itself at its handshake, for a
// modern server that wants to hear it with every request.
type Client struct {
	Info  []byte // its Implementation object, or nil
	Caps  []byte // its capabilities object, or nil
	Level string // the log level it set, "" for none
}

// Modernise gives the edits that make a legacy request a modern one: its
// _meta says version, client and capabilities. What the client put there
// itself stays, but for those keys.
func Modernise(m *wire.Message, c Client) []wire.Edit {
	caps := c.Caps
	if len(caps) == 0 {
		caps = []byte("{}")
	}
	changes := []wire.Change{
		{Old: m.MetaVersion, Key: metaVersion, Value: []byte(`"` + Latest + `"`)},
		{Old: m.MetaCapabilities, Key: metaCapabilities, Value: caps},
	}
	if len(c.Info) > 0 {
		changes = append(changes, wire.Change{Old: m.MetaClientInfo, Key: metaClientInfo, Value: c.Info})
	}
	if c.Level != "" {
		changes = append(changes, wire.Change{Old: m.MetaLogLevel, Key: metaLogLevel, Value: wire.AppendString(nil, c.Level)})
	}
	if !m.Meta.IsZero() {
		return wire.Amend(m.Raw, m.Meta, changes...)
	}
	meta := []byte("{}")
	meta = wire.Splice(nil, meta, wire.Amend(meta, wire.Whole(meta), changes...)...)
	if !m.Params.IsZero() {
		return wire.Amend(m.Raw, m.Params, wire.Change{Key: "_meta", Value: meta})
	}
	params := append(append([]byte(`{"_meta":`), meta...), '}')
	return wire.Amend(m.Raw, m.Root(), wire.Change{Key: "params", Value: params})
}

// Welcome makes the result of initialize from the result of server/discover.
// name stands in for a server that does not say its own.
func Welcome(discovered *wire.Message, version, name string) []byte {
	raw, result := discovered.Raw, discovered.Result
	b := wire.AppendString([]byte(`{"protocolVersion":`), version)
	b = append(b, `,"capabilities":`...)
	if caps := wire.Get(raw, result, "capabilities"); caps.IsZero() {
		b = append(b, "{}"...)
	} else {
		b = append(b, Without(caps.Of(raw), "extensions", "tasks")...)
	}
	b = append(b, `,"serverInfo":`...)
	if info := wire.Get(raw, discovered.ResultMeta, metaServerInfo); info.IsZero() {
		b = append(b, `{"name":`...)
		b = append(wire.AppendString(b, name), `,"version":"unknown"}`...)
	} else {
		b = append(b, info.Of(raw)...)
	}
	if text := wire.Get(raw, result, "instructions"); !text.IsZero() {
		b = append(append(b, `,"instructions":`...), text.Of(raw)...)
	}
	return append(b, '}')
}

// Legacise gives the edits that make a modern request a legacy one: without
// the keys of _meta and params that only the modern era has, and without the
// wish for a legacy task, which the modern era ignores. Trace and vendor keys
// stay.
func Legacise(m *wire.Message) []wire.Edit {
	var edits []wire.Edit
	if !m.Params.IsZero() {
		edits = drops(m.Raw, m.Params, m.InputResponses, m.RequestState, wire.Get(m.Raw, m.Params, "task"))
	}
	if !m.Meta.IsZero() {
		edits = append(edits, drops(m.Raw, m.Meta, m.MetaVersion, m.MetaClientInfo, m.MetaCapabilities, m.MetaLogLevel)...)
	}
	slices.SortStableFunc(edits, func(a, b wire.Edit) int { return int(a.Span.Start - b.Span.Start) })
	return edits
}

func drops(raw []byte, obj wire.Span, values ...wire.Span) []wire.Edit {
	var changes []wire.Change
	for _, v := range values {
		if !v.IsZero() {
			changes = append(changes, wire.Change{Old: v})
		}
	}
	return wire.Amend(raw, obj, changes...)
}

// Completed gives the edits that make a legacy result one of the modern era:
// every result says that it is complete, and those that may be cached say
// that this one may not.
func Completed(m *wire.Message, method string) []wire.Edit {
	if m.Kind != wire.Result {
		return nil
	}
	changes := []wire.Change{{Old: m.ResultType, Key: "resultType", Value: []byte(`"complete"`)}}
	if Cacheable(method) {
		changes = append(changes,
			wire.Change{Old: wire.Get(m.Raw, m.Result, "ttlMs"), Key: "ttlMs", Value: []byte("0")},
			wire.Change{Old: wire.Get(m.Raw, m.Result, "cacheScope"), Key: "cacheScope", Value: []byte(`"private"`)})
	}
	return wire.Amend(m.Raw, m.Result, changes...)
}

// Cacheable reports whether results of a method say how long they are good for.
func Cacheable(method string) bool {
	switch method {
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read", "server/discover":
		return true
	}
	return false
}

// ModernCode gives the number that a legacy error has in the modern era:
// another where that era gave up the old one.
func ModernCode(code string) string {
	if code == "-32002" {
		return "-32602"
	}
	return code
}

// Removed reports whether the modern era has given up a method.
func Removed(method string) bool {
	switch method {
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return true
	}
	return false
}
