// Package modeltest is a model in memory with signatures of every kind, right ones and ones that are wrong
// on purpose, for the tests of what answers requests.
package modeltest
