package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// address is that of an endpoint, as clients reach it.
func (s *Surface) address(at string) string {
	if at == "" {
		return s.cfg.PublicURL + root
	}
	return s.cfg.PublicURL + root + "/" + at
}

const bearer = a2a.SecuritySchemeName("bearer")

// card describes an endpoint to somebody who may use these tools.
func (s *Surface) card(at string, tools []tool) *a2a.AgentCard {
	name, about := "Answerback", "A gateway to tools. Each message that names one becomes a task."
	if at != "" {
		name, about = at, "The tools of "+at+". Each message that names one becomes a task."
	}
	schemas := map[string]any{}
	c := &a2a.AgentCard{
		Name: name, Version: s.cfg.Version,
		Description: about + ` Send a data part {"tool": name, "arguments": {…}}; plain text is enough where it can mean one thing only, and is asked about otherwise.`,
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(s.address(at), a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(s.address(at), a2a.TransportProtocolHTTPJSON),
		},
		DefaultInputModes:  []string{"application/json", "text/plain"},
		DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills:             []a2a.AgentSkill{},
	}
	for _, t := range tools {
		c.Skills = append(c.Skills, t.skill())
		if len(t.schema) > 0 {
			schemas[t.name] = json.RawMessage(t.schema)
		}
	}
	forms := a2a.AgentExtension{
		URI: FormsExtension, Description: "Questions are data parts with requestedSchema or url; inputSchemas are those of the skills' arguments.",
	}
	if len(schemas) > 0 {
		forms.Params = map[string]any{"inputSchemas": schemas}
	}
	c.Capabilities = a2a.AgentCapabilities{
		Streaming: true, PushNotifications: true, ExtendedAgentCard: true, Extensions: []a2a.AgentExtension{forms},
	}
	if s.cfg.Secured {
		c.SecuritySchemes = a2a.NamedSecuritySchemes{bearer: a2a.HTTPAuthSecurityScheme{
			Scheme: "Bearer", Description: "An access token for this gateway. A request without one is answered with where to get it (RFC 9728).",
		}}
		c.SecurityRequirements = a2a.SecurityRequirementsOptions{{bearer: {}}}
	}
	return c
}

// maxAbout is how much of a tool's description a card repeats.
const maxAbout = 4000

func (t *tool) skill() a2a.AgentSkill {
	s := a2a.AgentSkill{ID: t.name, Name: t.name, Description: cut(t.description, maxAbout), Tags: []string{"tool"}}
	if t.title != "" {
		s.Name = t.title
	}
	if s.Description == "" {
		s.Description = "The tool " + t.name + "."
	}
	return s
}

// serveCard answers with a card, or says that the client has it already.
func (s *Surface) serveCard(w http.ResponseWriter, r *http.Request, c *a2a.AgentCard) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, err := json.Marshal(c)
	if err != nil {
		s.cfg.Log.Error("an agent card cannot be written", "surface", surfaceName, "err", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(raw)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "private, max-age=60")
	w.Header().Set("Vary", "Authorization")
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(raw) // whoever has gone cannot be told so
}
