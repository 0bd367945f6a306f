// Package page is what a person meets in a browser: the list of questions
// that wait for them, the page of one question, how it ended, and the pages
// around signing in. Everything is rendered here and needs no script; the one
// that there is only makes it more pleasant.
//
// It does not know who somebody is, whom a question is for, what an answer
// leads to, or what a form accepts: it asks whoever holds that. The rules that hold for every page
// (Host, Origin, content security policy, framing) are set around it, by
// package webguard. What servers and clients wrote is shown as text and
// nothing else.
package page
