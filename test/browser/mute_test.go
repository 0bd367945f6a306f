//go:build browser

package browser

import (
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
)

var askLink = regexp.MustCompile(`http://[^\s"]+/asks/[\w-]+`)

// TestAClientThatCanShowNothing: a real client without forms and links calls
// the reference server's tool that asks. The call ends with a link, somebody
// answers behind it, and the same call made again has the answer, once.
func TestAClientThatCanShowNothing(t *testing.T) {
	t.Parallel()
	w := peer.NewWorld(t)
	s := newLocalStage(t, peer.Backend("reference", w.EverythingHTTP))
	me := s.person("me", eyes{})
	s.gateway.WaitLog(t, "/signin/local?token=")
	me.open(localLink.FindString(s.gateway.Log()))
	me.press("Sign in")
	for _, era := range []string{"legacy", "modern"} {
		c := w.Script("client 2.4.0 "+era, "client-v2.mjs", era)
		call := func() string {
			t.Helper()
			reports := c.Tour(t, []peer.Target{{URL: s.gateway.URL + "/reference", Era: era, Mute: true, Jobs: []peer.Job{{Call: "trigger-elicitation-request"}}}})
			if e := reports[0].Error; e != nil || len(reports[0].Results) != 1 || reports[0].Results[0].Result == nil {
				t.Fatalf("the client reports %+v", reports[0])
			}
			return reports[0].Results[0].Result.Text()
		}
		told := call()
		link := askLink.FindString(told)
		if link == "" || !strings.Contains(told, "Do not call again until the person says that it is done") {
			t.Fatalf("the first call gave %s", told)
		}
		me.open(link)
		me.fill("String", "Ann of "+era)
		contains(t, me.press("Send answer"), "Your answer is on its way back")
		if got := call(); !strings.Contains(got, "Ann of "+era) {
			t.Errorf("the repeated call gave %s", got)
		}
		if again := call(); askLink.FindString(again) == "" || askLink.FindString(again) == link {
			t.Errorf("a third call gave %s", again)
		}
	}
}
