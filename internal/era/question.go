package era

import (
	"encoding/json"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// The methods that ask.
const (
	createMethod   = "elicitation/create"
	aliasMethod    = "elicitation/requestInput" // a misprint in old public docs
	samplingMethod = "sampling/createMessage"
	rootsMethod    = "roots/list"
)

// The older mode of a form that has one field, and what it asks for.
const (
	inlineMode   = "inline"
	inlineSchema = `{"type":"object","properties":{"value":{"type":"string","title":"Answer"}},"required":["value"]}`
)

// KindOf gives the kind of a question; false where the method is none. An
// elicitation in a mode that MCP does not have is a question of kind zero,
// which CheckQuestion refuses.
func KindOf(method string, params []byte) (ask.Kind, bool) {
	switch method {
	case samplingMethod:
		return ask.Sampling, true
	case rootsMethod:
		return ask.Roots, true
	case createMethod, aliasMethod:
		return modeOf(params), true
	}
	return 0, false
}

func modeOf(params []byte) ask.Kind {
	obj, err := wire.Value(params)
	if err != nil {
		return ask.Form // without params it has no mode; CheckShape refuses it
	}
	at := wire.Get(params, obj, "mode")
	if at.IsZero() {
		return ask.Form
	}
	switch mode, _ := wire.Unquote(at.Of(params)); mode {
	case "form", inlineMode:
		return ask.Form
	case "url":
		return ask.URL
	}
	return 0
}

// Canonical gives a question in the form in which it goes to clients: the
// alias elicitation/requestInput becomes elicitation/create, with its message
// copied from prompt and an empty schema where these are absent; the older
// inline mode becomes a form of one text, called value. Every other byte
// stays, and every other question stays as it is.
func Canonical(method string, params []byte) (string, []byte) {
	if method != aliasMethod && method != createMethod {
		return method, params
	}
	obj, err := wire.Value(params)
	if err != nil || params[obj.Start] != '{' {
		return createMethod, params
	}
	mode := wire.Get(params, obj, "mode")
	word, _ := wire.Unquote(mode.Of(params))
	schema := []byte(`{"type":"object","properties":{}}`)
	var changes []wire.Change
	switch {
	case word == inlineMode:
		schema = []byte(inlineSchema)
		changes = append(changes, wire.Change{Old: mode}) // without a mode it is a form
	case method != aliasMethod:
		return method, params
	}
	if wire.Get(params, obj, "message").IsZero() {
		if prompt := wire.Get(params, obj, "prompt"); !prompt.IsZero() {
			changes = append(changes, wire.Change{Key: "message", Value: prompt.Of(params)})
		}
	}
	if modeOf(params) == ask.Form && wire.Get(params, obj, "requestedSchema").IsZero() && wire.Get(params, obj, "formDefinition").IsZero() {
		changes = append(changes, wire.Change{Key: "requestedSchema", Value: schema})
	}
	return createMethod, wire.Splice(nil, params, wire.Amend(params, obj, changes...)...)
}

// RequiredCaps gives the capabilities object that a client must declare to be
// asked a question of this kind, nil for a kind that is none.
func RequiredCaps(kind ask.Kind) []byte {
	switch kind {
	case ask.Form:
		return []byte(`{"elicitation":{"form":{}}}`)
	case ask.URL:
		return []byte(`{"elicitation":{"url":{}}}`)
	case ask.Sampling:
		return []byte(`{"sampling":{}}`)
	case ask.Roots:
		return []byte(`{"roots":{}}`)
	}
	return nil
}

// CheckQuestion is CheckCaps and then CheckShape.
func CheckQuestion(kind ask.Kind, params []byte, c Caps) *ask.Error {
	if err := CheckCaps(kind, params, c); err != nil {
		return err
	}
	return CheckShape(kind, params)
}

// CheckCaps checks a question against what the client declared. The codes are
// ClientLacksCapability, and ModeNotDeclared where the client can be asked in
// another mode. The error's data names the capabilities that it takes.
func CheckCaps(kind ask.Kind, params []byte, c Caps) *ask.Error {
	switch kind {
	case ask.Form, ask.URL:
		switch {
		case (kind == ask.Form && c.Form) || (kind == ask.URL && c.URL):
			return nil
		case c.Form || c.URL:
			return lacking(ask.ModeNotDeclared, "The client did not declare the "+kind.String()+" mode of elicitation.", RequiredCaps(kind))
		}
		return lacking(ask.ClientLacksCapability, "The client cannot be asked: it did not declare elicitation.", RequiredCaps(kind))
	case ask.Sampling:
		if !c.Sampling {
			return lacking(ask.ClientLacksCapability, "The client did not declare sampling.", RequiredCaps(kind))
		}
		if usesTools(params) && !c.SamplingTools {
			return lacking(ask.ClientLacksCapability, "The client did not declare sampling with tools.", []byte(`{"sampling":{"tools":{}}}`))
		}
		return nil
	case ask.Roots:
		if !c.Roots {
			return lacking(ask.ClientLacksCapability, "The client did not declare roots.", RequiredCaps(kind))
		}
		return nil
	}
	return ask.Errorf(ask.ModeNotDeclared, "The question has a mode that MCP does not know; it may be form or url.")
}

func lacking(code ask.Code, message string, required []byte) *ask.Error {
	return &ask.Error{
		Code:    code,
		Message: message,
		Data:    map[string]any{dataRequired: json.RawMessage(required)},
	}
}

func usesTools(params []byte) bool {
	obj, err := wire.Value(params)
	if err != nil {
		return false
	}
	return !wire.Get(params, obj, "tools").IsZero() || !wire.Get(params, obj, "toolChoice").IsZero()
}
