package runconfig

import "github.com/goestimator/goestimator/runconfig/violation"

// Violation is one mistake in a configuration: the key or option, the value found, what
// was expected, and the source of the value.
type Violation = violation.Violation

// ViolationsError reports all mistakes in a configuration. It has at least one
// [Violation] and is an [ErrMistake].
type ViolationsError = violation.Error
