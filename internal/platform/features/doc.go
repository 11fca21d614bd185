// Package features lists the parts of this binary that build tags add or leave out.
package features
