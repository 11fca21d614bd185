// Package testkit holds what the tests of several packages share: locating the
// optional shared data and golden files, and leak checks.
package testkit
