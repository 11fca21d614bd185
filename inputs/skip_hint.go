package inputs

import (
	"errors"
	"strings"
)

// skippable is the error of a row that on_error: skip would leave out. Its text ends with a hint that says so.
type skippable struct {
	err  error
	hint string
}

// orSkip adds a hint to an error: what to do, on_error: skip among it.
func orSkip(err error, hint string) error { return &skippable{err, hint} }

// Error implements error.
func (e *skippable) Error() string { return e.err.Error() + "; " + e.hint }

// Unwrap returns the error.
func (e *skippable) Unwrap() error { return e.err }

// hintless is an error without the hint at its end.
type hintless struct {
	error
	hint string
}

// WithoutSkipHint is err without the hint to set on_error, if it ends with one: for callers that have set it, or say something better.
func WithoutSkipHint(err error) error {
	var s *skippable
	if !errors.As(err, &s) {
		return err
	}
	return &hintless{err, "; " + s.hint}
}

// Error implements error.
func (e *hintless) Error() string { return strings.TrimSuffix(e.error.Error(), e.hint) }

// Unwrap returns the error.
func (e *hintless) Unwrap() error { return e.error }
