// Package api is the way to questions for programs: list what waits for
// somebody, look at one question, answer, decline or cancel it, ask for more
// time. It is plain HTTP and JSON below /v1/asks, described by the document
// that it serves itself at /v1/openapi.json; Client is the other end of it.
//
// It does not know who somebody is, whom a question is for, or what an answer
// leads to: it asks whoever holds that. Knowing a question's id entitles to
// nothing, and somebody else's question looks like none. It shows nothing and
// asks nobody: what a person sees is made by other surfaces. The rules that
// hold for every endpoint (Host, Origin, time to send a body) are set around
// it, by package webguard.
package api
