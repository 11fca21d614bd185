package runconfig

import "github.com/goestimator/goestimator/runconfig/violation"

// ErrMistake is wrapped by errors that report a mistake in a configuration: a process
// that is started again in the same way fails again.
var ErrMistake = violation.ErrMistake

// Mistake marks err as reporting a mistake in a configuration; nil stays nil.
func Mistake(err error) error {
	if err == nil {
		return nil
	}
	return &mistake{err}
}

type mistake struct{ err error }

func (m *mistake) Error() string        { return m.err.Error() }
func (m *mistake) Unwrap() error        { return m.err }
func (m *mistake) Is(target error) bool { return target == ErrMistake }
