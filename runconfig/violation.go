package runconfig

import "github.com/goestimator/goestimator/runconfig/violation"

// Violation is one thing that is wrong in a configuration: the key or option, the
// value found, what was expected, and the source of the value.
type Violation = violation.Violation

// ViolationsError reports everything that is wrong in a configuration; it holds at
// least one [Violation] and is an [ErrMistake].
type ViolationsError = violation.Error
