package distribute

import (
	"os"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// SessionFile keeps the name of the job's session on the parameter servers in
// model_dir, as a chief that is started again must know its own.
type SessionFile struct {
	Dir string // "": it is not kept, and every chief begins a session of its own
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

// SetSession notes the name, in a folder that it makes where there is none yet.
func (f SessionFile) SetSession(id string) error {
	if f.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(f.Dir, 0o777); err != nil {
		return err
	}
	return checkpoint.UpdateRunState(atomicfile.OS{}, f.Dir, func(s *checkpoint.RunState) { s.Session = id })
}
