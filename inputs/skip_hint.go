package inputs

import (
	"errors"
	"strings"
)

// skippable is the error of a row that on_error: skip would leave out. Its text ends with a hint about that.
type skippable struct {
	err  error
	hint string
}

// orSkip adds a hint to an error: what to do, such as setting on_error: skip.
func orSkip(err error, hint string) error { return &skippable{err, hint} }

// Error implements error.
func (e *skippable) Error() string { return e.err.Error() + "; " + e.hint }

// Unwrap returns the error.
func (e *skippable) Unwrap() error { return e.err }

// hintless is an error without its final hint.
type hintless struct {
	error
	hint string
}

// WithoutSkipHint returns err without a final hint to set on_error. It is for callers that have set it, or have a better hint.
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
