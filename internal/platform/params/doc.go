// Package params decodes the named parameters of what a config file names
// (initializers, optimizers, schedules, networks, heads, canned models) strictly: a
// wrong type or an unknown name is an error that says what was expected.
package params
