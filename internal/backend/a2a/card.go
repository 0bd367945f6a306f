package a2a

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const (
	maxCard   = 1 << 20 // bytes of an agent card
	maxSkills = 1000
	maxWays   = 64 // interfaces of an agent card
	maxLabel  = 200
)

// card is an agent card that has been checked, and what is made of it. It is
// not modified.
type card struct {
	*a2a.AgentCard
	way       *a2a.AgentInterface // the one that is used
	forms     bool                // it declares the extension for forms
	tools     []tool
	list      []byte // the tools as an array
	discovery []byte // the result of server/discover
}

// readCard checks a card. What is wrong with it is for its operator.
func readCard(raw []byte, origins []string) (*card, error) {
	if _, err := wire.Value(raw); err != nil {
		return nil, fmt.Errorf("it is not well-formed JSON: %w", err)
	}
	c := &card{AgentCard: &a2a.AgentCard{}}
	if err := json.Unmarshal(raw, c.AgentCard); err != nil {
		// The error may hold words of the card, which are not ours to print.
		return nil, fmt.Errorf("it is not an agent card: %q", clip(err.Error(), maxLabel))
	}
	switch {
	case strings.TrimSpace(c.Name) == "":
		return nil, fmt.Errorf("it has no name")
	case len(c.Skills) > maxSkills || len(c.SupportedInterfaces) > maxWays:
		return nil, fmt.Errorf("it has more than %d skills or %d interfaces", maxSkills, maxWays)
	}
	for _, x := range c.Capabilities.Extensions {
		if x.URI == Forms {
			c.forms = true
		} else if x.Required {
			return nil, fmt.Errorf("it demands the extension %q, which the gateway does not know", clip(x.URI, maxLabel))
		}
	}
	var err error
	if c.way, err = choose(c.SupportedInterfaces, origins); err != nil {
		return nil, err
	}
	c.tools = toolsOf(c.AgentCard)
	c.list = listOf(c.tools)
	info := wire.AppendString([]byte(`{"name":`), clip(c.Name, maxLabel))
	info = append(wire.AppendString(append(info, `,"version":`...), clip(c.Version, maxLabel)), '}')
	c.discovery = era.DiscoverResult(era.Discovery{
		Capabilities: []byte(`{"tools":{"listChanged":true}}`), ServerInfo: info, Instructions: clip(c.Description, maxWords),
	})
	return c, nil
}

// choose takes the first interface that can be spoken and that leads where
// requests may go.
func choose(ways []*a2a.AgentInterface, origins []string) (*a2a.AgentInterface, error) {
	elsewhere, spoken := "", []string{}
	for _, w := range ways {
		if w == nil {
			continue
		}
		spoken = append(spoken, clip(string(w.ProtocolBinding)+" "+string(w.ProtocolVersion), 40))
		if w.ProtocolBinding != a2a.TransportProtocolJSONRPC && w.ProtocolBinding != a2a.TransportProtocolHTTPJSON {
			continue
		}
		if v := string(w.ProtocolVersion); v != "1" && !strings.HasPrefix(v, "1.") {
			continue
		}
		u, err := url.Parse(w.URL)
		if err != nil || u.Host == "" || u.User != nil || !slices.Contains(origins, originOf(u)) {
			elsewhere = clip(w.URL, maxLabel)
			continue
		}
		return w, nil
	}
	if elsewhere != "" {
		return nil, fmt.Errorf("it sends requests to %q, which is another origin than that of the url; if that is right, name it in card_origins", elsewhere)
	}
	return nil, fmt.Errorf("it offers no JSONRPC or HTTP+JSON interface of protocol version 1.0, only %q", strings.Join(spoken, ", "))
}

// clip shortens a text of the agent's.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
