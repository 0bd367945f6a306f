package identity

import "slices"

// Group is a configured set of people: those of whom the issuer says that the
// claim is, or has in its list, the value. An empty Issuer means any
// configured issuer; then whoever runs one of them decides who is a member.
// A group without name, claim or value has no members.
type Group struct {
	Name   string
	Issuer string
	Claim  string
	Value  string
}

// Groups are all groups of a gateway. Several with one name are one group,
// with the members of all of them.
type Groups []Group

// Of gives the names of the groups that p belongs to, in the order in which
// they are configured, each once.
func (g Groups) Of(p Person) []string {
	var names []string
	for _, group := range g {
		if group.Name == "" || group.Claim == "" || group.Value == "" || slices.Contains(names, group.Name) {
			continue
		}
		if comesFrom(p, group.Issuer) && holds(p.Claims, group.Claim, group.Value) {
			names = append(names, group.Name)
		}
	}
	return names
}

// comesFrom reports whether p is somebody, and of that issuer if one is named.
func comesFrom(p Person, issuer string) bool {
	return !p.Principal.IsZero() && (issuer == "" || p.Principal.Issuer == issuer)
}

// holds is Claims.Has, but for e-mail addresses that the issuer has not
// verified: at many issuers people write what they like there.
func holds(c Claims, claim, value string) bool {
	if claim == "email" && c["email_verified"] != true {
		return false
	}
	return c.Has(claim, value)
}
