// Package features says what this binary holds: parts that build tags add or leave out.
package features
