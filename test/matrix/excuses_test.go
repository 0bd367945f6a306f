//go:build matrix

package matrix

import (
	"slices"
	"strings"
)

// excuse is why something cannot happen between peers, with a gateway or
// without. It holds only when the control failed in the same run: the same
// thing at the same server, over the same transport and without a gateway, of
// the same client in the era of that server, or of the client that the excuse
// names; at an agent, of a client of A2A.
type excuse struct {
	clients   []string // how their names begin
	server    string   // how its name begins; empty for all
	happening string
	control   string // the client that fails without a gateway, but for its era; empty for the same
	why       string
}

var excuses = []excuse{
	{
		clients: []string{""}, server: agentName, happening: "sampling",
		why: "A2A has no sampling.",
	},
	{
		clients: []string{""}, server: agentName, happening: "roots",
		why: "A2A has no roots.",
	},
	{
		clients: []string{"mcpdo"}, happening: "sampling",
		why: "mcpdo answers no sampling.",
	},
	{
		clients: []string{"mcpdo"}, server: "server-everything", happening: "server withdraws",
		why: "What server-everything gives up is sampling, which mcpdo does not answer.",
	},
	{
		clients: []string{"client 2.4.0 legacy", "sdk 1.32.2 legacy", "go-sdk legacy", "mcp-go legacy"},
		server:  "server-everything", happening: "two rounds",
		why: "server-everything asks twice only where it refuses with -32042 first, and that ends the call of a client of the legacy era.",
	},
	{
		clients: []string{"go-sdk modern"}, server: "mcp-go modern", happening: "roots",
		why: "mcp-go's server asks for roots without params, which go-sdk's client of the modern era cannot read.",
	},
	{
		clients: []string{"event stream"}, happening: "roots", control: "client 2.4.0 mute",
		why: "The event stream declares no roots, and servers do not ask clients that have none.",
	},
	{
		clients: []string{"a2a"}, happening: "sampling", control: "client 2.4.0 mute",
		why: "A2A has no sampling, and servers do not ask clients that have none.",
	},
	{
		clients: []string{"a2a"}, happening: "roots", control: "client 2.4.0 mute",
		why: "A2A has no roots, and servers do not ask clients that have none.",
	},
	{
		clients: []string{"a2a"}, server: "server-everything", happening: "server withdraws", control: "client 2.4.0 mute",
		why: "What server-everything gives up is sampling, which A2A has not.",
	},
	{
		clients: []string{"event stream"}, server: "server-everything", happening: "two rounds", control: "client 2.4.0",
		why: "server-everything asks twice only where it refuses with -32042 first, and that ends the call of a client of the legacy era.",
	},
}

// excused gives the excuse of a cell for a happening, where there is one.
func excused(client, server, happening string) (excuse, bool) {
	for _, x := range excuses {
		named := func(begin string) bool { return strings.HasPrefix(client, begin) }
		if slices.ContainsFunc(x.clients, named) && strings.HasPrefix(server, x.server) && x.happening == happening {
			return x, true
		}
	}
	return excuse{}, false
}

// controlled gives the pair whose run without a gateway must have failed.
func (x excuse) controlled(client string, s server) [2]string {
	if s.agent {
		return [2]string{"a2a-js 1.3.0 JSONRPC", s.name}
	}
	if x.control != "" {
		return [2]string{x.control + " " + s.era, s.name}
	}
	words := strings.Fields(client)
	words[len(words)-1] = s.era
	return [2]string{strings.Join(words, " "), s.name}
}
