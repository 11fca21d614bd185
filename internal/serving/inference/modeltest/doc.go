// Package modeltest is a model in memory with signatures of every kind, correct and deliberately wrong
// ones, for tests of code that answers requests.
package modeltest
