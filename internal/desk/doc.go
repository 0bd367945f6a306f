// Package desk runs the questions: it keeps the asks that are open, steps
// each through the exchange, performs the effects, keeps the deadlines, and
// refuses what goes beyond the limits.
//
// It does not know how a question is shown or an answer carried back: it is
// handed a Showing and a function to call with the outcome. It decides nothing
// about an ask's course, which is the exchange's, and reads neither a
// question's parameters nor an answer's values.
package desk
