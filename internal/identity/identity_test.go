package identity_test

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const one, two = "https://one.example", "https://two.example"

// ada is an engineer of issuer one.
func ada(change ...func(*identity.Person)) identity.Person {
	p := identity.Person{
		Principal: ask.Principal{Issuer: one, Subject: "ada"},
		Claims: identity.Claims{
			"groups": []any{"eng", "ops"}, "role": "admin", "email": "ada@example.com", "email_verified": true,
		},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func says(claim string, value any) func(*identity.Person) {
	return func(p *identity.Person) { p.Claims[claim] = value }
}

func of(issuer string) func(*identity.Person) {
	return func(p *identity.Person) { p.Principal.Issuer = issuer }
}

func nobody(p *identity.Person) { p.Principal = ask.Principal{} }

func TestGroups(t *testing.T) {
	groups := identity.Groups{
		{Name: "engineers", Issuer: one, Claim: "groups", Value: "eng"},
		{Name: "admins", Claim: "role", Value: "admin"},
		{Name: "engineers", Issuer: two, Claim: "team", Value: "eng"},
		{Name: "", Claim: "role", Value: "admin"},
		{Name: "everybody", Claim: "", Value: ""},
		{Name: "empty", Claim: "role", Value: ""},
		{Name: "ada", Claim: "email", Value: "ada@example.com"},
	}
	for _, c := range []struct {
		name string
		who  identity.Person
		want string
	}{
		{"ada", ada(), "engineers admins ada"},
		{"ada of another issuer", ada(of(two)), "admins ada"},
		{"ada of another issuer, by its claim", ada(of(two), says("team", "eng")), "admins engineers ada"},
		{"ada with both claims", ada(says("team", "eng")), "engineers admins ada"},
		{"no claims", identity.Person{Principal: ada().Principal}, ""},
		{"empty role", ada(says("role", "")), "engineers ada"},
		{"nobody", ada(nobody), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(groups.Of(c.who), " "); got != c.want {
				t.Errorf("groups %q, want %q", got, c.want)
			}
		})
	}
	if got := (identity.Groups)(nil).Of(ada()); got != nil {
		t.Errorf("without groups: %v", got)
	}
}

// use is what somebody wants to use, under some rules.
type use struct {
	who           identity.Person
	backend, tool string
}

func TestAttackAccess(t *testing.T) {
	rule := func(change func(*identity.Rule)) []identity.Rule {
		r := identity.Rule{Issuer: one, Claim: "groups", Values: []string{"eng", "sre"}, Backends: []string{"git*"}, Tools: []string{"read_*", "l?st"}}
		change(&r)
		return []identity.Rule{r}
	}
	plain := rule(func(*identity.Rule) {})
	anyone := rule(func(r *identity.Rule) { r.Issuer, r.Claim, r.Values = "", "", nil })
	mail := rule(func(r *identity.Rule) { r.Claim, r.Values = "email", []string{"ada@example.com"} })
	two := append(rule(func(r *identity.Rule) { r.Backends, r.Tools = []string{"github"}, []string{"read"} }),
		rule(func(r *identity.Rule) { r.Backends, r.Tools = []string{"files"}, []string{"write"} })...)
	good := use{ada(), "github", "read_file"}
	for _, c := range []struct {
		name            string
		rules           []identity.Rule
		control, attack use
	}{
		{"another issuer", plain, good, use{ada(of("https://two.example")), "github", "read_file"}},
		{"issuer in another case", plain, good, use{ada(of("https://ONE.example")), "github", "read_file"}},
		{"issuer with slash", plain, good, use{ada(of(one + "/")), "github", "read_file"}},
		{"claim missing", plain, good, use{ada(func(p *identity.Person) { delete(p.Claims, "groups") }), "github", "read_file"}},
		{"claim of another value", plain, good, use{ada(says("groups", []any{"ops"})), "github", "read_file"}},
		{"claim under another name", plain, good, use{ada(says("groups", nil), says("Groups", "eng")), "github", "read_file"}},
		{"value in another case", plain, use{ada(says("groups", "eng")), "github", "read_file"}, use{ada(says("groups", "ENG")), "github", "read_file"}},
		{"value longer", plain, use{ada(says("groups", "sre")), "github", "read_file"}, use{ada(says("groups", "sre-intern")), "github", "read_file"}},
		{"value a pattern", plain, good, use{ada(says("groups", "*")), "github", "read_file"}},
		{"values in one text", plain, good, use{ada(says("groups", "ops eng")), "github", "read_file"}},
		{"value nested", plain, good, use{ada(says("groups", []any{[]any{"eng"}})), "github", "read_file"}},
		{"value in an object", plain, good, use{ada(says("groups", map[string]any{"eng": true})), "github", "read_file"}},
		{"claim that is true", plain, good, use{ada(says("groups", true)), "github", "read_file"}},
		{"another backend", plain, good, use{ada(), "files", "read_file"}},
		{"backend in another case", plain, good, use{ada(), "GitHub", "read_file"}},
		{"backend that ends alike", plain, good, use{ada(), "my-github", "read_file"}},
		{"backend without a name", plain, good, use{ada(), "", "read_file"}},
		{"another tool", plain, good, use{ada(), "github", "delete_file"}},
		{"tool that ends alike", plain, good, use{ada(), "github", "unread_file"}},
		{"tool in another case", plain, good, use{ada(), "github", "READ_file"}},
		{"tool with one character more", plain, use{ada(), "github", "list"}, use{ada(), "github", "lisst"}},
		{"tool named like a pattern", plain, good, use{ada(), "github", "*"}},
		{"tool without a name", plain, good, use{ada(), "github", ""}},
		{"tool of one rule, backend of another", two, use{ada(), "github", "read"}, use{ada(), "github", "write"}},
		{"nobody, rule for all", anyone, good, use{ada(nobody), "github", "read_file"}},
		{"nobody with claims", rule(func(r *identity.Rule) { r.Issuer = "" }), good, use{ada(nobody), "github", "read_file"}},
		{"rule for all, another tool", anyone, good, use{ada(), "github", "delete_file"}},
		{"e-mail not verified", mail, good, use{ada(says("email_verified", false)), "github", "read_file"}},
		{"e-mail verified by text", mail, good, use{ada(says("email_verified", "true")), "github", "read_file"}},
		{"e-mail of two addresses", mail, good, use{ada(says("email", "ada@example.com@evil.example")), "github", "read_file"}},
		{"e-mail as user name", mail, good, use{ada(says("email", nil), says("preferred_username", "ada@example.com")), "github", "read_file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := identity.NewRules(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			access := rules.For(c.control.who)
			if !access.Backend(c.control.backend) || !access.Tool(c.control.backend, c.control.tool) || access.Everything() {
				t.Fatalf("the control is denied, or allowed everything: %+v", access)
			}
			denied := rules.For(c.attack.who)
			if denied.Everything() || denied.Tool(c.attack.backend, c.attack.tool) {
				t.Error("the attack is allowed")
			}
			toolOnly := c.attack.who.Principal == c.control.who.Principal && denied.Tool(c.control.backend, c.control.tool) && c.attack.backend == c.control.backend
			if !toolOnly && denied.Backend(c.attack.backend) {
				t.Error("the attack may see the backend")
			}
		})
	}
}

func TestAccessWithoutRulesIsEverybodysToEverything(t *testing.T) {
	none, err := identity.NewRules(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]*identity.Rules{"empty": none, "nil": nil} {
		access := rules.For(identity.Person{Principal: identity.Local})
		if !access.Everything() || !access.Backend("x") || !access.Tool("x", "y") {
			t.Errorf("%s: something is denied", name)
		}
	}
	if a := (identity.Access{}); a.Everything() || a.Backend("x") || a.Tool("x", "y") {
		t.Error("the zero Access allows something")
	}
}

func TestAccessToEverything(t *testing.T) {
	for _, c := range []struct {
		backends, tools []string
		want            bool
	}{
		{[]string{"*"}, nil, true},
		{[]string{"*"}, []string{"x", "*"}, true},
		{[]string{"*"}, []string{"x*"}, false},
		{[]string{"a*"}, nil, false},
	} {
		rules, err := identity.NewRules([]identity.Rule{
			{Backends: []string{"a"}, Tools: []string{"b"}},
			{Claim: "role", Values: []string{"admin"}, Backends: c.backends, Tools: c.tools},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules.For(ada()).Everything(); got != c.want {
			t.Errorf("%v %v: everything is %t", c.backends, c.tools, got)
		}
		if rules.For(ada(says("role", "guest"))).Everything() {
			t.Errorf("%v %v: everything for a guest", c.backends, c.tools)
		}
	}
}

func TestRulesAreNotChangedAfterwards(t *testing.T) {
	given := []identity.Rule{{Claim: "role", Values: []string{"admin"}, Backends: []string{"a"}, Tools: []string{"b"}}}
	rules, err := identity.NewRules(given)
	if err != nil {
		t.Fatal(err)
	}
	given[0].Values[0], given[0].Backends[0], given[0].Tools[0] = "guest", "*", "*"
	if a := rules.For(ada()); !a.Tool("a", "b") || a.Tool("c", "d") {
		t.Error("the caller's slices are the rules")
	}
}

func TestRuleFaultsNameIndexAndField(t *testing.T) {
	good := identity.Rule{Claim: "role", Values: []string{"admin"}, Backends: []string{"a"}}
	for _, c := range []struct {
		name string
		rule identity.Rule
		want string
	}{
		{"values without claim", identity.Rule{Values: []string{"x"}, Backends: []string{"a"}}, "rule 1: claim: "},
		{"claim without values", identity.Rule{Claim: "role", Backends: []string{"a"}}, "rule 1: values: "},
		{"empty value", identity.Rule{Claim: "role", Values: []string{""}, Backends: []string{"a"}}, "rule 1: values: "},
		{"value a pattern", identity.Rule{Claim: "role", Values: []string{"adm*"}, Backends: []string{"a"}}, "rule 1: values: "},
		{"no backends", identity.Rule{}, "rule 1: backends: "},
		{"bad backend", identity.Rule{Backends: []string{"[a]"}}, "rule 1: backends: "},
		{"empty backend", identity.Rule{Backends: []string{""}}, "rule 1: backends: "},
		{"bad tool", identity.Rule{Backends: []string{"a"}, Tools: []string{"!a"}}, "rule 1: tools: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := identity.NewRules([]identity.Rule{good, c.rule})
			if err == nil || rules != nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
	_, err := identity.NewRules([]identity.Rule{{}, good, {Claim: "x"}})
	if lines := strings.Split(err.Error(), "\n"); !slices.EqualFunc(lines, []string{"rule 0: backends", "rule 2: values", "rule 2: backends"}, strings.HasPrefix) {
		t.Errorf("faults are %q", lines)
	}
}

func TestName(t *testing.T) {
	for _, c := range []struct {
		claims identity.Claims
		want   string
	}{
		{identity.Claims{"name": "Ada", "preferred_username": "ada", "email": "a@x"}, "Ada"},
		{identity.Claims{"name": " ", "preferred_username": "ada", "email": "a@x"}, "ada"},
		{identity.Claims{"name": 7, "email": "a@x"}, "a@x"},
		{identity.Claims{"name": "A\u202eda\n\tB\u200b"}, "Ada  B"},
		{identity.Claims{"name": strings.Repeat("ü", 300)}, strings.Repeat("ü", 100)},
		{nil, ""},
	} {
		if got := c.claims.Name(); got != c.want {
			t.Errorf("%v is called %q, want %q", c.claims, got, c.want)
		}
	}
}
