// Package params decodes the parameters of objects named in a config file
// (initializers, optimizers, schedules, networks, heads, canned models) strictly: a
// wrong type or an unknown name is an error that says what was expected.
package params
