package a2a

import (
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/internal/wire"
)

const (
	maxTool     = 64 // characters of a tool's name
	maxWords    = 16 << 10
	maxExamples = 10
)

// tool is one skill as a tool.
type tool struct {
	name  string // its own among the agent's
	skill string // the id of the skill, "" for the agent as a whole
	title string
	about string
}

// toolsOf makes the skills tools. An agent without skills is one tool itself.
func toolsOf(c *a2a.AgentCard) []tool {
	if len(c.Skills) == 0 {
		return []tool{{name: "message", title: clip(c.Name, maxLabel), about: clip(c.Description, maxWords)}}
	}
	taken := make(map[string]bool, len(c.Skills))
	tools := make([]tool, 0, len(c.Skills))
	for i := range c.Skills {
		s := &c.Skills[i]
		t := tool{skill: s.ID, title: clip(s.Name, maxLabel), about: describe(s)}
		base := toolName(s.ID)
		if base == "" {
			base = toolName(s.Name)
		}
		if base == "" {
			base = "skill"
		}
		t.name = base
		for n := 2; taken[t.name]; n++ {
			end := "_" + strconv.Itoa(n)
			t.name = base[:min(len(base), maxTool-len(end))] + end
		}
		taken[t.name] = true
		tools = append(tools, t)
	}
	return tools
}

// toolName makes an id one of the characters that MCP has for names.
func toolName(id string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, id)
	if strings.Trim(clean, "_") == "" {
		return ""
	}
	return clean[:min(len(clean), maxTool)]
}

// describe says what a skill does, with its examples.
func describe(s *a2a.AgentSkill) string {
	about := clip(s.Description, maxWords)
	if len(s.Examples) == 0 {
		return about
	}
	var b strings.Builder
	b.WriteString(about)
	b.WriteString("\n\nExamples of messages:")
	for _, e := range s.Examples[:min(len(s.Examples), maxExamples)] {
		b.WriteString("\n- " + clip(e, 1000))
	}
	return b.String()
}

// What every skill takes. An agent reads words; data is for those that also
// read JSON.
const inputSchema = `{"type":"object","properties":{` +
	`"message":{"type":"string","description":"What the agent is to do, in words, with all that it needs to know: it sees nothing of the conversation."},` +
	`"data":{"type":"object","description":"Structured data for the agent, where the message refers to some."}},` +
	`"required":["message"]}`

// listOf writes the tools as an array.
func listOf(tools []tool) []byte {
	b := []byte{'['}
	for i := range tools {
		t := &tools[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(append(b, `{"name":`...), t.name)
		if t.title != "" {
			b = wire.AppendString(append(b, `,"title":`...), t.title)
		}
		b = wire.AppendString(append(b, `,"description":`...), t.about)
		b = append(b, `,"inputSchema":`+inputSchema+`,"annotations":{"openWorldHint":true}}`...)
	}
	return append(b, ']')
}

// tool finds one by its name.
func (c *card) tool(name string) *tool {
	for i := range c.tools {
		if c.tools[i].name == name {
			return &c.tools[i]
		}
	}
	return nil
}
