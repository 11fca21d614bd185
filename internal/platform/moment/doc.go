// Package moment keeps shared times for computing differences, independent of changes to the machine's clock.
package moment
