package signin_test

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/identity/signin"
)

// attack is something that must fail for its reason, and that succeeds when
// evil is false, which changes nothing but what makes it an attack. Run gives
// the browser that is then signed in or not.
type attack struct {
	name   string
	reason signin.Reason // none where a cookie is ignored without a word
	run    func(g *rig, evil bool) *browser
}

func (a attack) test(t *testing.T, rig func(testing.TB) *rig) {
	t.Run(a.name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := rig(t)
			if who, ok := a.run(g, false).person(); !ok || who.Principal.IsZero() {
				t.Fatalf("control: nobody is signed in; last event %+v\n%s", g.seen.last(), g.seen.log.String())
			}
			g = rig(t)
			if who, ok := a.run(g, true).person(); ok {
				t.Fatalf("attack: %v is signed in", who.Principal)
			}
			if a.reason == "" {
				return
			}
			if e := g.seen.last(); e.Kind != signin.Refused || e.Reason != a.reason {
				t.Errorf("the last event is %+v, want a refusal for %s\n%s", e, a.reason, g.seen.log.String())
			}
		})
	})
}

// pass lets time go by in the bubble that every attack runs in.
func pass(d time.Duration) { time.Sleep(d) }

func twoProviders(t testing.TB) *rig { return newRig(t) }

func TestAttackLoginCSRF(t *testing.T) {
	for _, a := range []attack{
		{"callback without a flow cookie", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				b = g.browser()
			}
			b.get(back)
			return b
		}},
		{"callback with the flow cookie of another browser", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			attacker, victim := g.browser(), g.browser()
			victim.begin("/")
			back := attacker.answer()
			if !evil {
				back = victim.answer()
			}
			victim.get(back)
			return victim
		}},
		{"callback with two flow cookies", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			b, other := g.browser(), g.browser()
			other.begin("/")
			r := b.request("GET", b.answer(), nil)
			r.Header.Set("Cookie", flowCookie+"="+b.cookies[flowCookie])
			if evil {
				r.Header.Add("Cookie", flowCookie+"="+other.cookies[flowCookie])
			}
			b.send(r)
			return b
		}},
		{"flow cookie without the prefix that keeps neighbours out", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				b.cookies["answerback-flow"] = b.cookies[flowCookie]
				delete(b.cookies, flowCookie)
			}
			b.get(back)
			return b
		}},
		{"flow cookie tampered with", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				b.cookies[flowCookie] = flip(b.cookies[flowCookie])
			}
			b.get(back)
			return b
		}},
		{"flow cookie that was planted before the sign-in", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			b := g.browser()
			planted := strings.Repeat("A", 43)
			b.cookies[flowCookie] = planted
			back := b.answer()
			if evil {
				b = g.browser()
				b.cookies[flowCookie] = planted
			}
			b.get(back)
			return b
		}},
		{"state given as the flow cookie", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				b.cookies[flowCookie] = param(back, "state")
			}
			b.get(back)
			return b
		}},
	} {
		a.test(t, twoProviders)
	}
}

func TestAttackState(t *testing.T) {
	for _, a := range []attack{
		{"replayed", signin.UnknownFlow, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				b.get(back)
				delete(b.cookies, sessionCookie)
			}
			b.get(back)
			return b
		}},
		{"replayed with a fresh code", signin.UnknownFlow, func(g *rig, evil bool) *browser {
			b := g.browser()
			start := b.begin("/")
			if evil {
				b.get(path(g.t, g.one.authorize(start)))
				delete(b.cookies, sessionCookie)
			}
			b.get(path(g.t, g.one.authorize(start)))
			return b
		}},
		{"tampered with", signin.UnknownFlow, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back = with(back, "state", flip(param(back, "state")))
			}
			b.get(back)
			return b
		}},
		{"missing", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back = with(back, "state", "")
			}
			b.get(back)
			return b
		}},
		{"of another browser's sign-in, with our own code", signin.OtherBrowser, func(g *rig, evil bool) *browser {
			b, other := g.browser(), g.browser()
			back, theirs := b.answer(), other.answer()
			if evil {
				back = with(back, "state", param(theirs, "state"))
			}
			b.get(back)
			return b
		}},
		{"of another sign-in of the same browser", signin.ProviderFailed, func(g *rig, evil bool) *browser {
			b := g.browser()
			first, second := b.answer(), b.answer()
			if evil {
				second = with(second, "state", param(first, "state"))
			}
			b.get(second)
			return b
		}},
		{"of a sign-in with the other provider", signin.WrongIssuer, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			theirs := b.location(b.get("/signin?provider=two"))
			if evil {
				back = with(back, "state", param(theirs, "state"))
			}
			b.get(back)
			return b
		}},
		{"that is too old", signin.UnknownFlow, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			pass(10*time.Minute - time.Second)
			if evil {
				pass(time.Second)
			}
			b.get(back)
			return b
		}},
		{"given twice", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back += "&state=" + param(back, "state")
			}
			b.get(back)
			return b
		}},
		{"of another gateway", signin.UnknownFlow, func(g *rig, evil bool) *browser {
			other := newRig(g.t)
			b, there := g.browser(), other.browser()
			back := b.answer()
			if evil {
				back = there.answer()
				b.cookies[flowCookie] = there.cookies[flowCookie]
			}
			b.get(back)
			return b
		}},
		{"by HEAD, as a preview would", "", func(g *rig, evil bool) *browser {
			b := g.browser()
			method := "GET"
			if evil {
				method = "HEAD"
			}
			b.send(b.request(method, b.answer(), nil))
			return b
		}},
	} {
		a.test(t, twoProviders)
	}
}

