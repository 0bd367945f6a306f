// Package epoch counts the lives of a gateway: the record of its home in the
// store has a number that every start raises, by compare-and-set, before it
// takes anything up. What must not be used twice over several lives, such as
// the numbers of events and of requests, counts from there.
package epoch
