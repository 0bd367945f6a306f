// Package sitename reads the host of a web address for the eye: which part of
// it is the registrable domain, how an international name is written in its own
// letters, and whether it looks like another name.
//
// It resolves and fetches nothing, and knows no list of well-known sites: it
// judges a name by its letters alone.
package sitename
