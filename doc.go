// Package answerback is the root of Answerback, an MCP gateway that lets
// servers ask back: a question that a server has in the middle of a call
// reaches somebody who can answer it, and the answer finds its way back.
//
// The root holds no code, only the tests of the rules that the whole tree
// keeps. The program is cmd/answerback, its vocabulary is ask.
package answerback
