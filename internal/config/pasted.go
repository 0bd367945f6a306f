package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/secret"
)

// file is the root of a configuration file: the configuration, and what may
// have been pasted from a client's configuration.
type file struct {
	Config
	MCPServers map[string]pasted `yaml:"mcpServers" doc:"Servers pasted from the configuration of a client such as Claude Desktop or Cursor, as they are. They join those under backends."`
	Servers    map[string]pasted `yaml:"servers" doc:"Servers pasted from VS Code's mcp.json, as they are. They join those under backends."`
	Inputs     any               `yaml:"inputs" doc:"The questions of VS Code's mcp.json. Ignored: use environment variables."`
	Schema     string            `yaml:"$schema" doc:"The address of this file's JSON schema, for editors. Ignored."`
}

// pasted is a server as clients write it: the keys that mean something here,
// under the names that clients give them. Other keys are ignored with a note.
type pasted struct {
	Command       string                 `yaml:"command" doc:"Program to start."`
	Args          []string               `yaml:"args" doc:"Arguments of the program."`
	Env           map[string]secret.Text `yaml:"env" doc:"Environment variables of the program."`
	Cwd           string                 `yaml:"cwd" doc:"Directory to start the program in."`
	URL           string                 `yaml:"url" doc:"Address of the server."`
	ServerURL     string                 `yaml:"serverUrl" doc:"Another name for url."`
	HTTPURL       string                 `yaml:"httpUrl" doc:"Address of a server that speaks Streamable HTTP."`
	Type          string                 `yaml:"type" doc:"The transport: stdio or local; http, streamable-http or streamableHttp; sse."`
	Transport     string                 `yaml:"transport" doc:"Another name for type."`
	Headers       map[string]secret.Text `yaml:"headers" doc:"Headers sent with every request."`
	Disabled      bool                   `yaml:"disabled" doc:"Keep the entry and leave the server alone."`
	Enabled       bool                   `yaml:"enabled" doc:"When false, the same as disabled."`
	Tools         Tools                  `yaml:"tools" doc:"The tools to offer."`
	IncludeTools  []string               `yaml:"includeTools" doc:"The tools to offer."`
	ExcludeTools  []string               `yaml:"excludeTools" doc:"Tools not to offer."`
	DisabledTools []string               `yaml:"disabledTools" doc:"Tools not to offer."`
	CallTimeout   time.Duration          `yaml:"call_timeout" doc:"limits.call_timeout for this server." min:"0s" max:"30d"`
}

// transports maps what clients call a transport to what it is called here.
var transports = map[string]string{
	"": "auto", "auto": "auto",
	"stdio": "stdio", "local": "stdio",
	"http": "http", "streamable-http": "http", "streamable_http": "http", "streamablehttp": "http",
	"sse": "sse",
}

// ignoredBecause tells about keys of clients that mean something, but not here.
var ignoredBecause = map[string]string{
	"envFile": "the file is not read; write its variables under env",
	"timeout": "clients disagree on its unit; write call_timeout, such as 30s",
}

var backendName = regexp.MustCompile(`^[a-z0-9-]{1,24}$`)

// adopt turns the pasted servers into backends and gives, for each backend
// that was pasted, the key under which it stands in the file.
func (d *decoder) adopt(f *file) map[string]string {
	origins := map[string]string{}
	if line, ok := d.lines["inputs"]; ok {
		d.note(line, "inputs", "is ignored: the gateway asks nobody for settings; use environment variables")
	}
	for _, block := range []struct {
		key     string
		servers map[string]pasted
	}{{"mcpServers", f.MCPServers}, {"servers", f.Servers}} {
		for _, given := range slices.Sorted(maps.Keys(block.servers)) {
			key := block.key + "." + given
			name := deriveName(given)
			if name == "" {
				d.problem(d.line(key), key, "no backend name can be made of this name", "use letters a-z, digits and -")
				continue
			}
			if _, taken := f.Backends[name]; taken {
				other := cmp.Or(origins[name], "backends."+name)
				d.problem(d.line(key), key, fmt.Sprintf("the backend name %s is taken by %s in line %d", name, shown(other), d.line(other)), "rename one of them")
				continue
			}
			if name != given {
				d.note(d.line(key), key, "is called "+name+" here")
			}
			if f.Backends == nil {
				f.Backends = map[string]Backend{}
			}
			f.Backends[name] = d.backend(key, block.servers[given])
			origins[name] = key
		}
	}
	return origins
}

// backend translates one pasted server.
func (d *decoder) backend(key string, p pasted) Backend {
	b := defaultBackend()
	b.Command, b.Args, b.Env, b.Dir, b.Headers = p.Command, p.Args, p.Env, p.Cwd, p.Headers
	b.CallTimeout = p.CallTimeout
	b.Disabled = p.Disabled || !p.Enabled
	b.Tools = Tools{
		Allow: slices.Concat(p.Tools.Allow, p.IncludeTools),
		Deny:  slices.Concat(p.Tools.Deny, p.ExcludeTools, p.DisabledTools),
	}

	kind := cmp.Or(p.Type, p.Transport)
	transport, known := transports[strings.ToLower(kind)]
	if !known {
		d.problem(d.line(key+".type"), key+".type", quoted(kind)+" is not a transport", "write stdio, http or sse, or leave it out")
		transport = "auto"
	}
	b.Transport = transport

	urlKey := ""
	for _, u := range []struct{ key, value string }{{"url", p.URL}, {"serverUrl", p.ServerURL}, {"httpUrl", p.HTTPURL}} {
		if u.value == "" {
			continue
		}
		if b.URL != "" {
			d.problem(d.line(key+"."+u.key), key+"."+u.key, "the address is given already by "+urlKey, "keep one of them")
			continue
		}
		b.URL, urlKey = u.value, u.key
		if u.key == "httpUrl" && transport == "auto" {
			b.Transport = "http"
		}
	}
	b.written = d.asWritten(key, urlKey, len(b.Args))
	return b
}

// asWritten gives the url and args of the entry at key as they stand in the
// file, where they differ from their values.
func (d *decoder) asWritten(key, urlKey string, args int) map[string]string {
	var written map[string]string
	keep := func(as, at string) {
		if text, ok := d.written[key+"."+at]; ok {
			if written == nil {
				written = map[string]string{}
			}
			written[as] = text
		}
	}
	keep("url", urlKey)
	for i := range args {
		item := fmt.Sprintf("args[%d]", i)
		keep(item, item)
	}
	return written
}

// deriveName makes a backend name of any name, or "" where nothing is left.
func deriveName(given string) string {
	if backendName.MatchString(given) {
		return given
	}
	var b strings.Builder
	for _, r := range strings.ToLower(given) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && s[len(s)-1] != '-' {
			b.WriteByte('-')
		}
	}
	name := b.String()
	return strings.Trim(name[:min(len(name), 24)], "-")
}