func TestAttackCode(t *testing.T) {
	for _, a := range []attack{
		{"stolen and put into one's own sign-in", signin.ProviderFailed, func(g *rig, evil bool) *browser {
			victim, attacker := g.browser(), g.browser()
			stolen, own := victim.answer(), attacker.answer()
			if evil {
				own = with(own, "code", param(stolen, "code"))
			}
			attacker.get(own)
			return attacker
		}},
		{"replayed in a new sign-in", signin.ProviderFailed, func(g *rig, evil bool) *browser {
			b := g.browser()
			used := b.answer()
			b.get(used)
			delete(b.cookies, sessionCookie)
			fresh := b.answer()
			if evil {
				fresh = with(fresh, "code", param(used, "code"))
			}
			b.get(fresh)
			return b
		}},
		{"for a PKCE challenge that is not ours", signin.ProviderFailed, func(g *rig, evil bool) *browser {
			b := g.browser()
			start := b.begin("/")
			if evil {
				start = with(start, "code_challenge", flip(param(start, "code_challenge")))
			}
			b.get(path(g.t, g.one.authorize(start)))
			return b
		}},
		{"missing", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back = with(back, "code", "")
			}
			b.get(back)
			return b
		}},
		{"given twice", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back += "&code=another"
			}
			b.get(back)
			return b
		}},
		{"longer than any code", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back = with(back, "code", strings.Repeat("x", 5000))
			}
			b.get(back)
			return b
		}},
		{"beside an error", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back += "&error=access_denied"
			}
			b.get(back)
			return b
		}},
		{"replaced by an error", signin.ProviderRefused, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back = with(back, "code", "", "error", "access_denied")
			}
			b.get(back)
			return b
		}},
		{"in a query that cannot be read", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back += "&x=%zz"
			}
			r := b.request("GET", "/signin/callback", nil)
			_, r.URL.RawQuery, _ = strings.Cut(back, "?")
			b.send(r)
			return b
		}},
	} {
		a.test(t, twoProviders)
	}
}

func TestAttackMixUp(t *testing.T) {
	change := func(pairs ...string) func(g *rig, evil bool) *browser {
		return func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back = with(back, pairs...)
			}
			b.get(back)
			return b
		}
	}
	for _, a := range []attack{
		{"wrong issuer", signin.WrongIssuer, change("iss", "https://evil.example")},
		{"issuer of the other provider", signin.WrongIssuer, change("iss", issuerTwo)},
		{"no issuer although it was promised", signin.WrongIssuer, change("iss", "")},
		{"issuer with a slash more", signin.WrongIssuer, change("iss", issuerOne+"/")},
		{"issuer in capitals", signin.WrongIssuer, change("iss", strings.ToUpper(issuerOne))},
		{"error of another issuer", signin.WrongIssuer, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				b.get(with(back, "iss", issuerTwo, "code", "", "error", "server_error"))
				return b
			}
			b.get(back)
			return b
		}},
		{"issuer given twice", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			back := b.answer()
			if evil {
				back += "&iss=" + url.QueryEscape(issuerTwo)
			}
			b.get(back)
			return b
		}},
		{"wrong issuer although none was promised", signin.WrongIssuer, func(g *rig, evil bool) *browser {
			g.one.sendsIssuer = false
			b := g.browser()
			back := b.answer()
			if evil {
				back += "&iss=" + url.QueryEscape(issuerTwo)
			}
			b.get(back)
			return b
		}},
		{"empty issuer although none was promised", signin.WrongIssuer, func(g *rig, evil bool) *browser {
			g.one.sendsIssuer = false
			b := g.browser()
			back := b.answer()
			if evil {
				back += "&iss="
			}
			b.get(back)
			return b
		}},
		{"metadata of another issuer", signin.ProviderFailed, func(g *rig, evil bool) *browser {
			b := g.browser()
			if !evil {
				b.signIn()
				return b
			}
			g.one.metadata = func(m map[string]any) { m["issuer"] = issuerTwo }
			b.get("/signin?provider=one")
			return b
		}},
	} {
		a.test(t, twoProviders)
	}
}
