// Package params decodes the named parameters of registered things
// (initializers, optimizers, schedules, networks) strictly: a wrong type or an
// unknown name is an error that names the known ones.
package params
