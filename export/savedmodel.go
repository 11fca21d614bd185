package export

import (
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/atomicfile"
	"github.com/goestimator/goestimator/internal/savedmodel"
)

// Options say how a model is written. The zero value is usual.
type Options struct {
	// Version is the name of the directory; 0: the present Unix time in seconds, or
	// the next number that is free.
	Version int64
	Text    bool         // saved_model.pbtxt instead of .pb
	Log     *slog.Logger // nil: slog.Default()
}

// attempts is how many version numbers are tried where they are taken.
const attempts = 10

// SavedModel writes m to <base>/<version> and returns that directory. It appears
// whole or not at all. The error names the node, column or signature at fault.
func SavedModel(fsys atomicfile.FS, base string, m Model, o Options) (dir string, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	w, err := assemble(m, o)
	if err != nil {
		return "", err
	}
	if o.Version != 0 {
		return savedmodel.Write(fsys, base, o.Version, w)
	}
	version := time.Now().Unix()
	for i := range int64(attempts) {
		dir, err = savedmodel.Write(fsys, base, version+i, w)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return dir, err
}
