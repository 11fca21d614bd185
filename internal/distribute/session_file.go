package distribute

import (
	"os"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// SessionFile stores the name of the job's session on the parameter servers in
// model_dir, since a restarted chief must know its session.
type SessionFile struct {
	Dir string // "": it is not stored, and every chief begins a new session
}

var _ Sessions = SessionFile{}

// Session returns the name, "" for none.
func (f SessionFile) Session() (string, error) {
	if f.Dir == "" {
		return "", nil
	}
	s, err := checkpoint.LoadRunState(atomicfile.OS{}, f.Dir)
	return s.Session, err
}

// SetSession stores the name, and creates the folder if needed.
func (f SessionFile) SetSession(id string) error {
	if f.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(f.Dir, 0o777); err != nil {
		return err
	}
	return checkpoint.UpdateRunState(atomicfile.OS{}, f.Dir, func(s *checkpoint.RunState) { s.Session = id })
}
