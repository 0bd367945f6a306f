package identity

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/answerback/answerback/internal/glob"
)

// Rule lets some people use some tools of some backends.
type Rule struct {
	// Issuer is whose people the rule is for; empty means any configured
	// issuer's, and then whoever runs one of them decides whom it fits.
	Issuer string
	// Claim and Values say for which of these people: those whose claim is,
	// or has in its list, one of the values, compared exactly. Without a
	// claim it is all who authenticated. An e-mail address counts only with
	// the claim email_verified.
	Claim  string
	Values []string
	// Backends are patterns of backend names, at least one.
	Backends []string
	// Tools are patterns of tool names as their backend calls them; none
	// means every tool of these backends.
	Tools []string
}

// Rules are all rules of access of a gateway. Safe for concurrent use.
type Rules struct {
	rules []rule
}

type rule struct {
	Rule
	index      int
	everything bool
}

// NewRules checks the rules. Errors name every fault with the rule's index
// and its field.
func NewRules(rules []Rule) (*Rules, error) {
	r := &Rules{rules: make([]rule, 0, len(rules))}
	var faults []error
	for i, one := range rules {
		faults = append(faults, one.faults(i)...)
		r.rules = append(r.rules, rule{
			index: i,
			Rule: Rule{
				Issuer: one.Issuer, Claim: one.Claim, Values: slices.Clone(one.Values),
				Backends: slices.Clone(one.Backends), Tools: slices.Clone(one.Tools),
			},
			everything: slices.Contains(one.Backends, "*") && (len(one.Tools) == 0 || slices.Contains(one.Tools, "*")),
		})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return r, nil
}

func (r Rule) faults(index int) []error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, fmt.Errorf("rule %d: %s: %s", index, field, fmt.Sprintf(format, args...)))
	}
	if r.Claim == "" && len(r.Values) > 0 {
		fault("claim", "missing, but there are values: name the claim that must have one of them")
	}
	if r.Claim != "" && len(r.Values) == 0 {
		fault("values", "empty: name the values of claim %q that the rule is for", r.Claim)
	}
	for _, value := range r.Values {
		switch {
		case value == "":
			fault("values", "an empty value fits nobody: remove it")
		case strings.Contains(value, "*"):
			fault("values", "%q: values are compared exactly, * has no meaning in them: write every value", value)
		}
	}
	if len(r.Backends) == 0 {
		fault("backends", "empty: name the backends that the rule opens, or * for all")
	}
	for _, pattern := range r.Backends {
		if err := glob.Check(pattern); err != nil {
			fault("backends", "%v", err)
		}
	}
	for _, pattern := range r.Tools {
		if err := glob.Check(pattern); err != nil {
			fault("tools", "%v", err)
		}
	}
	return faults
}

// For gives what p may use. Without any rule everybody may use everything;
// with rules, what no rule allows is denied. A Person who is nobody gets
// nothing as soon as there is a rule.
func (r *Rules) For(p Person) Access {
	if r == nil || len(r.rules) == 0 {
		return Access{everything: true}
	}
	var mine []*rule
	for i := range r.rules {
		one := &r.rules[i]
		if !one.fits(p) {
			continue
		}
		if one.everything {
			return Access{everything: true}
		}
		mine = append(mine, one)
	}
	return Access{rules: mine}
}

func (r *rule) fits(p Person) bool {
	if !comesFrom(p, r.Issuer) {
		return false
	}
	return r.Claim == "" || slices.ContainsFunc(r.Values, func(value string) bool { return holds(p.Claims, r.Claim, value) })
}

// Access is what somebody may use. The zero Access allows nothing. It is a
// small value, made once per request, and safe for concurrent use.
type Access struct {
	everything bool
	rules      []*rule
}

// Everything reports whether nothing is denied, so that nothing needs to be
// looked at one by one.
func (a Access) Everything() bool { return a.everything }

// Key is the same for two accesses of the same Rules exactly where they allow
// the same rules.
func (a Access) Key() string {
	if a.everything {
		return "*"
	}
	var b []byte
	for _, r := range a.rules {
		b = append(strconv.AppendInt(b, int64(r.index), 10), ' ')
	}
	return string(b)
}

// Backend reports whether at least some tools of the backend may be used.
func (a Access) Backend(name string) bool {
	return a.everything || slices.ContainsFunc(a.rules, func(r *rule) bool { return matches(r.Backends, name) })
}

// Tool reports whether the backend's tool, by the backend's own name for it,
// may be used. A backend and a tool must be allowed by one and the same rule.
func (a Access) Tool(backend, tool string) bool {
	return a.everything || slices.ContainsFunc(a.rules, func(r *rule) bool {
		return matches(r.Backends, backend) && (len(r.Tools) == 0 || matches(r.Tools, tool))
	})
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return glob.Match(pattern, name) })
}
