package relay

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/wire"
)

// finder finds the backend that a request at the joined endpoint belongs to.
type finder struct {
	table    *table
	prefixed bool
	// gather reads one list of all backends; only asked where the name alone
	// does not tell.
	gather func(catalog.List) []catalog.Part
}

// found is where a request goes: the backend, the name it has there, and the
// edit that writes that name into the request.
type found struct {
	entry *Entry
	own   string
	edits []wire.Edit
}

func (f finder) find(msg *wire.Message) (found, error) {
	switch method := msg.Method(); method {
	case "tools/call":
		return f.tool(msg)
	case "prompts/get":
		return f.name(catalog.Prompts, msg, msg.Name)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return f.resource(msg.Text(msg.URI))
	case "completion/complete":
		if at := wire.Get(msg.Raw, msg.Ref, "name"); !at.IsZero() {
			return f.name(catalog.Prompts, msg, at)
		}
		return f.resource(msg.Text(wire.Get(msg.Raw, msg.Ref, "uri")))
	default:
		return found{}, ask.Errorf(ask.UnknownMethod, "The joined endpoint does not know the method "+method+". It may work at /mcp/{backend}.")
	}
}

func (f finder) tool(msg *wire.Message) (found, error) {
	to, err := f.name(catalog.Tools, msg, msg.Name)
	if err == nil && !to.entry.Filter.Allows(to.own) {
		return found{}, noTool(msg.Text(msg.Name))
	}
	return to, err
}

// noTool is what a caller hears of a tool that is hidden from it: the same as
// of one that does not exist.
func noTool(name string) *ask.Error {
	return ask.Errorf(ask.UnknownName, "There is no tool named "+name+" here.")
}

// name finds what has the name at the span at. A prefix tells by itself;
// plain names are looked up in the backends' lists.
func (f finder) name(l catalog.List, msg *wire.Message, at wire.Span) (found, error) {
	name := msg.Text(at)
	if !f.prefixed {
		backend, own, err := catalog.Route(l, f.gather(l), name, false)
		if err != nil {
			return found{}, err
		}
		return found{entry: f.table.byName[backend], own: own}, nil
	}
	backend, own, ok := catalog.Split(name)
	e := f.table.byName[backend]
	if !ok || e == nil {
		return found{}, ask.Errorf(ask.UnknownName, "There is nothing named "+name+" here. Names begin with the name of a backend and two underscores.")
	}
	return found{e, own, []wire.Edit{{Span: at, With: wire.AppendString(nil, own)}}}, nil
}

func (f finder) resource(uri string) (found, error) {
	backend, err := catalog.Locate(f.gather(catalog.Resources), f.gather(catalog.Templates), uri)
	if err != nil {
		return found{}, err
	}
	return found{entry: f.table.byName[backend], own: uri}, nil
}
