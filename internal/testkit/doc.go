// Package testkit has helpers for the tests of several packages: they find the optional shared data and golden files,
// build the program once, and make folders for programs that leave processes behind.
package testkit
