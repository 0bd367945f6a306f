// Package catalog joins the lists of several backends into one: their tools,
// prompts, resources and resource templates, under names that lead back to the
// backend they came from.
//
// A View is one backend's list as one kind of caller sees it. A Cache keeps
// views and fetches each of them once at a time; Page cuts the joined list into
// pages; Route and Locate say which backend a name or a URI belongs to; a
// Debouncer gathers the changes that backends announce.
//
// It does no I/O of its own and knows no sessions, eras or transports: what it
// needs is fetched by functions that its caller passes in, and who may see what
// is decided there too. Items are never decoded: they leave byte for byte as
// their backend wrote them, but for the prefix of a name.
package catalog
