//go:build matrix

package matrix

import (
	"slices"
	"strings"
)

// excuse is why something cannot happen between peers, with a gateway or
// without. It holds only when the control, the same thing between two peers of
// one era without a gateway, failed in the same run.
type excuse struct {
	client, server string // a part of the name; empty for all
	happenings     []string
	// The pair of the control; empty for the client of the cell, and for its
	// server.
	controlClient, controlServer string
	why                          string
}

var excuses = []excuse{
	{
		server: "server-everything", happenings: []string{"two rounds", "four questions at once", "server withdraws"},
		controlClient: "sdk 1.32.2 legacy", controlServer: "server-everything legacy HTTP",
		why: "server-everything has no tool that does it.",
	},
	{
		server: "go-sdk modern", happenings: []string{"server withdraws"}, controlClient: "go-sdk modern", controlServer: "go-sdk modern HTTP",
		why: "The modern era has no message that takes a question back.",
	},
	{
		server: "mcp-go modern", happenings: []string{"server withdraws"}, controlClient: "mcp-go modern", controlServer: "mcp-go modern HTTP",
		why: "The modern era has no message that takes a question back.",
	},
	{
		server: "server 2.4.0", happenings: []string{"server withdraws"}, controlClient: "client 2.4.0 modern", controlServer: "server 2.4.0 modern HTTP",
		why: "The modern era has no message that takes a question back.",
	},
	{
		client: "mcpdo 2.12.0 legacy", happenings: []string{"sampling", "client cancels"}, controlServer: "go-sdk legacy HTTP",
		why: "mcpdo answers no sampling, and cannot be told to cancel.",
	},
	{
		client: "mcpdo 2.12.0 modern", happenings: []string{"sampling", "client cancels"}, controlServer: "go-sdk modern HTTP",
		why: "mcpdo answers no sampling, and cannot be told to cancel.",
	},
	{
		client: "modern", server: "modern", happenings: []string{"timeout"},
		why: "Between two peers of the modern era no question is open while the client thinks: the server has answered, and keeps nothing.",
	},
	{
		client: "mcp-go legacy", server: "go-sdk", happenings: []string{"client cancels"}, controlServer: "go-sdk legacy HTTP",
		why: "mcp-go's client of the legacy era tells nobody over HTTP that it gave a call up.",
	},
	{
		client: "mcp-go legacy", server: "mcp-go", happenings: []string{"client cancels"}, controlServer: "go-sdk legacy HTTP",
		why: "mcp-go's client of the legacy era tells nobody over HTTP that it gave a call up.",
	},
	{
		client: "mcp-go legacy", server: "server 2.4.0", happenings: []string{"client cancels"}, controlServer: "go-sdk legacy HTTP",
		why: "mcp-go's client of the legacy era tells nobody over HTTP that it gave a call up.",
	},
	{
		client: "go-sdk modern", server: "mcp-go modern", happenings: []string{"roots"},
		why: "mcp-go's server asks for roots without params, which go-sdk's client of the modern era cannot read.",
	},
}

// excused gives the excuse of a cell for a happening, where there is one.
func excused(client, server, happening string) (excuse, bool) {
	for _, x := range excuses {
		if strings.Contains(client, x.client) && strings.Contains(server, x.server) && slices.Contains(x.happenings, happening) {
			return x, true
		}
	}
	return excuse{}, false
}
