// Package testkit holds what the tests of several packages share: locating the
// optional shared data and golden files, the program built once, and folders for programs that leave processes behind.
package testkit
