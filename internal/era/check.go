package era

import (
	"net/http"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// The keys of _meta that every modern request must have.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// CheckRequest checks a modern message as the specification demands of a
// server that reads the body; nil means that all is well. The codes are
// BadHeader, BadVersion and, for what _meta lacks, BadMessage.
//
// The version comes first, because a version that we do not know may have
// other rules for the rest. Notifications need no header and no _meta, but
// what they have must agree.
func CheckRequest(m *wire.Message, h http.Header) *ask.Error {
	if err := checkVersion(m, h); err != nil {
		return err
	}
	if err := checkMethod(m, h); err != nil {
		return err
	}
	if err := checkName(m, h); err != nil {
		return err
	}
	if m.Kind != wire.Request {
		return nil
	}
	if caps := m.Field(m.MetaCapabilities); len(caps) == 0 || caps[0] != '{' {
		return missing(metaCapabilities)
	}
	return nil
}

func checkVersion(m *wire.Message, h http.Header) *ask.Error {
	header, n := oneValue(h, VersionHeader)
	version, inBody := wire.Unquote(m.Field(m.MetaVersion))
	switch {
	case n > 1:
		return repeated(VersionHeader)
	case m.Kind == wire.Request && n == 0:
		return ask.Errorf(ask.BadHeader, "The MCP-Protocol-Version header is missing.")
	case m.Kind == wire.Request && !inBody:
		return missing(metaVersion)
	case n == 1 && inBody && header != version:
		return ask.Errorf(ask.BadHeader, "The MCP-Protocol-Version header does not match the version in the body's _meta.")
	case !inBody:
		return nil
	}
	if e, _ := Of(version); e != Modern {
		return &ask.Error{
			Code:    ask.BadVersion,
			Message: "Requests of this protocol version are not supported here.",
			Data:    map[string]any{"supported": Supported(), "requested": version},
		}
	}
	return nil
}

func checkMethod(m *wire.Message, h http.Header) *ask.Error {
	header, n := oneValue(h, MethodHeader)
	switch {
	case n > 1:
		return repeated(MethodHeader)
	case n == 0 && m.Kind == wire.Request:
		return ask.Errorf(ask.BadHeader, "The Mcp-Method header is missing.")
	case n == 1 && header != m.Method():
		return ask.Errorf(ask.BadHeader, "The Mcp-Method header does not match the method in the body.")
	}
	return nil
}

func checkName(m *wire.Message, h http.Header) *ask.Error {
	header, n := oneValue(h, NameHeader)
	if n > 1 {
		return repeated(NameHeader)
	}
	name, inBody := NameOf(m)
	required := needsName(m.Method())
	if n == 0 {
		if required && inBody {
			return ask.Errorf(ask.BadHeader, "The Mcp-Name header is missing.")
		}
		return nil
	}
	decoded, ok := DecodeHeader(header)
	if !ok {
		return ask.Errorf(ask.BadHeader, "The Mcp-Name header has invalid characters or invalid base64.")
	}
	// Without a value in the body there is nothing that the header could
	// mirror; where the method has no name at all, it means nothing.
	if (inBody && decoded != name) || (required && !inBody) {
		return ask.Errorf(ask.BadHeader, "The Mcp-Name header does not match the name or URI in the body.")
	}
	return nil
}

// oneValue gives the value of a header without the white space around it, and
// how many values there are: two of them are two readings of one request.
func oneValue(h http.Header, name string) (string, int) {
	all := h.Values(name)
	if len(all) != 1 {
		return "", len(all)
	}
	return strings.Trim(all[0], " \t"), 1
}

func repeated(header string) *ask.Error {
	return ask.Errorf(ask.BadHeader, "The "+header+" header is there more than once.")
}

func missing(key string) *ask.Error {
	return &ask.Error{
		Code:    ask.BadMessage,
		Message: "The request's _meta lacks the required field " + key + ".",
		Data:    map[string]any{DataMissing: key},
	}
}
