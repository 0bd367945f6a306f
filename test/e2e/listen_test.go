package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// listener is a modern backend with one resource, whose subscriptions the
// test feeds.
type listener struct {
	*rig.Backend
	say    chan string   // notifications, without their _meta
	opened chan string   // the notifications filter of each subscription
	closed chan struct{} // one for each stream that the gateway closed
}

func newListener(t *testing.T, uri string) *listener {
	l := &listener{say: make(chan string, 4), opened: make(chan string, 4), closed: make(chan struct{}, 4)}
	l.Backend = rig.NewBackend(t, map[string]rig.Script{
		"resources/list":           listing("resources", 0, `{"uri":"`+uri+`","name":"r"}`),
		"resources/templates/list": listing("resourceTemplates", 0),
		"subscriptions/listen": func(c *rig.Call) {
			meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(c.Msg.Field(c.Msg.ID)) + `}`
			filter := member(*c.Msg, c.Msg.Params, "notifications")
			c.Send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `,"notifications":` + filter + `}}`)
			l.opened <- filter
			for {
				select {
				case <-c.Context.Done():
					l.closed <- struct{}{}
					return
				case what := <-l.say:
					method, more, _ := strings.Cut(what, " ")
					c.Send(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + meta + more + `}}`)
				}
			}
		},
	})
	return l
}

// TestModernSubscriptionJoined: one subscription at the joined endpoint is
// one at each backend, with its share of the resources; it is acknowledged
// first, everything on it has the client's own id, and closing it closes
// those behind it.
func TestModernSubscriptionJoined(t *testing.T) {
	t.Parallel()
	one, two := newListener(t, "x://a"), newListener(t, "y://b")
	g := rig.Start(t, "backends:\n  one: { url: "+one.URL+" }\n  two: { url: "+two.URL+" }\n")
	c := rig.NewClient(t, g.URL)
	s := c.Modern(`"sub\u00e9"`, "subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://a","y://b","z://nobody"]}}`, "{}")
	own := `{"io.modelcontextprotocol/subscriptionId":"sub\u00e9"}`

	ack := s.Next()
	equal(t, "the first message", ack.Method(), "notifications/subscriptions/acknowledged")
	equal(t, "its _meta", string(ack.Field(ack.Meta)), own)
	honoured := wire.Get(ack.Raw, ack.Params, "notifications")
	equal(t, "the list that is listened to", member(ack, honoured, "toolsListChanged"), "true")
	equal(t, "the lists that were not asked for", member(ack, honoured, "promptsListChanged"), "")
	var uris []string
	for uri := range wire.Elements(ack.Raw, wire.Get(ack.Raw, honoured, "resourceSubscriptions")) {
		uris = append(uris, string(uri.Of(ack.Raw)))
	}
	slices.Sort(uris)
	equal(t, "the resources", strings.Join(uris, " "), `"x://a" "y://b"`)
	equal(t, "the share of one", <-one.opened, `{"toolsListChanged":true,"resourceSubscriptions":["x://a"]}`)
	equal(t, "the share of two", <-two.opened, `{"toolsListChanged":true,"resourceSubscriptions":["y://b"]}`)

	one.say <- `notifications/resources/updated ,"uri":"x://a","n":1.10`
	n := s.Next()
	equal(t, "the update of one", n.Method()+string(n.Field(n.Params)), `notifications/resources/updated{"_meta":`+own+`,"uri":"x://a","n":1.10}`)
	two.say <- `notifications/resources/updated ,"uri":"y://b"`
	n = s.Next()
	equal(t, "the update of two", n.Method()+string(n.Field(n.Params)), `notifications/resources/updated{"_meta":`+own+`,"uri":"y://b"}`)

	one.say <- "notifications/tools/list_changed"
	two.say <- "notifications/tools/list_changed"
	n = s.Next()
	equal(t, "the change", n.Method()+string(n.Field(n.Meta)), "notifications/tools/list_changed"+own)
	two.say <- `notifications/resources/updated ,"uri":"y://b"`
	n = s.Next()
	equal(t, "what follows one change told once", n.Method(), "notifications/resources/updated")

	s.Drop()
	<-one.closed
	<-two.closed
}

// TestModernSubscriptionSolo: at a backend's own endpoint a subscription
// passes as it is, under the client's own id.
func TestModernSubscriptionSolo(t *testing.T) {
	t.Parallel()
	one, two := newListener(t, "x://a"), newListener(t, "y://b")
	g := rig.Start(t, "backends:\n  one: { url: "+one.URL+" }\n  two: { url: "+two.URL+" }\n")
	s := rig.NewClient(t, g.URL+"/one").Modern(`77`, "subscriptions/listen", `{"notifications":{"promptsListChanged":true,"vendor":1.10}}`, "{}")
	ack := s.Next()
	equal(t, "the acknowledgement", string(ack.Field(ack.Params)), `{"_meta":{"io.modelcontextprotocol/subscriptionId":77},"notifications":{"promptsListChanged":true,"vendor":1.10}}`)
	one.say <- "notifications/prompts/list_changed"
	n := s.Next()
	equal(t, "the change", n.Method()+string(n.Field(n.Meta)), `notifications/prompts/list_changed{"io.modelcontextprotocol/subscriptionId":77}`)
	s.Drop()
	<-one.closed
	if len(two.opened) != 0 {
		t.Error("the other backend was listened to")
	}
}
