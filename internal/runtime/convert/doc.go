// Package convert changes the types of elements, as the operation Cast does.
package convert
